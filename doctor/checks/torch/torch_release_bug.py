"""A known defect of this torch release.

What it means
    What was seen is a defect of one exact release or nightly build of torch; the machine and the environment are
    right. Another release does not have it.

How to see it yourself
    python -c "import torch; print(torch.__version__)", and the issue named below

What to do
    Install the release that fixes it.

References
    https://github.com/pytorch/pytorch/issues (the number is named with the defect)
"""

from doctor.checks import Check, Judgement
from doctor.checks._errata import as_evidence, cure, workaround_of
from doctor.checks._errata_fit import cited, out_of_memory, with_message
from doctor.checks._machine import heard
from doctor.checks._torch import numbers, quote, release_of
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="upgrade-torch"),),
    instead_of=("torch-too-old", "program-error", "mps-wrong-results"),
    explains=("windows-dll-missing", "openmp-duplicate", "compiler-missing", "mps-op-missing"),
)


@check
def judge(facts: Facts) -> Judgement:
    release = release_of(facts)
    told = with_message(facts, check.id)
    if found := told or out_of_memory(facts) or cited(facts):
        match, error = found
        erratum = match.erratum
        remedies = (cure(erratum), workaround_of(erratum))
        return check.found(
            facts,
            f"torch {release or erratum.versions}: {_within(erratum.title)}.",
            evidence=(quote(error) if error else None, "torch.version", as_evidence(match)),
            remedies=tuple(r for r in remedies if r) or (Remedy(action="upgrade-torch"),),
            confidence="certain" if told and release else "likely",
            torch=release,
            erratum=erratum.id,
            source=erratum.sources[0],
        )
    return _abort_in_metal(facts, release)


def _within(title: str) -> str:
    """A title within a sentence: it begins with a small letter, unless with a name."""
    return f"{title[0].lower()}{title[1:]}" if title.split()[0][1:].islower() else title


def _abort_in_metal(facts: Facts, release: str | None) -> Judgement:
    """A hard stop within Apple's libraries: torch handed them what it should not have."""
    error = heard(facts, "mpsgraph-assertion")
    if error is None or release is None or numbers(release)[:2] >= numbers(lookup.newest_torch(facts.as_of))[:2]:
        return None
    return check.found(
        facts,
        f"torch {release} hands Metal something that it does not accept, and the program is aborted.",
        evidence=(quote(error), "torch.version", "host.macos"),
        remedies=(Remedy(action="upgrade-torch"),),
        confidence="likely",
        torch=release,
    )

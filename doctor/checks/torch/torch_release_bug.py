"""A known defect of this torch release.

What it means
    What was seen is a defect of one exact release or nightly build of torch; the machine and the environment are
    right. Another release does not have it.

How to see it yourself
    python -c "import torch; print(torch.__version__)", and the issue named below

What to do
    Install the release that mends it.

References
    https://github.com/pytorch/pytorch/issues (the number is named with the defect)
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import numbers, quote, release_of, search
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
    if release is None:
        return None
    for defect in lookup.defects():
        if not numbers(defect.first) <= numbers(release) <= numbers(defect.last) or defect.system not in (
            None,
            facts.host.system,
        ):
            continue
        if found := search(facts, defect.regex):
            return check.found(
                facts,
                f"torch {release}: {defect.effect}.",
                evidence=(quote(found[0]), "torch.version"),
                remedies=(Remedy(action="upgrade-torch", details={"torch": defect.cured}),),
                torch=release,
                source=defect.source,
            )
    return _abort_in_metal(facts, release)


def _abort_in_metal(facts: Facts, release: str) -> Judgement:
    """A hard stop within Apple's libraries: torch handed them what it should not have."""
    error = heard(facts, "mpsgraph-assertion")
    if error is None or numbers(release)[:2] >= numbers(lookup.newest_torch(facts.as_of))[:2]:
        return None
    return check.found(
        facts,
        f"torch {release} hands Metal something that it does not accept, and the program is aborted.",
        evidence=(quote(error), "torch.version", "host.macos"),
        remedies=(Remedy(action="upgrade-torch"),),
        confidence="likely",
        torch=release,
    )

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

from dataclasses import dataclass

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import numbers, quote, release_of, search
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    instead_of=("torch-too-old", "program-error", "mps-wrong-results"),
    explains=("windows-dll-missing", "openmp-duplicate", "compiler-missing", "mps-op-missing"),
)


@dataclass(frozen=True)
class Defect:
    """A message that one range of releases, `first` to `last`, gives for reasons of its own; `cured` mends it."""

    message: str
    first: str
    last: str
    cured: str
    what: str
    source: str
    system: str | None = None


DEFECTS = (
    Defect(
        r"module 'distutils' has no attribute 'version'",
        "1.0.0",
        "1.10.2",
        ">=1.11",
        "its TensorBoard writer does not work with setuptools 59.6 and newer",
        "https://github.com/pytorch/pytorch/issues/69894",
    ),
    Defect(
        r"module 'torch' has no attribute 'mps'",
        "2.0.0",
        "2.0.0",
        ">=2.0.1",
        "torch.mps was left out of the macOS wheels",
        "https://github.com/pytorch/pytorch/issues/100165",
        "darwin",
    ),
    Defect(
        r"MPSNDArray.*buffer is not large enough",
        "1.12.0",
        "1.12.1",
        ">=1.13",
        "MPS views of small buffers abort the program",
        "https://github.com/pytorch/pytorch/issues/77886",
    ),
    Defect(
        r"Can't detect vectorized ISA for CPU",
        "2.13.0",
        "2.13.0",
        ">=2.14",
        "the CPU's instruction set is not found out",
        "message table, e084",
        "linux",
    ),
)


@check
def judge(facts: Facts) -> Judgement:
    release = release_of(facts)
    if release is None:
        return None
    for defect in DEFECTS:
        if not numbers(defect.first) <= numbers(release) <= numbers(defect.last) or defect.system not in (
            None,
            facts.host.system,
        ):
            continue
        if found := search(facts, defect.message):
            return check.found(
                facts,
                f"torch {release}: {defect.what}.",
                evidence=(quote(found[0]), "torch.version"),
                remedies=(Remedy(action="upgrade-torch", details={"torch": defect.cured}),),
                torch=release,
                source=defect.source,
            )
    return _abort_in_metal(facts, release)


def _abort_in_metal(facts: Facts, release: str) -> Judgement:
    """A hard stop within Apple's libraries: torch handed them what it should not have."""
    error = heard(facts, "e142")
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

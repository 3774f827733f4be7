"""This torch was built without MPS, on a Mac that has it.

What it means
    torch.backends.mps.is_built() is False: the build leaves out the MPS backend, as some of conda's and all that
    were made for Intel Macs before it. The Mac's GPU can't be used.

How to see it yourself
    python -c "import torch; print(torch.backends.mps.is_built())"

What to do
    Install the wheel of the package index for macOS arm64, which has MPS.

References
    https://docs.pytorch.org/docs/stable/notes/mps.html
"""

from doctor.checks import Check, Fit, Judgement, Unknown
from doctor.checks._machine import heard
from doctor.checks._torch import installed, is_mac_arm, numbers, quote, release_of, search
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "torch.mps_built"),
    systems=("darwin",),
    keeps_from=("apple",),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("mps-unavailable", "program-error", "mps-op-missing"),
    instead_of=("mps-unavailable",),
)

NO_KERNELS = Regex(r"Could not run 'aten::(?:empty|_copy|copy_)[\w.]*' with arguments from the 'MPS' backend")

NOT_LINKED = Regex(r"not linked with support for mps devices")


@check
def judge(facts: Facts) -> Judgement:
    torch, release = installed(facts), release_of(facts)
    if release and numbers(release) < (1, 12):
        return None  # no release of that age has MPS: torch-too-old
    error = heard(facts, "not-compiled-with-mps")
    if error is None and (found := search(facts, NO_KERNELS) or search(facts, NOT_LINKED)):
        error = found[0]
    built = torch.mps_built if torch else None
    if error is None and not (built is False and is_mac_arm(facts)):
        return None
    if facts.host.system not in ("darwin", None) or facts.host.architecture == "x86_64":
        return None
    if facts.live and facts.interpreter.architecture is None:
        return Unknown("whether this Python is a native one or runs under Rosetta is not known")
    return check.found(
        facts,
        f"torch{f' {torch.version}' if torch else ''} was built without MPS, so it can't use the GPU of this Mac.",
        evidence=("torch.version", "torch.mps_built", "host.cpu_model", quote(error) if error else None),
        remedies=(Remedy(action="reinstall-torch", details={} if release else {"torch": ">=1.12"}),),
        confidence="certain" if is_mac_arm(facts) and built is False else "likely",
        torch=torch.version if torch else None,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    torch = installed(facts)
    return Fit(0, "torch was built with MPS") if torch and torch.mps_built else None

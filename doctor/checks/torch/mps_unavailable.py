"""MPS is built in and macOS is new enough, yet MPS is not available.

What it means
    torch.backends.mps.is_available() is False although nothing that is known stands against it. As a rule something
    keeps the Metal device from this process: the sandbox of an agent or an App, a session without a window server
    (ssh, a daemon), a virtual machine. torch then often asks for a macOS version that is there already.

How to see it yourself
    In a plain Terminal: python -c "import torch; print(torch.backends.mps.is_built(),
    torch.backends.mps.is_available())"; system_profiler SPDisplaysDataType names the Metal support.

What to do
    Run the same line in a plain Terminal window. If it says True there, let the other surroundings open the GPU.

References
    https://github.com/pytorch/pytorch/issues/167679
    https://github.com/pytorch/pytorch/issues/177819
"""

from doctor.checks import Check, Fit, Judgement, Unknown
from doctor.checks._machine import absent, heard
from doctor.checks._torch import installed, is_mac_arm, numbers, quote, release_of
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

KEEPERS = "a sandbox, an ssh or daemon session, or a virtual machine"
PLAIN_TERMINAL = Remedy(
    action="none",
    details={"reason": f"look for what keeps Metal from the process: {KEEPERS}"},
    text=f"Run it in a plain Terminal window; what keeps Metal from this process is {KEEPERS}.",
)

check = Check(
    severity="fault",
    needs=("torch.mps_available",),
    systems=("darwin",),
    keeps_from=("apple",),
    usual=(PLAIN_TERMINAL,),
    explains=("program-error",),
    instead_of=("no-accelerator",),
)


@check
def judge(facts: Facts) -> Judgement:
    torch = installed(facts)
    error = heard(facts, "mps-needs-newer-macos", "mps-built-not-available")
    if facts.host.system not in ("darwin", None) or (torch is None and error is None):
        return None
    if torch is not None and (torch.mps_built is False or (torch.mps_available is not False and error is None)):
        return None
    if (torch is not None and torch.mps_available) or not (is_mac_arm(facts) or facts.host.architecture is None):
        return None
    release, macos = release_of(facts), facts.host.macos
    minimum = lookup.mps_minimum(release) if release else None
    if not macos or minimum is None:
        return Unknown("whether this macOS is new enough for MPS is not known")
    if numbers(macos) < numbers(minimum) or facts.host.virtual_machine or facts.host.sandbox:
        return None  # macos-too-old, mps-in-virtual-machine, gpu-blocked-by-sandbox
    return check.found(
        facts,
        f"torch {release} is built with MPS and needs macOS {minimum}; this is macOS {macos}, and "
        f"MPS is not available.",
        evidence=(
            "torch.mps_built",
            "torch.mps_available",
            "host.macos",
            "metal.device",
            quote(error) if error else None,
        ),
        remedies=(PLAIN_TERMINAL,),
        confidence="likely",
        torch=release,
        macos=macos,
        needed=minimum,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    torch = installed(facts)
    refused = torch is not None and torch.mps_built and torch.mps_available is False
    return Fit(2, "MPS is built in and not available") if refused and absent(facts.host.virtual_machine) else None

"""This Python is a 32-bit one, for which there are no torch wheels.

What it means
    torch is published for 64-bit Pythons only. pip of a 32-bit Python finds no version at all («from versions: none»);
    loading a 64-bit library ends with WinError 193.

How to see it yourself
    python -c "import struct; print(struct.calcsize('P') * 8)" prints 32.

What to do
    Install a 64-bit Python and make a new environment with it.

References
    https://www.python.org/downloads/windows/ («Windows installer (64-bit)»)
    https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, refused_tag
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts, Torch
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("interpreter.bits",),
    systems=("linux", "windows"),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(Remedy(action="replace-interpreter", details={"arch": "64-bit"}),),
    explains=("torch-missing",),
    instead_of=(
        "no-matching-wheel",
        "index-misconfigured",
        "python-unsupported",
        "windows-dll-missing",
        "torch-install-broken",
        "glibc-too-old",
    ),
)

NARROW = ("win32", "linux-i686", "linux-armv7l", "linux-armv6l")


@check
def judge(facts: Facts) -> Judgement:
    torch, python = installed(facts), facts.interpreter
    if torch and torch.imports:
        return None  # built for it by hand
    banner, loader = heard(facts, "python-is-32-bit", "conda-32-bit-channel"), heard(facts, "winerror-193")
    if python.bits == 64 and not (banner and not facts.live):
        return None
    known = (
        python.bits == 32
        or banner is not None
        or (python.platform_tag or "") in NARROW
        or refused_tag(facts) in ("win32", "linux_i686", "linux_armv7l", "linux_armv6l")
    )
    if not known and (loader is None or (_has_torch(facts) and not facts.live)):
        return None  # the file is damaged
    error = banner or loader
    version = f"Python {python.version}" if python.version else "The Python"
    detail = f"{version} is a 32-bit one" if known else "A 64-bit library was loaded into a program of another width"
    return check.found(
        facts,
        f"{detail}; torch has wheels for 64-bit Pythons only.",
        evidence=(
            quote(error) if error else None,
            "interpreter.bits",
            "interpreter.platform_tag",
            "interpreter.version",
        ),
        remedies=(Remedy(action="replace-interpreter", details={"arch": "64-bit"}),),
        confidence="certain" if known else "likely",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.interpreter.bits == 64:
        return Fit(0, "this Python is a 64-bit one")
    return Fit(0.1, "torch is installed, and has wheels for 64-bit Pythons only") if _has_torch(facts) else None


def _has_torch(facts: Facts) -> bool:
    """Whether torch is installed, by its version or its place: it has a wheel for this Python, then."""
    torch = facts.torch
    return isinstance(torch, Torch) and bool(torch.version or torch.path)

"""This Python was built for Intel Macs and runs under Rosetta on Apple silicon.

What it means
    The Mac has Apple's own chip, but the Python is x86_64 and translated. torch then has no MPS, no release after
    2.2.2, is slow, and may give wrong results. «incompatible architecture» messages come from mixing packages of both
    kinds.

How to see it yourself
    python -c "import platform; print(platform.machine())" prints x86_64; sysctl -n machdep.cpu.brand_string names an
    Apple chip.

What to do
    Make a new environment with a native (arm64) Python, from a terminal that doesn't run under Rosetta, and install
    torch there.

References
    https://developer.apple.com/documentation/apple-silicon/about-the-rosetta-translation-environment
    https://developer.apple.com/metal/pytorch/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    apple_silicon,
    heard,
    intel_hardware,
    last_for_intel_macs,
    offered_for_intel_macs,
    on_mac,
    refused_tag,
    wanted_release,
    wants,
)
from doctor.checks._torch import owner, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

NATIVE = Remedy(action="replace-interpreter", details={"arch": "arm64"})

check = Check(
    severity="fault",
    needs=("interpreter.translated|host.cpu_model", "interpreter.architecture"),
    systems=("darwin",),
    keeps_from=("apple",),
    even_if_imported=True,
    usual=(NATIVE,),
    explains=(
        "torch-missing",
        "torch-too-old",
        "mps-not-built",
        "mps-wrong-results",
        "numpy-abi-mismatch",
        "torch-import-crashes",
        "device-wrong-results",
        "device-crashes",
        "device-slow",
        "openmp-duplicate",
    ),
    instead_of=(
        "mkl-incompatible",
        "intel-mac",
        "macos-too-old",
        "cpu-instructions-missing",
        "python-unsupported",
        "no-matching-wheel",
        "index-misconfigured",
        "mps-unavailable",
        "shared-library-missing",
        "torch-install-broken",
        "mps-in-virtual-machine",
        "gpu-blocked-by-sandbox",
        "backend-impossible-here",
        "extension-abi-mismatch",
        "mps-op-missing",
    ),
)

REINSTALL = Remedy(action="reinstall-torch", details={"backend": "mps"})


@check
def judge(facts: Facts) -> Judgement:
    if facts.host.system not in (None, "darwin") or intel_hardware(facts):
        return None
    if (error := heard(facts, "have-x86-64-need-arm64", "linked-for-other-mac")) and not facts.interpreter.translated:
        return _found(
            facts,
            "The Python is native (arm64), but packages in it were installed under "
            "Rosetta: their libraries are x86_64.",
            error,
            (*_other_package(error), REINSTALL, NATIVE),
        )
    error = heard(facts, "have-arm64-need-x86-64")
    if error and "x86_64h" not in error.text:
        return _found(
            facts, "The running Python is x86_64, under Rosetta: it can't load a library for Apple silicon.", error
        )
    chip = facts.host.cpu_model or "Apple silicon"
    if facts.interpreter.translated:
        return _found(facts, f"This Python is x86_64 and translated by Rosetta; the Mac has {chip}.")
    foreign = facts.interpreter.architecture == "x86_64" or (facts.interpreter.platform_tag or "").endswith("x86_64")
    if apple_silicon(facts) and foreign:
        return _found(facts, f"This Python is x86_64; the Mac has {chip}. It runs under Rosetta.")
    if error := heard(facts, "virtual-apple-cpu"):
        return _found(
            facts, "The CPU is named «VirtualApple»: that is how Rosetta shows an Apple chip to x86_64 programs.", error
        )
    return _by_wheels(facts) or _by_illegal_instruction(facts) or _by_wish(facts, foreign)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.interpreter.translated is False or facts.interpreter.architecture == "arm64":
        return Fit(0.02, "this Python is not translated")
    return Fit(3, "this Python is x86_64") if facts.interpreter.architecture == "x86_64" else None


def _other_package(error: ErrorText) -> tuple[Remedy, ...]:
    """The package whose library it is, if it is not torch's."""
    package = owner(error.path)
    if package is None or package in ("torch", "functorch"):
        return ()
    return (Remedy(action="reinstall-package", details={"package": package.replace("_", "-")}),)


def _by_wheels(facts: Facts) -> Judgement:
    """An Apple chip, and pip is offered what only x86_64 Pythons on macOS are."""
    if not apple_silicon(facts) or facts.interpreter.architecture == "arm64":
        return None
    refused = (refused_tag(facts) or "").endswith("_x86_64")
    attempt, error = (
        offered_for_intel_macs(facts),
        heard(
            facts, "no-torch-for-macos-x86-64", *(("uv-no-solution", "uv-platform-without-wheel") if refused else ())
        ),
    )
    if attempt is None and error is None:
        return None
    detail = (
        f"The Mac has {facts.host.cpu_model}, but the versions of torch on offer end at "
        f"{last_for_intel_macs()}, the last one for x86_64 "
        f"Pythons on macOS{f' (asked for: {wanted_release(attempt)})' if attempt else ''}."
    )
    return _found(facts, detail, error)


def _by_illegal_instruction(facts: Facts) -> Judgement:
    """Rosetta translates no AVX: on Apple silicon SIGILL is the mark of an x86_64 program."""
    error = heard(facts, "illegal-instruction")
    if error is None or not apple_silicon(facts) or facts.interpreter.architecture == "arm64":
        return None
    return _found(
        facts,
        "A program was ended for an illegal instruction on Apple silicon: an x86_64 Python under Rosetta.",
        error,
        confidence="likely",
    )


def _by_wish(facts: Facts, foreign: bool) -> Judgement:
    """Which Mac it is is not said; but it is wanted to do MPS, with an x86_64 Python."""
    if not (foreign and on_mac(facts) and wants(facts, "mps")) or facts.host.cpu_model:
        return None
    error = heard(
        facts, "mps-needs-newer-macos", "not-compiled-with-mps", "mps-built-not-available", "not-linked-with-backend"
    )
    return _found(
        facts,
        "MPS is wanted, and this Python is x86_64: on Apple silicon it runs under Rosetta.",
        error,
        confidence="likely",
    )


def _found(
    facts: Facts,
    detail: str,
    error: ErrorText | None = None,
    remedies: tuple[Remedy, ...] = (NATIVE,),  # no wheel for this Python has MPS
    confidence: str = "certain",
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "host.cpu_model",
            "interpreter.architecture",
            "interpreter.translated",
            "interpreter.platform_tag",
            "interpreter.executable",
        ),
        remedies=remedies,
        confidence=confidence,
        chip=facts.host.cpu_model,
    )

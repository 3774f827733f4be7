"""This Mac has an Intel CPU, for which torch ended with release 2.2.2.

What it means
    Since torch 2.3 there are no wheels for Intel Macs on the package index, and MPS is meant for Apple silicon. torch
    2.2.2 goes on working on the CPU; only what needs a newer torch, a newer Python than it knows, or a GPU can't be
    had.

How to see it yourself
    sysctl -n machdep.cpu.brand_string names the CPU; python -c "import platform; print(platform.machine())" prints
    x86_64.

What to do
    Stay with torch 2.2.2 (and NumPy 1), or take a newer torch from conda-forge, which still builds for Intel Macs.

References
    https://github.com/pytorch/pytorch/issues/114602 (the end of the builds for macOS x86_64)
    https://github.com/conda-forge/pytorch-cpu-feedstock
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    apple_silicon,
    beyond_intel_macs,
    heard,
    intel_hardware,
    last_for_intel_macs,
    offered_for_intel_macs,
    older,
    on_mac,
    python_minor,
    refused_tag,
    wanted_release,
)
from doctor.checks._torch import installed, quote
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, ErrorText, Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("host.cpu_model|interpreter.translated", "host.architecture", "torch.version"),
    systems=("darwin",),
    keeps_from=("amd", "intel", "apple"),
    usual=(
        Remedy(action="install-torch", details={"backend": "cpu"}),
        Remedy(action="use-other-build", details={"build": "conda-forge builds newer torch for Intel Macs (osx-64)"}),
    ),
    explains=("torch-missing", "torch-too-old", "python-unsupported", "torch-import-crashes"),
    instead_of=(
        "no-matching-wheel",
        "index-misconfigured",
        "mps-not-built",
        "mps-unavailable",
        "shared-library-missing",
        "torch-install-broken",
        "macos-too-old",
    ),
)


@check
def judge(facts: Facts) -> Judgement:
    if apple_silicon(facts):
        return None
    if error := _bundle_for_apple_silicon(facts):
        return _found(facts, f"A library for Apple silicon was loaded on an Intel Mac: {error.text}", error)
    if attempt := offered_for_intel_macs(facts):
        return _found(
            facts,
            f"torch {wanted_release(attempt)} was asked for; the versions on offer end at "
            f"{last_for_intel_macs()}, the last one with "
            "wheels for Intel Macs.",
            confidence="certain" if intel_hardware(facts) else "likely",
        )
    if error := heard(facts, "no-torch-for-macos-x86-64") or _refused_by_uv(facts):
        return _found(
            facts,
            "No wheel of torch is found for this x86-64 Python on macOS.",
            error,
            confidence="certain" if intel_hardware(facts) else "likely",
        )
    if not intel_hardware(facts):
        return None
    return _wanted_in_vain(facts) or _note(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if apple_silicon(facts):
        return Fit(0, "this Mac has Apple silicon")
    return Fit(6, "this Mac has an Intel CPU") if intel_hardware(facts) else None


def _refused_by_uv(facts: Facts) -> ErrorText | None:
    return (
        heard(facts, "uv-no-solution", "uv-platform-without-wheel")
        if re.fullmatch(r"macosx_\w+_x86_64", refused_tag(facts) or "")
        else None
    )


def _bundle_for_apple_silicon(facts: Facts) -> ErrorText | None:
    """«have arm64, need x86_64h»: x86_64h is asked for by real Intel CPUs only, x86_64 also by Rosetta."""
    error = heard(facts, "have-arm64-need-x86-64")
    return error if error and ("x86_64h" in error.text or intel_hardware(facts)) else None


def _wanted_in_vain(facts: Facts) -> Judgement:
    """What the evidence shows to be wanted, and can't be had on this Mac."""
    torch = installed(facts)
    refused = torch is not None and torch.mps_available is False and not facts.live  # nobody tells it unasked
    error = heard(facts, "mps-needs-newer-macos", "not-compiled-with-mps", "mps-built-not-available")
    if error or refused:
        return _found(
            facts,
            f"The program wants MPS, which needs Apple silicon; this Mac has an {facts.host.cpu_model or 'Intel CPU'}.",
            error,
        )
    if error := heard(facts, "torch-has-no-attribute"):
        return _found(
            facts, f"The program wants a newer torch than {last_for_intel_macs()}, the last one for Intel Macs.", error
        )
    python = python_minor(facts)
    known = lookup.torch_versions("macos_x86_64", python) if python else None
    if newer := beyond_intel_macs(facts):
        return _found(
            facts,
            f"torch {newer} was asked for; {last_for_intel_macs()} is the last release with wheels for Intel Macs.",
        )
    if facts.torch is not ABSENT and not (
        torch is None and heard(facts, "torch-from-versions-none", "no-matching-torch")
    ):
        return None
    if known == ():
        return _found(
            facts,
            f"No torch release has wheels for Python {python} on Intel Macs; {last_for_intel_macs()} was the last.",
        )
    return None


def _note(facts: Facts) -> Judgement:
    torch, last = installed(facts), last_for_intel_macs()
    if torch is None or not on_mac(facts) or (torch.mps_available is True):
        return None
    return check.found(
        facts,
        f"torch {torch.version} runs on the CPU ({facts.host.cpu_model or 'Intel'}). {last} "
        "is the last release with wheels for this Mac.",
        title="This is an Intel Mac: torch works on the CPU, and newer releases than 2.2.2 have no wheels for it.",
        evidence=("host.cpu_model", "torch.version"),
        severity="note",
        remedies=(
            Remedy(action="none", details={"reason": "torch works on the CPU of this Mac"}),
            Remedy(action="pin-package", details={"package": "torch", "spec": f"<={last}"}),
            Remedy(
                action="use-other-build", details={"build": "conda-forge builds newer torch for Intel Macs (osx-64)"}
            ),
        ),
        cpu=facts.host.cpu_model,
    )


def _found(facts: Facts, detail: str, error: ErrorText | None = None, confidence: str = "certain") -> Judgement:
    last = last_for_intel_macs() or ""
    torch = installed(facts)
    release = torch.version if torch else None
    first = Remedy(action="install-torch", details={"torch": f"<={last}", "backend": "cpu"})
    other = Remedy(
        action="use-other-build", details={"build": "conda-forge builds newer torch for Intel Macs (osx-64)"}
    )
    have_it = release is not None and not older(release, last)
    return check.found(
        facts,
        detail,
        evidence=(
            "host.cpu_model",
            "interpreter.architecture",
            Evidence(fact="last torch for Intel Macs", value=last, source="wheels on the package index"),
            quote(error) if error else None,
        ),
        remedies=(other,)
        if have_it
        else (first, Remedy(action="pin-package", details={"package": "torch", "spec": f"<={last}"}), other),
        confidence=confidence,
        last=last,
    )

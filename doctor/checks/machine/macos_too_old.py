"""macOS is older than this torch needs.

What it means
    The MPS backend of each torch release asks for a minimum macOS: 12.3 up to torch 2.5, 13.0 up to 2.8, 14.0 since
    2.9. Below it torch works on the CPU only and torch.backends.mps.is_available() is False. Wheels have a minimum,
    too: on an older macOS pip passes them over, or the system's loader rejects their libraries.

How to see it yourself
    sw_vers -productVersion shows the macOS version; python -c "import torch; print(torch.backends.mps.is_available())"
    whether torch can use the GPU.

What to do
    Update macOS. Where the Mac can't have a newer one, install the newest torch release that still supports it.

References
    https://developer.apple.com/metal/pytorch/
    https://github.com/pytorch/pytorch/issues/164943 (the printed minimum and the real one did not always move together)
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    apple_silicon,
    heard,
    intel_hardware,
    mac_guest,
    macos,
    older,
    on_mac,
    python_minor,
    refused_tag,
    sandboxed,
    wanted_release,
)
from doctor.checks._torch import installed, numbers, quote, release_of
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("host.macos|host.kernel", "torch.version", "messages"),
    systems=("darwin",),
    keeps_from=("apple",),
    even_if_imported=True,
    even_if_listed=True,  # an operation may need a newer macOS than MPS does
    usual=(Remedy(action="upgrade-os", details={"minimum": "14.0"}), Remedy(action="downgrade-torch")),
    explains=("torch-import-crashes", "mps-op-missing", "mps-dtype-unsupported", "torch-missing", "no-matching-wheel"),
    instead_of=("mps-unavailable", "shared-library-missing", "openmp-duplicate", "backend-impossible-here"),
)

LOADER_MINIMUM = "11.0"  # dyld knows load command 0x80000034 (chained fixups) from macOS 11 on


@check
def judge(facts: Facts) -> Judgement:
    if facts.host.system not in (None, "darwin") or facts.interpreter.translated:
        return None
    return _mps(facts) or _wheel(facts) or _operation(facts) or _loader(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    have, release = macos(facts), release_of(facts)
    need = lookup.mps_minimum(release) if release else None
    if not have or not need:
        return None
    if older(have, need) or _lost_macos_12(release, have):
        return Fit(5, f"torch {release} needs macOS {need} for MPS; this is {have}")
    return None if older(have, "14") else Fit(0.05, f"macOS {have} is new enough for torch {release}")


def _mps(facts: Facts) -> Judgement:
    """The installed release's minimum for MPS, and the one in its message: the higher counts."""
    torch, release, error = installed(facts), release_of(facts), heard(facts, "mps-needs-newer-macos")
    asked = torch is not None and torch.mps_available is False and not facts.live and not intel_hardware(facts)
    if (torch and torch.mps_available) or not (error or asked or (apple_silicon(facts) and on_mac(facts))):
        return None
    printed = re.search(r"(\d+\.\d+)\+", error.text) if error else None
    needs = [v for v in (printed and printed[1], release and lookup.mps_minimum(release)) if v]
    if not needs and macos(facts) and (heard(facts, "complaint-mps-fails") or _refuses_mps(facts)):
        needs = [lookup.mps_minimum("1.12") or ""]  # that of the first release with MPS: none works below it
    if not any(needs):
        return None
    need, have = max(needs, key=numbers), macos(facts)
    if have is None:
        if error is None or mac_guest(facts) or sandboxed(facts):
            return None
        return _found(
            facts,
            f"MPS needs macOS {need} or newer here; which version this Mac has is not known.",
            need,
            error,
            confidence="likely",
        )
    if _lost_macos_12(release, have) and (error or asked):
        return _found(
            facts,
            f"MPS of torch {release} needs macOS 13.0, whatever its message says; this Mac has {have}.",
            "13.0",
            error,
            confidence="likely",
        )
    if not older(have, need):
        return None
    what = f"torch {torch.version}" if torch else "this torch"
    return _found(facts, f"MPS of {what} needs macOS {need} or newer; this Mac has {have}.", need, error)


def _refuses_mps(facts: Facts) -> bool:
    return isinstance(facts.torch, Torch) and facts.torch.mps_available is False


def _lost_macos_12(release: str | None, have: str) -> bool:
    """torch 2.5 no longer finds MPS on macOS 12.3 to 12.7, though its message still names 12.3 (pytorch#139425)."""
    return release is not None and numbers(release)[:2] == (2, 5) and not older(have, "12.3") and older(have, "13")


def _wheel(facts: Facts) -> Judgement:
    """A wheel that was refused for its macOS tag."""
    error, need, have = heard(facts, "wheel-needs-macos-14"), "14.0", macos(facts)
    tag = re.match(r"macosx_(\d+)_(\d+)_arm64", refused_tag(facts) or "")
    if error is None and tag and (newest := _newest_minimum(facts)) and older(f"{tag[1]}.{tag[2]}", newest):
        error, need, have = heard(facts, "uv-no-solution", "uv-platform-without-wheel"), newest, f"{tag[1]}.{tag[2]}"
    if error is None or intel_hardware(facts) or facts.interpreter.architecture == "x86_64":
        return None
    if have is None:
        return _found(
            facts,
            f"The wheel is for macOS {need} or newer, and this system refused it.",
            need,
            error,
            confidence="likely",
        )
    return (
        _found(facts, f"The wheel is for macOS {need} or newer; this Mac has {have}.", need, error)
        if older(have, need)
        else None
    )


def _newest_minimum(facts: Facts) -> str | None:
    """The minimum macOS of the release that was asked for, or of the newest one."""
    asked = next((r for a in facts.attempts if (r := wanted_release(a))), None)
    return lookup.wheel_minimum_macos(asked or lookup.newest_torch(facts.as_of), "macos_arm64", python_minor(facts))


def _operation(facts: Facts) -> Judgement:
    """An operation of MPS that macOS itself only has from 13 or 14 on."""
    error, have = heard(facts, "mps-feature-needs-macos-14", "mps-feature-needs-macos-13"), macos(facts)
    need = "13.0" if error and error.pattern == "mps-feature-needs-macos-13" else "14.0"
    if error is None or (have and not older(have, need)):
        return None
    seen = f"; this Mac has {have}" if have else ""
    return _found(
        facts,
        f"This operation needs macOS {need} or newer on MPS{seen}.",
        need,
        error,
        confidence="certain" if have else "likely",
        warn="Falling back" in error.text,  # it goes on with another implementation
    )


def _loader(facts: Facts) -> Judgement:
    """The system's loader rejects a library that was linked for a newer macOS."""
    error, have = heard(facts, "macho-load-command-unknown"), macos(facts)
    if error is None:
        return None
    need = next((g for g in error.groups if g and g[0].isdigit()), LOADER_MINIMUM)
    if have and not older(have, need):
        return None
    seen = f" (this Mac has {have})" if have else ""
    return _found(
        facts,
        f"A library of torch is linked for macOS {need} or newer, which this system's loader rejects{seen}.",
        need,
        error,
    )


def _found(
    facts: Facts, detail: str, need: str, error: ErrorText | None, confidence: str = "certain", *, warn: bool = False
) -> Judgement:
    have = macos(facts)
    return check.found(
        facts,
        detail,
        evidence=(
            "host.macos",
            Evidence(fact="needed", value=need, source="minimum of the MPS backend and its wheels"),
            "torch.version",
            "torch.mps_available",
            quote(error) if error else None,
        ),
        remedies=(
            Remedy(action="upgrade-os", details={"minimum": need}),
            Remedy(action="downgrade-torch", details=_below(have)),
        ),
        severity="warning" if warn else None,
        confidence=confidence,
        macos=have,
        needed=need,
    )


def _below(have: str | None) -> dict[str, str]:
    """The newest release that has MPS on this macOS, as an upper bound."""
    last = lookup.newest_with_mps(have) if have else None
    return {"torch": f"<={last}"} if last and last != lookup.newest_torch() else {}

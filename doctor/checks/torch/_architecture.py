"""Whether a CUDA build has code for the machine's GPUs: what gpu-too-new-for-build and gpu-too-old-for-build share."""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import (
    architectures,
    build,
    capability_of,
    gpus_of,
    has_kernels,
    import_failure,
    installed,
    kind,
    numbers,
    owner,
    quote,
    search,
    wheel_platform,
)
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Evidence, Remedy
from doctor.model.values import dataclass
from doctor.regex import Regex

INCOMPATIBLE = (
    "capability-too-new",
    "capability-too-old",
    "gpu-no-longer-supported",
    "no-kernels-for-this-gpu",
    "no-kernel-image",
    "nvrtc-invalid-architecture",
    "ptxas-unknown-architecture",
)
TORCH_1_2 = (
    "Go back to torch 1.2.0 or older, whose builds had code for compute capability 3.5: "
    "https://pytorch.org/get-started/previous-versions/."
)
NAMED = Regex(r"([^\n:]*?) with CUDA capability sm_(\d+)(\d) is not compatible")
FOUND = Regex(r"Found GPU\d+ (.*?) which is of (?:cuda |compute )?capability (?:\(CC\) )?(\d+)\.(\d)")
KEPLER_ENDS = (5, 0)  # below it: 3.x, of which the published builds dropped one after the other from torch 1.3 on
# What ptxas and nvcc say of an architecture that they do not know. «ptxas» alone stands in many commands.
UNKNOWN_TO_PTXAS = Regex(r"is not defined for option|[Uu]nsupported gpu architecture|PTX \.version|\bsm_1\d\da?\b")
SUPPORTED = Regex(r"supports CUDA capabilities ((?:(?:sm|compute)_\w+ ?)+)")


@dataclass(frozen=True)
class Device:
    """A GPU and its compute capability; `works`: a probe computed right on it."""

    name: str
    capability: str
    works: bool = False


def unserved(check: Check, facts: Facts, *, newer: bool) -> Judgement:
    """The finding for the first GPU that the build has no code for and that is newer (older) than its code."""
    if _kind(facts) not in (None, "cuda") or import_failure(facts):
        return None
    archs = _architectures(facts)
    message = _message(facts)
    devices = _devices(facts)
    if archs and message and wheel_platform(facts) is None:
        archs = tuple(a for a in archs if a.startswith("sm_"))  # the PTX of one platform's build did not help here
    if archs is None or not devices:
        return _by_message(check, facts, devices, newer=newer)
    made = build(facts)
    cuda = made.cuda if made else None
    without = [d for d in devices if not d.works and lookup.runs_on(d.capability, archs, cuda) == "no"]
    bad = [d for d in without if _is_newer(d.capability, archs) == newer]
    if not bad:
        return None
    some_work = len(without) < len(devices)
    device = bad[0]
    only_named = message is None or (device.name in message.text and not _failed(facts))  # a warning names the GPU
    torch, others = installed(facts), _without(facts, devices, without)
    return check.found(
        facts,
        f"{device.name} has compute capability {device.capability}; {_named(torch)} has code for {', '.join(archs)}.",
        evidence=(
            Evidence(fact="gpu", value=f"{device.name}, compute capability {device.capability}"),
            Evidence(fact="torch.arch_list", value=" ".join(archs)),
            "torch.version",
            quote(message) if message else None,
        ),
        remedies=_remedies(newer, device) + others if newer else others + _remedies(newer, device),
        severity="warning" if some_work and only_named else None,
        gpu=device.name,
        capability=device.capability,
        torch=torch.version if torch else None,
    )


NEW, OLD = (10, 0), (7, 5)  # compute capabilities that builds of the last years came to lack, and those they dropped
# In earlier years: builds for CUDA 10.2, the default up to torch 1.12 (2022-06), had no code for Ampere.
WAS_NEW = (("2023-06", (8, 0)), ("2025-01", (9, 0)))


def fits_age(facts: Facts, *, newer: bool) -> Fit | None:
    """How well it fits the facts that the build lacks code for a GPU because that is too new (too old)."""
    found = _kind(facts)
    if found not in (None, "cuda"):
        return Fit(0, f"the installed build is for {found}")
    devices = _devices(facts)
    if not devices:
        return None
    archs, made = _architectures(facts), build(facts)
    if archs is not None:
        without = [d for d in devices if lookup.runs_on(d.capability, archs, made.cuda if made else None) == "no"]
        if not without:
            return Fit(0.02, f"the build has code for {devices[0].name}")
        device = without[0]
        if _is_newer(device.capability, archs) != newer:
            return Fit(0.02, f"{device.name} is too {'old' if newer else 'new'}, if anything")
        return Fit(6, f"the build has no code for {device.name} ({device.capability})")
    new = next((first for until, first in WAS_NEW if facts.as_of and facts.as_of < until), NEW)
    suspects = [d for d in devices if (numbers(d.capability) >= new if newer else numbers(d.capability) < OLD)]
    if suspects:
        word = "new" if newer else "old"
        return Fit(6, f"{suspects[0].name} is {word} (compute capability {suspects[0].capability})")
    return Fit(0.1, f"{devices[0].name} has compute capability {devices[0].capability}")


def _remedies(newer: bool, device: Device | None) -> tuple[Remedy, ...]:
    if newer:
        return (Remedy(action="reinstall-torch"), Remedy(action="upgrade-torch"))
    if device and numbers(device.capability) == (3, 5):
        before = Remedy(action="downgrade-torch", details={"torch": "<1.3"}, text=TORCH_1_2)
        return (Remedy(action="reinstall-torch"), before)
    return (Remedy(action="reinstall-torch"), Remedy(action="downgrade-torch"))


def _without(facts: Facts, devices: list[Device], unserved: list[Device]) -> tuple[Remedy, ...]:
    """Where other GPUs are served: keep torch to those, as CUDA counts them."""
    served = [str(place) for place, device in enumerate(devices) if device not in unserved]
    if not served or (facts.environ or {}).get("CUDA_VISIBLE_DEVICES") is not None:
        return ()
    details = {"name": "CUDA_VISIBLE_DEVICES", "value": ",".join(served)}
    return (Remedy(action="set-env", details=details),)


def _architectures(facts: Facts) -> tuple[str, ...] | None:
    """The build's list: from torch itself, from its own warning, or from the tables."""
    torch = installed(facts)
    if torch and torch.arch_list:
        return torch.arch_list
    if found := search(facts, SUPPORTED):
        return tuple(found[1][1].split())
    return architectures(facts)


def _devices(facts: Facts) -> list[Device]:
    """The NVIDIA GPUs of which the capability is known; torch's own list first, and those that its warning names."""
    torch = installed(facts)
    right = {p.id for p in facts.probes or () if p.status == "ok"}
    devices = [
        Device(d.name or "the GPU", d.capability, works=f"cuda:{d.index}" in right)
        for d in (torch.devices if torch else None) or ()
        if d.backend == "cuda" and d.capability
    ]
    if not devices:
        devices = [Device(g.name or "the GPU", c) for g in gpus_of(facts, "nvidia") if (c := capability_of(g))]
    for regex in (NAMED, FOUND):
        if (found := search(facts, regex)) and not any(d.capability == f"{found[1][2]}.{found[1][3]}" for d in devices):
            devices.insert(0, Device(found[1][1].strip() or "the GPU", f"{found[1][2]}.{found[1][3]}"))
    return devices


def _message(facts: Facts) -> ErrorText | None:
    error = heard(facts, *INCOMPATIBLE)
    return None if error and error.pattern == "no-kernel-image" and has_kernels(owner(error.path)) else error


def _kind(facts: Facts) -> str | None:
    """What the build was made for. A missing kernel is said by a CUDA build, whatever other torch the text names."""
    found = kind(facts)
    return None if found == "cpu" and not facts.live and heard(facts, "no-kernel-image") else found


def _failed(facts: Facts) -> bool:
    """Whether a kernel was missing when one ran, not only when torch looked at its GPUs."""
    torch = installed(facts)
    return heard(
        facts, "no-kernel-image", "nvrtc-invalid-architecture", "ptxas-unknown-architecture"
    ) is not None or bool(torch and torch.cuda_available is False)


def _is_newer(capability: str, archs: tuple[str, ...]) -> bool:
    """Against the newest architecture of the list ("sm_120" is 12.0)."""
    known = [(int(m[1]), int(m[2])) for a in archs if (m := re.match(r"(?:sm|compute)_(\d+)(\d)", a))]
    major, _, minor = capability.partition(".")
    return (int(major), int(minor)) > max(known, default=(0, 0))


def _by_message(check: Check, facts: Facts, devices: list[Device], *, newer: bool) -> Judgement:
    """Torch itself says that it has no code for the GPU, and its list is not known."""
    error = heard(
        facts,
        *(
            ("capability-too-new", "nvrtc-invalid-architecture", "ptxas-unknown-architecture")
            if newer
            else ("capability-too-old", "gpu-no-longer-supported")
        ),
    )
    if error and error.pattern == "ptxas-unknown-architecture":
        named = (e for e in facts.errors if e.pattern == error.pattern)
        error = next((e for e in named if UNKNOWN_TO_PTXAS.search(e.text)), None)
    oldest = min(devices, key=lambda d: numbers(d.capability), default=None)
    if error is None and not newer and oldest and numbers(oldest.capability) < KEPLER_ENDS:
        error = _message(facts)
    if error is None:
        return None
    device = oldest if error.pattern == "no-kernel-image" else devices[0] if devices else None
    torch = installed(facts)
    return check.found(
        facts,
        f"{_named(torch)} has no code for "
        + (f"{device.name} (compute capability {device.capability})." if device else "this GPU."),
        evidence=(quote(error), "torch.version"),
        remedies=_remedies(newer, device),
        confidence="likely",
        gpu=device.name if device else None,
        capability=device.capability if device else None,
    )


def _named(torch: Torch | None) -> str:
    return f"torch {torch.version}" if torch else "torch"

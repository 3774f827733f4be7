"""Which accelerators are there, and whether torch uses each of them. Pure.

Health rests on this list: an accelerator that torch does not use must be explained, and one of which that is not known
keeps a machine from being called healthy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from doctor.checks._memo import once_for_facts
from doctor.model.facts import ABSENT, Facts, Gpu, ProbeResult, Torch, TorchDevice
from doctor.model.values import dataclass

State = Literal[
    "proven",  # its probe passed
    "used",  # torch lists it, or a text shows it in use
    "unused",  # torch does not list it
    "aside",  # of another vendor than the GPU that torch uses: one build serves one vendor
    "unknown",  # nobody asked torch
]
VENDORS = ("nvidia", "amd", "intel", "apple")
_INTEGRATED_BESIDE = ("intel", "amd")  # whose processors bring a GPU along


@dataclass(frozen=True, kw_only=True)
class Accelerator:
    """One GPU. `device` is torch's name of it ("cuda:0"), None where torch does not list it."""

    vendor: str
    name: str | None
    state: State
    device: str | None = None
    gpu: Gpu | None = None

    @property
    def label(self) -> str:
        """What to call it: "NVIDIA GeForce RTX 4090", "an AMD GPU"."""
        if self.name:
            return self.name
        return {"nvidia": "an NVIDIA GPU", "amd": "an AMD GPU", "intel": "an Intel GPU"}.get(self.vendor, "the GPU")


@once_for_facts
def accelerators(facts: Facts) -> tuple[Accelerator, ...]:
    """Every accelerator that the facts name, vendor by vendor."""
    return tuple(_listed(facts))


def torch_runs(facts: Facts) -> bool:
    """Whether torch is known to import: a child did it, or what a text shows can only come from a torch that runs."""
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.imports is False:
        return False
    answers = (torch.cuda_available, torch.mps_available, torch.xpu_available, torch.mps_built, torch.devices)
    return bool(torch.imports) or (not facts.live and any(a is not None for a in answers))


def _listed(facts: Facts) -> Iterable[Accelerator]:
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    gpus = _gpus(facts)
    used = {vendor: _devices(torch, vendor, gpus) for vendor in VENDORS}
    in_use = {vendor for vendor in VENDORS if used[vendor] or _available(torch, vendor, gpus)}
    probes = {p.id: p for p in facts.probes or ()}
    for vendor in VENDORS:
        of_vendor = [g for g in gpus if g.vendor == vendor]
        if vendor in in_use:
            yield from _in_use(of_vendor, vendor, used[vendor], probes)
        else:
            for gpu in of_vendor:
                yield Accelerator(vendor=vendor, name=gpu.name, gpu=gpu, state=_unused(facts, torch, gpu, in_use))


def _gpus(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs of the list; without one, those that a driver which answers has counted."""
    found = tuple(g for g in facts.gpus or () if g.driver != "vfio-pci")  # given away to a virtual machine
    if not any(g.vendor == "nvidia" for g in found) and facts.nvidia.gpus_seen:
        found += (Gpu(vendor="nvidia"),) * facts.nvidia.gpus_seen
    masked = [n for n in facts.nvidia.false_nodes or () if re.fullmatch(r"/dev/nvidia\d+", n)]
    if masked:  # in a container nothing but its node tells of such a GPU
        nodes = [n for n in facts.nvidia.device_nodes or () if re.fullmatch(r"/dev/nvidia\d+", n)]
        missing = max(0, len({*nodes, *masked}) - sum(g.vendor == "nvidia" for g in found))
        found += tuple(Gpu(vendor="nvidia", name=f"the GPU of {node}") for node in masked[:missing])
    return found


def _devices(torch: Torch | None, vendor: str, gpus: tuple[Gpu, ...]) -> list[TorchDevice]:
    if torch is None:
        return []
    backend = {"nvidia": "cuda", "amd": "cuda", "intel": "xpu", "apple": "mps"}[vendor]
    if backend == "cuda" and vendor != _cuda_vendor(torch, gpus):
        return []
    return [d for d in torch.devices or () if d.backend == backend]


def _available(torch: Torch | None, vendor: str, gpus: tuple[Gpu, ...]) -> bool | None:
    """What is_available() of the vendor's backend said; None where nobody asked."""
    if torch is None:
        return None
    if vendor == "apple":
        return torch.mps_available
    if vendor == "intel":
        return torch.xpu_available
    if torch.cuda_available and vendor != _cuda_vendor(torch, gpus):
        return False
    return torch.cuda_available


def _cuda_vendor(torch: Torch, gpus: tuple[Gpu, ...]) -> str:
    """Whose GPUs torch calls "cuda": AMD's in a ROCm build."""
    if torch.hip:
        return "amd"
    if torch.cuda or torch.hip is ABSENT:
        return "nvidia"
    return "amd" if {g.vendor for g in gpus} & {"amd", "nvidia"} == {"amd"} else "nvidia"


def _in_use(
    gpus: list[Gpu], vendor: str, devices: list[TorchDevice], probes: dict[str, ProbeResult]
) -> Iterable[Accelerator]:
    """The vendor's GPUs beside torch's devices, joined by name, then by order. A text often shows that torch has a
    GPU, not how many: then all count as used."""

    def state(device: TorchDevice) -> tuple[str, State]:
        probe = probes.get(device.id)
        return device.id, "proven" if probe and probe.status == "ok" else "used"

    if not devices:
        for gpu in gpus or [Gpu(vendor=vendor)]:  # type: ignore[arg-type]
            yield Accelerator(vendor=vendor, name=gpu.name, gpu=gpu, state="used")
        return
    left = list(devices)
    joined: list[tuple[Gpu, TorchDevice | None]] = []
    for gpu in gpus:
        same = next((d for d in left if d.name and gpu.name and d.name.startswith(gpu.name)), None)
        if same:
            left.remove(same)
        joined.append((gpu, same))
    for gpu, device in joined:
        device = device or (left.pop(0) if left else None)
        if device is None and _is_beside(gpu):
            continue
        if device is None:
            yield Accelerator(vendor=vendor, name=gpu.name, gpu=gpu, state="unused")
            continue
        name, found = state(device)
        yield Accelerator(vendor=vendor, name=gpu.name or device.name, gpu=gpu, device=name, state=found)
    for device in left:  # partitions of a GPU (MIG), or one that no other source knows
        name, found = state(device)
        yield Accelerator(vendor=vendor, name=device.name, device=name, state=found)


def _is_beside(gpu: Gpu) -> bool:
    """A GPU that is part of a processor, beside a card that torch uses: nobody misses it."""
    return bool(gpu.integrated) and gpu.vendor in _INTEGRATED_BESIDE


def _unused(facts: Facts, torch: Torch | None, gpu: Gpu, in_use: set[str]) -> State:
    if in_use:
        return "aside"
    if facts.torch is ABSENT or (torch is not None and torch.imports is False):
        return "unused"
    said = _available(torch, gpu.vendor, tuple(facts.gpus or ()))
    if said is None and torch is not None and gpu.vendor == "intel" and torch.xpu is ABSENT and torch.imports:
        said = False
    if said is False:
        return "unused"
    if torch is not None and gpu.vendor != "apple" and _without(torch, gpu.vendor):
        return "unused"
    return "unknown"


def _without(torch: Torch, vendor: str) -> bool:
    """Whether the build is known to have no code for that vendor's GPUs."""
    values = {"nvidia": (torch.cuda,), "amd": (torch.hip,), "intel": (torch.xpu,)}[vendor]
    return all(value is ABSENT for value in values)

"""One list of GPUs from all who name them: the bus, the drivers' tools and libraries. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from doctor.facts.notes import Notes
from doctor.formats.nvidia_smi import SmiGpu, pci_address
from doctor.formats.rocm import RocmGpu
from doctor.model.facts import Gpu


def write(notes: Notes) -> None:
    """Write Facts.gpus down from the lists `gpus.*` that the collectors left; they are taken away."""
    lists = notes.fields("gpus")
    sources = [notes.origins.pop(f"gpus.{name}").source for name in lists if f"gpus.{name}" in notes.origins]
    for name in lists:
        del notes.values[f"gpus.{name}"]
    on_bus = lists.get("pci")
    smi = _with_libcuda(lists.get("nvidia", ()), lists.get("libcuda") or ())
    in_container = bool(notes.get("host.container"))
    gpus = join_nvidia(tuple(on_bus or ()), smi, only_seen=in_container)
    gpus = join_amd(gpus, lists.get("kfd") or (), lists.get("rocminfo") or ())
    if not any(gpu.vendor == "nvidia" for gpu in gpus):
        gpus += tuple(lists.get("tegra", ()))
    gpus += tuple(lists.get("apple", ()))
    hidden = notes.get("host.dxg") or notes.get("host.sandbox")
    hung = next((s for s in notes.get("nvidia.sources") or () if s.status == "timed-out"), None)
    known = on_bus is not None or "apple" in lists
    if hung and not gpus:  # a driver that can't answer may well have a GPU that the bus does not show us
        notes.gap("gpus", "timed-out", f"{hung.name}: {hung.message or 'no answer'}", hung.name)
        return
    if gpus or (known and not hidden):
        notes.set("gpus", gpus, ", ".join(dict.fromkeys(sources)))
        return
    for gap in [gap for fact, gap in notes.unfilled() if fact == "gpus.pci"]:
        notes.set("gpus", gap)
    notes.gap("gpus", "unreadable", "this machine does not show its GPUs to us")


def _with_libcuda(smi: Iterable[SmiGpu], devices: Iterable[Mapping[str, Any]]) -> tuple[SmiGpu, ...]:
    """nvidia-smi's list, completed by what libcuda says of the same PCI address; libcuda's where there is no other."""
    by_address = {pci_address(str(one.get("address", ""))): one for one in devices}
    listed = tuple(smi)
    if not listed:
        return tuple(
            SmiGpu(
                index=index,
                name=one.get("name"),
                pci_address=address,
                capability=one.get("capability"),
                memory_bytes=one.get("memory_bytes"),
            )
            for index, (address, one) in enumerate(by_address.items())
        )
    done = []
    for gpu in listed:
        one = by_address.get(gpu.pci_address, {})
        name = one.get("name") if gpu.truncated or not gpu.name else gpu.name
        done.append(replace(gpu, name=name or gpu.name, capability=gpu.capability or one.get("capability")))
    return tuple(done)


def join_nvidia(on_bus: tuple[Gpu, ...], seen: tuple[SmiGpu, ...], *, only_seen: bool = False) -> tuple[Gpu, ...]:
    """The bus's list, with what the driver says of each; GPUs that only the driver knows (WSL, Tegra) are added.

    only_seen: a container sees the whole machine's bus, but only the GPUs that it was given are its own.
    """
    left = list(seen)
    joined = []
    for gpu in on_bus:
        match = next((one for one in left if gpu.vendor == "nvidia" and _is_same(gpu, one)), None)
        if match:
            left.remove(match)
            joined.append(_filled(gpu, match))
        elif gpu.vendor != "nvidia" or not (only_seen and seen):
            joined.append(gpu)
    return (*joined, *(_filled(Gpu(vendor="nvidia"), one) for one in left))


def _is_same(gpu: Gpu, one: SmiGpu) -> bool:
    if gpu.pci_address and one.pci_address:
        return gpu.pci_address == one.pci_address
    return gpu.pci_address is None and (gpu.name == one.name or (gpu.pci_id is not None and gpu.pci_id == one.pci_id))


def _filled(gpu: Gpu, one: SmiGpu) -> Gpu:
    return replace(
        gpu,
        name=one.name or gpu.name,
        capability=one.capability,
        pci_id=gpu.pci_id or one.pci_id,
        pci_address=gpu.pci_address or one.pci_address,
        memory_bytes=one.memory_bytes or gpu.memory_bytes,
        memory_used_bytes=one.memory_used_bytes,
        uuid=one.uuid,
        driver=gpu.driver or "nvidia",
    )


def join_amd(gpus: tuple[Gpu, ...], kernel: tuple[RocmGpu, ...], tool: tuple[RocmGpu, ...]) -> tuple[Gpu, ...]:
    """gfx target, name and memory of the AMD GPUs, by PCI address, else by PCI id; ROCm's own finds are added."""
    names: dict[str | None, RocmGpu] = {one.pci_address: one for one in tool if one.pci_address}
    known = kernel or tool
    left = list(known)
    joined = []
    for gpu in gpus:
        match = None
        if gpu.vendor == "amd":
            match = next((one for one in left if one.pci_address and one.pci_address == gpu.pci_address), None)
            match = match or next((one for one in left if one.pci_id and one.pci_id == gpu.pci_id), None)
        if match:
            left.remove(match)
            joined.append(_rocm_filled(gpu, match, names.get(match.pci_address)))
        else:
            joined.append(gpu)
    return (
        *joined,
        *(_rocm_filled(Gpu(vendor="amd", driver="amdgpu"), one, names.get(one.pci_address)) for one in left),
    )


def _rocm_filled(gpu: Gpu, one: RocmGpu, tool: RocmGpu | None) -> Gpu:
    return replace(
        gpu,
        gfx=one.gfx,
        name=(tool and tool.name) or one.name or gpu.name,
        pci_id=gpu.pci_id or one.pci_id,
        pci_address=gpu.pci_address or one.pci_address,
        memory_bytes=(tool and tool.memory_bytes) or one.memory_bytes,
    )

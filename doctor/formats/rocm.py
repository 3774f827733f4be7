"""rocminfo, and the kernel's KFD topology: AMD GPUs by gfx target. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RocmGpu:
    """One GPU agent."""

    gfx: str  # gfx1100
    name: str | None = None  # "AMD Radeon RX 7900 XTX"
    pci_id: str | None = None
    pci_address: str | None = None
    memory_bytes: int | None = None


def parse(text: str) -> tuple[RocmGpu, ...]:
    """The GPU agents of rocminfo, in its order."""
    gpus = []
    for agent in re.split(r"^\*+[ \t]*\n[ \t]*Agent \d+", text, flags=re.M)[1:]:
        gfx = re.search(r"^[ \t]*Name:[ \t]+(gfx[0-9a-f]+)", agent, re.M)
        if not gfx:
            continue
        name = re.search(r"^[ \t]*Marketing Name:[ \t]*(\S[^\n]*)$", agent, re.M)
        place = re.search(r"^[ \t]*BDFID:[ \t]+(\d+)", agent, re.M)
        chip = re.search(r"^[ \t]*Chip ID:[ \t]+\d+\((0x[0-9a-f]+)\)", agent, re.M)
        gpus.append(
            RocmGpu(
                gfx=gfx[1],
                name=name[1].rstrip() if name else None,
                pci_id=f"1002:{int(chip[1], 16):04x}" if chip else None,
                pci_address=_address(int(place[1])) if place else None,
                memory_bytes=_pool(agent),
            )
        )
    return tuple(gpus)


def _pool(agent: str) -> int | None:
    sizes = re.findall(r"Segment:[ \t]+GLOBAL;.*\n[ \t]*Size:[ \t]+(\d+)\(0x[0-9a-f]+\) KB", agent)
    return max(int(size) for size in sizes) << 10 if sizes else None


def parse_kfd(text: str) -> RocmGpu | None:
    """A `properties` file of /sys/class/kfd/kfd/topology/nodes; None where the node is a CPU."""
    said = dict(re.findall(r"^(\w+) (\d+)$", text, re.M))
    version = int(said.get("gfx_target_version", "0") or 0)
    if not version:
        return None
    device, place, domain = (int(said.get(name, "0") or 0) for name in ("device_id", "location_id", "domain"))
    return RocmGpu(
        gfx=gfx_of_version(version),
        pci_id=f"1002:{device:04x}" if device else None,
        pci_address=_address(place, domain) if place else None,
    )


def _address(place: int, domain: int = 0) -> str:
    """Bus, device and function packed into one number, as PCI does: 768 -> 0000:03:00.0."""
    return f"{domain:04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


def gfx_of_version(version: int) -> str:
    """The kernel's number for a target: 110000 -> gfx1100, 90010 -> gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def error_of(text: str) -> str | None:
    """The line of rocminfo that says why it can't see a GPU."""
    for line in text.splitlines():
        if re.search(
            r"ROCk module is NOT loaded|Unable to open /dev/kfd|not member of|Permission denied|HSA_STATUS_ERROR|"
            r"hsa_init Failed",
            line,
        ):
            return re.sub(r"\x1b\[[0-9;]*m", "", line).strip()[:500]
    return None

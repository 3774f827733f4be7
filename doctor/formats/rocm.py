"""rocminfo, and the kernel's KFD topology: AMD GPUs by gfx target. Pure."""

from __future__ import annotations

import re
from bisect import bisect

from doctor.model.values import dataclass
from doctor.regex import Regex

_HEAD = Regex(r"^[ \t]*Agent \d+[ \t]*$", re.M)
_NAME = Regex(r"^[ \t]*Name:[ \t]+(gfx[0-9a-f]{3,4})[ \t]*$", re.M)
_MARKETING = Regex(r"^[ \t]*Marketing Name:[ \t]*(\S[^\n]*)$", re.M)
_PLACE = Regex(r"^[ \t]*BDFID:[ \t]+(\d{1,10})", re.M)
_CHIP = Regex(r"^[ \t]*Chip ID:[ \t]+\d+\((0x[0-9a-f]{1,8})\)", re.M)
_POOL = Regex(r"Segment:[ \t]{1,40}GLOBAL;[^\n]*\n[ \t]{0,40}Size:[ \t]{1,40}(\d{1,15})\(0x[0-9a-f]+\) KB")
_NEAR = 300  # characters in which an agent's name stands


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
    return tuple(gpu for _, gpu in agents(text))


def agents(text: str) -> tuple[tuple[int, RocmGpu], ...]:
    """(where it stands, the GPU) of rocminfo's GPU agents, whole or filtered by grep. In an agent the marketing name
    follows the name; lines that were filtered may stand the other way round.

    >>> agents("  Marketing Name: AMD Radeon RX 7900 XTX\\n  Name: gfx1100\\n")
    ((41, RocmGpu(gfx='gfx1100', name='AMD Radeon RX 7900 XTX', pci_id=None, pci_address=None, memory_bytes=None)),)
    """
    heads = [*(m.start() for m in _HEAD.finditer(text)), len(text)]
    marketing = list(_MARKETING.finditer(text))
    places = [m.start() for m in marketing]
    found = []
    for m in _NAME.finditer(text):
        end = heads[bisect(heads, m.start())] if len(heads) > 1 else m.end() + _NEAR
        agent, following = text[m.start() : end], bisect(places, m.end())
        named = None
        if following < len(places) and places[following] < min(end, m.end() + _NEAR):
            named = marketing[following]
        elif following and len(heads) == 1:
            named = marketing[following - 1]
        place, chip = _PLACE.search(agent), _CHIP.search(agent)
        gpu = RocmGpu(
            gfx=m[1], name=named[1].rstrip() if named else None,
            pci_id=f"1002:{int(chip[1], 16):04x}" if chip else None,
            pci_address=_address(int(place[1])) if place else None, memory_bytes=_pool(agent),
        )
        found.append((m.start(), gpu))
    return tuple(found)


def _pool(agent: str) -> int | None:
    sizes = _POOL.findall(agent)
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

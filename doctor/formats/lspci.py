"""lspci, with or without -nn, -k and -D: the GPUs among the devices. Pure."""

from __future__ import annotations

import re

from doctor.model.values import dataclass
from doctor.regex import Regex

VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
_NAMES = {"nvidia": "nvidia", "advanced micro devices": "amd", "amd/ati": "amd", "intel": "intel"}
_LINE = Regex(
    r"^(?P<address>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.\d)\s+"
    r"(?P<kind>vga compatible controller|3d controller|display controller|processing accelerators)"
    r"(?: \[(?P<code>[0-9a-f]{4})\])?:\s*(?P<name>.*)$"
)
DRIVER = Regex(r"Kernel driver in use:\s{0,9}(\S+)")
_ID = Regex(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]")


@dataclass(frozen=True, kw_only=True)
class PciGpu:
    """One GPU on the PCI bus. `name` is the PCI database's: «GA102 [GeForce RTX 3090]»."""

    vendor: str
    pci_address: str
    name: str | None = None
    pci_id: str | None = None
    driver: str | None = None


def parse(text: str) -> tuple[PciGpu, ...]:
    """The GPUs of NVIDIA, AMD and Intel; those of servers' management chips and of hypervisors are left out."""
    found: list[PciGpu] = []
    current: dict[str, str | None] | None = None

    def close() -> None:
        if current:
            found.append(PciGpu(**current))  # type: ignore[arg-type]

    for line in text.splitlines():
        if match := _LINE.match(line.lower()):
            close()
            current = _device(line, match)
        elif re.match(r"^\S", line):
            close()
            current = None
        elif current and (driver := DRIVER.search(line)):
            current["driver"] = driver[1]
    close()
    return tuple(found)


_FILTER = Regex(r"\blspci\b[^\n|]{0,100}\|\s{0,5}(?:e|f)?grep\b(?P<words>[^\n]*)")


def shows_all(text: str) -> bool:
    """Whether the listing would hold a GPU if there were one: all devices, or a filter that lets every kind through.

    >>> shows_all("$ lspci | grep -i vga"), shows_all("$ lspci | grep -Ei 'vga|3d|display'"), shows_all("$ lspci")
    (False, True, True)
    """
    filters = [m["words"].lower() for m in _FILTER.finditer(text)]
    if filters:
        return any("3d" in words and "vga" in words for words in filters)
    return bool(re.search(r"\blspci\b", text)) or "Host bridge:" in text


def other_displays(text: str) -> bool:
    """Whether display devices are listed: a hypervisor's, or a server's management chip, if `parse` finds no GPU."""
    return any(
        m["kind"] != "processing accelerators" for s in text.splitlines() if (m := _LINE.match(s.strip().lower()))
    )


def _device(line: str, match: re.Match[str]) -> dict[str, str | None] | None:
    name = line[match.start("name") : match.end("name")]
    number = _ID.search(name.lower())
    vendor = VENDORS.get(number[1]) if number else next((v for word, v in _NAMES.items() if word in name.lower()), None)
    if vendor is None or (match["kind"] == "processing accelerators" and vendor != "amd"):
        return None
    address = match["address"]
    bare = re.sub(r"\s{0,3}(?:\[[0-9a-fA-F]{4}:[0-9a-fA-F]{4}\]|\(rev [0-9a-f]+\)|\(prog-if .*)", "", name).strip()
    bare = re.sub(
        r"^(NVIDIA Corporation|Intel Corporation|Advanced Micro Devices, Inc\.( \[AMD(/ATI)?\])?)\s*", "", bare
    )
    return {
        "vendor": vendor,
        "name": bare or None,
        "pci_id": f"{number[1]}:{number[2]}" if number else None,
        "driver": None,
        "pci_address": address if address.count(":") == 2 else f"0000:{address}",
    }

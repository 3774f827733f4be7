"""What a Mac's tools print: sw_vers, sysctl, vm_stat and system_profiler -json SPDisplaysDataType. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.decode import Refused, loads
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class MacGpu:
    """One GPU of system_profiler. `metal` is None where it says nothing of Metal."""

    name: str
    vendor: str | None = None  # apple, amd, intel, nvidia
    cores: int | None = None
    metal: bool | None = None
    memory_bytes: int | None = None
    integrated: bool | None = None


def parse(text: str) -> Mapping[str, str]:
    """The `Name:<tab>value` lines of sw_vers, and the `name: value` lines of sysctl, as they stand."""
    said = {}
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            said[key.strip()] = value.strip()
    return said


def product_version(text: str) -> str | None:
    """ProductVersion of sw_vers, with or without the other lines: "14.5"."""
    version = parse(text).get("ProductVersion") or text.strip()
    return version if re.fullmatch(r"\d+(\.\d+)*", version) else None


def displays(text: str) -> tuple[MacGpu, ...] | None:
    """The GPUs of system_profiler -json SPDisplaysDataType; None where that isn't what the text is."""
    try:
        said = loads(text)
    except Refused:
        return None
    listed = said.get("SPDisplaysDataType") if isinstance(said, dict) else None
    if not isinstance(listed, list):
        return None
    return tuple(_gpu(one) for one in listed if isinstance(one, dict))


def _gpu(said: Mapping[str, Any]) -> MacGpu:
    name = str(said.get("sppci_model") or said.get("_name") or "")
    words = f"{name} {said.get('spdisplays_vendor', '')}".lower()
    vendors = {"apple": "apple", "amd": "amd", "radeon": "amd", "intel": "intel", "nvidia": "nvidia"}
    cores = str(said.get("sppci_cores", ""))
    metal = (
        said.get("spdisplays_mtlgpufamilysupport")
        or said.get("spdisplays_metal")
        or said.get("spdisplays_metalfamily")
    )
    room = str(said.get("spdisplays_vram") or said.get("_spdisplays_vram") or "")
    memory = re.fullmatch(r"([0-9]{1,9}) (MB|GB)", room)
    bus = said.get("sppci_bus")
    return MacGpu(
        name=name,
        vendor=next((vendor for word, vendor in vendors.items() if word in words), None),
        cores=int(cores) if cores.isdecimal() and len(cores) < 9 else None,
        metal=None if metal is None else "notsupported" not in str(metal).lower(),
        memory_bytes=int(memory[1]) << (30 if memory[2] == "GB" else 20) if memory else None,
        integrated=None if bus is None else bus == "spdisplays_builtin",
    )

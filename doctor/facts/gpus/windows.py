"""Windows: one CIM query tells the system, its memory and the display adapters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from doctor.decode import Refused, loads
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.model.facts import ABSENT, Gpu

LIMIT_S = 15.0  # the first start of PowerShell after boot
SOURCE = "Get-CimInstance"
_QUERY = (
    "$o=Get-CimInstance Win32_OperatingSystem|Select-Object Caption,Version,BuildNumber,"
    "TotalVisibleMemorySize,FreePhysicalMemory;"
    "$g=@(Get-CimInstance Win32_VideoController|Select-Object Name,PNPDeviceID);"
    "$c=Get-CimInstance Win32_ComputerSystem|Select-Object Model,Manufacturer;"
    "$p=@(Get-CimInstance Win32_Processor|Select-Object Name)[0];"
    "ConvertTo-Json -Depth 3 -Compress @{os=$o;gpus=$g;computer=$c;cpu=$p}"
)
_VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}


def start(system: System, notes: Notes) -> Callable[[Notes], None]:
    """Start the query; the returned function writes host.* and gpus down."""
    child = system.start(["powershell", "-NoProfile", "-NonInteractive", "-Command", _QUERY], limit_s=LIMIT_S)

    def finish(notes: Notes) -> None:
        result = child.result()
        answer = _answer(result.stdout)
        if answer is None:
            for fact in ("host.os_name", "host.os_version", "host.windows_build", "host.memory_bytes", "gpus"):
                notes.unanswered(fact, result, SOURCE)
            return
        _write_host(answer, notes)
        listed = answer.get("gpus")
        found = tuple(gpu for one in (listed if isinstance(listed, list) else ()) if (gpu := gpu_of(_record(one))))
        notes.set("gpus.pci", found, SOURCE)

    return finish


def _answer(text: str) -> dict[str, Any] | None:
    try:
        answer = loads(text.lstrip("\ufeff"))
    except Refused:
        return None
    return answer if isinstance(answer, dict) else None


def _record(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _whole(value: object) -> int | None:
    digits = str(value or "")
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None


def _write_host(answer: dict[str, Any], notes: Notes) -> None:
    said = _record(answer.get("os"))
    caption = str(said.get("Caption") or "").removeprefix("Microsoft ").strip()
    notes.set("host.os_name", caption or None, SOURCE)
    notes.set("host.os_version", str(said["Version"]) if said.get("Version") else None, SOURCE)
    notes.set("host.windows_build", _whole(said.get("BuildNumber")), SOURCE)
    for fact, key in (
        ("host.memory_bytes", "TotalVisibleMemorySize"),
        ("host.memory_available_bytes", "FreePhysicalMemory"),
    ):
        kilobytes = _whole(said.get(key))
        notes.set(fact, None if kilobytes is None else kilobytes << 10, SOURCE)
    notes.set("host.cpu_model", str(_record(answer.get("cpu")).get("Name") or "").strip() or None, SOURCE)
    computer = _record(answer.get("computer"))
    words = f"{computer.get('Manufacturer', '')} {computer.get('Model', '')}".lower()
    kinds = {"vmware": "vmware", "virtualbox": "virtualbox", "qemu": "qemu", "kvm": "kvm", "virtual machine": "hyper-v"}
    notes.set("host.virtual_machine", next((kind for word, kind in kinds.items() if word in words), ABSENT), SOURCE)


def gpu_of(said: dict[str, Any]) -> Gpu | None:
    """One Win32_VideoController; None for the basic display adapter and virtual ones."""
    match = re.search(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", str(said.get("PNPDeviceID") or ""), re.I)
    vendor = _VENDORS.get(match[1].lower()) if match else None
    if not match or not vendor:
        return None
    name = str(said["Name"]) if said.get("Name") else None
    return Gpu(vendor=vendor, name=name, pci_id=f"{match[1]}:{match[2]}".lower())  # type: ignore[arg-type]

"""Windows: one CIM query tells the system, its memory and the display adapters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

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
        listed = answer.get("gpus") or []
        found = tuple(gpu for one in listed if (gpu := gpu_of(one)))
        notes.set("gpus.pci", found, SOURCE)

    return finish


def _answer(text: str) -> dict[str, Any] | None:
    try:
        answer = json.loads(text.lstrip("\ufeff"))
    except ValueError:
        return None
    return answer if isinstance(answer, dict) else None


def _write_host(answer: dict[str, Any], notes: Notes) -> None:
    said = answer.get("os") or {}
    caption = str(said.get("Caption") or "").removeprefix("Microsoft ").strip()
    notes.set("host.os_name", caption or None, SOURCE)
    notes.set("host.os_version", said.get("Version"), SOURCE)
    build = str(said.get("BuildNumber") or "")
    notes.set("host.windows_build", int(build) if build.isdigit() else None, SOURCE)
    for fact, key in (
        ("host.memory_bytes", "TotalVisibleMemorySize"),
        ("host.memory_available_bytes", "FreePhysicalMemory"),
    ):
        number = str(said.get(key) or "")
        notes.set(fact, int(number) << 10 if number.isdigit() else None, SOURCE)
    notes.set("host.cpu_model", str((answer.get("cpu") or {}).get("Name") or "").strip() or None, SOURCE)
    computer = answer.get("computer") or {}
    words = f"{computer.get('Manufacturer', '')} {computer.get('Model', '')}".lower()
    kinds = {"vmware": "vmware", "virtualbox": "virtualbox", "qemu": "qemu", "kvm": "kvm", "virtual machine": "hyper-v"}
    notes.set("host.virtual_machine", next((kind for word, kind in kinds.items() if word in words), ABSENT), SOURCE)


def gpu_of(said: dict[str, Any]) -> Gpu | None:
    """One Win32_VideoController; None for the basic display adapter and virtual ones."""
    match = re.search(r"VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})", str(said.get("PNPDeviceID") or ""), re.I)
    vendor = _VENDORS.get(match[1].lower()) if match else None
    if not match or not vendor:
        return None
    return Gpu(vendor=vendor, name=said.get("Name"), pci_id=f"{match[1]}:{match[2]}".lower())  # type: ignore[arg-type]

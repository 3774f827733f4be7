"""What the tools that describe a whole system print: systeminfo, wmic and wsl of Windows, system_profiler of macOS
(text and JSON), conda info, clinfo.

Windows counts drivers otherwise than NVIDIA does: the last five digits of «31.0.15.3667» are NVIDIA's 536.67.
"""

from __future__ import annotations

import re

from doctor.evidence import machine
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.formats import macos
from doctor.regex import Regex

RANK = Trust.TOOL
_SYSTEMINFO = Regex(r"^[ \t]*(OS Name|OS Version|System Type):[ \t]+(\S[^\n]*)$", re.M)
_WMIC = Regex(
    r"^[ \t]*(?:(\d+(?:\.\d+){3})[ \t]{2,}((?:NVIDIA|AMD|Intel)[^\n]+)|DriverVersion=(\d+(?:\.\d+){3})[ \t]*)$", re.M
)
_WSL = Regex(r"^[ \t]*\*[ \t]+\S+[ \t]+(?:Running|Stopped)[ \t]+([12])[ \t]*$", re.M)
_PROFILER = Regex(r"^[ \t]*(System Version|Kernel Version|Chipset Model):[ \t]*(\S[^\n]*)$", re.M)
_CLINFO = Regex(r"^[ \t]*Device Name[ \t]{2,}(\S[^\n]*)$", re.M)
_PROCESSOR = Regex(r"\b(?:CPU|Core|Xeon|EPYC|Ryzen|Processor|FPGA)\b")
_CONDA = Regex(
    r"^[ \t]*(active env location|python version|platform)[ \t]*:[ \t]*(\S[^\n]*)$|"
    r"(?:^[ \t]*|virtual packages : )(__\w+)=(\d[\w.]*)=",
    re.M,
)
_PLATFORMS = {"linux": "linux", "osx": "darwin", "win": "windows"}
_ARCHITECTURES = {"64": "x86_64", "arm64": "arm64", "aarch64": "arm64", "32": "x86", "ppc64le": "ppc64le"}


def read(document: Document, notes: Notes) -> None:
    """Note what is said of the system."""
    if document.has("os name:", "wmic", "driverversion", "wsl"):
        _windows(document, notes)
    if document.has("chipset model:", "system version: macos", "spdisplaysdatatype"):
        _profiler(document, notes)
    if document.has("clinfo", "platform name"):
        for m in _CLINFO.finditer(document.text):
            line = document.line_at(m.start())
            if not _PROCESSOR.search(m[1]):
                machine.note_gpu(m[1], notes, group="clinfo", source="clinfo", rank=Trust.LISTED, line=line)
    if document.has("conda version", "virtual packages"):
        _conda(document, notes)


def _windows(document: Document, notes: Notes) -> None:
    for m in _SYSTEMINFO.finditer(document.text):
        line = document.line_at(m.start())
        if m[1] == "OS Name":
            machine.note_os(m[2], notes, source="systeminfo", rank=RANK, line=line)
        elif m[1] == "OS Version" and (build := re.search(r"\bBuild (\d{5})", m[2])):
            notes.put("host.windows_build", int(build[1]), source="systeminfo", rank=RANK, line=line)
        elif m[1] == "System Type":
            arch = machine.architecture(m[2].split("-")[0])
            notes.put("host.architecture", arch, source="systeminfo", rank=RANK, line=line)
    for m in _WMIC.finditer(document.text):
        line = document.line_at(m.start())
        notes.put("host.system", "windows", source="wmic", rank=RANK, line=line)
        if m[2]:
            machine.note_gpu(m[2], notes, group="wmic", source="wmic", rank=RANK, line=line)
        if "NVIDIA" in (m[2] or document.lines[min(line + 1, len(document.lines) - 1)]):
            notes.put("nvidia.driver", nvidia_driver(m[1] or m[3]), source="wmic", rank=Trust.LISTED, line=line)
    for m in _WSL.finditer(document.text):
        notes.put("host.wsl", int(m[1]), source="wsl -l -v", rank=Trust.NAMED, line=document.line_at(m.start()))


def nvidia_driver(windows: str) -> str | None:
    """NVIDIA's number of a driver by Windows' one.

    >>> nvidia_driver("31.0.15.3667"), nvidia_driver("27.21.14.5671"), nvidia_driver("1.2")
    ('536.67', '456.71', None)
    """
    digits = "".join(windows.split(".")[-2:])[-5:]
    return f"{digits[:3]}.{digits[3:]}" if len(digits) == 5 and windows.count(".") == 3 else None


def _profiler(document: Document, notes: Notes) -> None:
    source = "system_profiler"
    for gpu in macos.displays(document.text) or ():
        notes.put("host.system", "darwin", source=source, rank=RANK)
        machine.note_gpu(gpu.name, notes, group=source, source=source, rank=RANK, line=None)
    for m in _PROFILER.finditer(document.text):
        line = document.line_at(m.start())
        if m[1] == "System Version":
            machine.note_os(m[2], notes, source=source, rank=Trust.COLLECTED, line=line)
        elif m[1] == "Kernel Version" and (kernel := re.match(r"Darwin (\d[\d.]*)", m[2])):
            notes.put("host.kernel", kernel[1], source=source, rank=RANK, line=line)
        else:
            machine.note_gpu(m[2], notes, group=source, source=source, rank=RANK, line=line)


def _conda(document: Document, notes: Notes) -> None:
    source = "conda info"
    for m in _CONDA.finditer(document.text):
        line = document.line_at(m.start())
        said = (m[2] or m[4]).strip()
        if m[1] == "python version":  # of the Python that runs conda, in most cases that of the base environment
            notes.understand(line)
        elif m[1] == "active env location":
            notes.put("interpreter.prefix", said, source=source, rank=Trust.LISTED, line=line)
            notes.put("interpreter.manager", "conda", source=source, rank=Trust.LISTED, line=line)
        elif m[1] == "platform":
            system, _, arch = said.partition("-")
            notes.put("host.system", _PLATFORMS.get(system), source=source, rank=RANK, line=line)
            notes.put("interpreter.architecture", _ARCHITECTURES.get(arch), source=source, rank=Trust.LISTED, line=line)
        elif m[3] == "__cuda":
            notes.put("nvidia.driver_cuda", said, source=source, rank=Trust.TOOL, line=line)
        elif m[3] == "__glibc":
            notes.put("host.libc", "glibc", source=source, rank=RANK, line=line)
            notes.put("host.libc_version", said, source=source, rank=RANK, line=line)
        elif m[3] == "__linux":
            notes.put("host.system", "linux", source=source, rank=Trust.LISTED, line=line)
            notes.put("host.kernel", said, source=source, rank=Trust.LISTED, line=line)
        elif m[3] == "__osx":
            notes.put("host.macos", said, source=source, rank=Trust.LISTED, line=line)
        else:
            notes.understand(line)

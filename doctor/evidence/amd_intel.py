"""What the tools of AMD's and Intel's stacks print: rocminfo, rocm-smi, amd-smi, rocm-sdk, groups; xpu-smi, sycl-ls,
clinfo."""

from __future__ import annotations

import re

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.regex import Regex
from doctor.evidence.text import Document
from doctor.model.facts import Gpu

_AGENT = Regex(r"^[ \t]*Name:[ \t]+(gfx[0-9a-f]{3,4})[ \t]*$", re.M)
_MARKETING = Regex(r"^[ \t]*Marketing Name:[ \t]*(\S[^\n]*)$", re.M)
_ROCM_SMI_ROW = Regex(r"^[ \t]*(\d{1,2})[ \t]+(?:\d+[ \t]+)?(?:0x[0-9a-f]+,?[ \t]+)?[\d.]+(?:°C|c)[ \t]", re.M)
_SERIES = Regex(r"(?:Card [Ss]eries|Card SKU|MARKET_NAME|Market Name|Device Name)[ \t]*:[ \t]*(\S[^\n]*)$", re.M)
_GFX = Regex(r"(?:GFX Version|TARGET_GRAPHICS_VERSION|gcnArchName)[ \t]*[:=][ \t]*[\"']?(gfx[0-9a-f]{3,4})", re.M)
_SDK = Regex(r"^[ \t]*((?:gfx[0-9a-f]{3,4};)+gfx[0-9a-f]{3,4}|gfx[0-9a-f]{3,4})[ \t]*$", re.M)
_ROCM = Regex(
    r"/opt/rocm-(\d+\.\d+(?:\.\d+)?)|ROCm version:?[ \t]*(\d+\.\d+(?:\.\d+)?)|^[ \t]*ROCM-SMI-LIB version: \S+ \| ROC"
    r"M version: (\d+\.\d+(?:\.\d+)?)",
    re.M | re.I,
)
_KFD_MISSING = Regex(r"/dev/kfd[^\n]{0,40}No such file or directory|cannot access '?/dev/kfd", needs=("/dev/kfd",))
_KFD_DENIED = Regex(r"/dev/kfd[^\n]{0,40}Permission denied", needs=("/dev/kfd",))
_SYCL = Regex(
    r"\[(?:ext_oneapi_)?level[_-]zero:gpu(?::\d+|\]\[level_zero:\d+)?\][^\n]{0,200}?(Intel\(R\) "
    r"(?!oneAPI|OpenCL|Level-Zero)[^\n,\[]{3,60})[ \t,\[]"
)
_XPU_SMI = Regex(r"Device Name:[ \t]*(Intel\(R\) [^|\n]{3,60}?)[ \t]{0,80}(?:\||$)", re.M)
_XPU_PROPERTIES = Regex(r"_XpuDeviceProperties\(name='([^'\n]{1,100})'")


def read(document: Document, notes: Notes) -> None:
    """Note what is said of AMD's and Intel's GPUs and drivers."""
    if document.has("rocm", "rock module", "kfd", "gfx", "amdgpu", "marketing name", "radeon", "amd-smi"):
        _amd(document, notes)
    if document.has("level_zero", "level-zero", "xpu-smi", "device name:", "_xpudeviceproperties"):
        _intel(document, notes)


def _amd(document: Document, notes: Notes) -> None:
    text = document.text

    def put(fact: str, value: object, m: re.Match[str], source: str, rank: Trust = Trust.TOOL) -> None:
        notes.put(fact, value, source=source, rank=rank, line=document.line_at(m.start()))

    low = document.lower
    if "rock module" in low:
        for m in re.finditer(r"ROCk module (?:version \S+ )?is (NOT )?loaded", text):
            put("amd.kernel_driver", not m[1], m, "rocminfo")
    for m in _KFD_MISSING.finditer(text):
        put("amd.kfd", False, m, "rocminfo")
    for m in _KFD_DENIED.finditer(text):
        put("amd.kfd", True, m, "rocminfo")
        put("amd.kfd_accessible", False, m, "rocminfo")
    names = [(m.start(), m[1].rstrip()) for m in _MARKETING.finditer(text)]
    for m in _AGENT.finditer(text):
        # In rocminfo's agents the marketing name follows; filtered by grep it may stand before.
        after = next((n for at, n in names if m.end() < at < m.end() + 300), None)
        before = next((n for at, n in reversed(names) if at < m.start()), None)
        notes.gpu(
            Gpu(vendor="amd", name=after or before, gfx=m[1]),
            group="rocminfo",
            rank=Trust.TOOL,
            source="rocminfo",
            line=document.line_at(m.start()),
        )
        put("amd.kernel_driver", True, m, "rocminfo", Trust.LISTED)
    if document.has("card series", "market_name", "market name"):
        for m in _SERIES.finditer(text):
            if re.search(r"amd|radeon|instinct|navi|vega|mi\d", m[1], re.I):
                notes.gpu(
                    Gpu(vendor="amd", name=m[1].rstrip()),
                    group="rocm-smi",
                    rank=Trust.TOOL,
                    source="rocm-smi",
                    line=document.line_at(m.start()),
                )
    if document.has("gfx version", "target_graphics_version", "gcnarchname"):
        for m in _GFX.finditer(text):
            notes.gpu(
                Gpu(vendor="amd", gfx=m[1]),
                group="gfx",
                rank=Trust.LISTED,
                source="rocm-smi",
                line=document.line_at(m.start()),
            )
    if "rocm system management" in low or "concise info" in low:
        for m in _ROCM_SMI_ROW.finditer(text):
            notes.gpu(
                Gpu(vendor="amd"),
                group="rocm-smi table",
                rank=Trust.TOOL,
                source="rocm-smi",
                line=document.line_at(m.start()),
            )
    if "gfx" in low and document.has("targets", "get_arch_list", "arch list"):
        for m in _SDK.finditer(text):
            if ";" in m[1]:
                put("torch.arch_list", tuple(m[1].split(";")), m, "rocm-sdk", Trust.LISTED)
    for m in _ROCM.finditer(text):
        put("amd.rocm", m[1] or m[2] or m[3], m, "ROCm", Trust.LISTED)


def _intel(document: Document, notes: Notes) -> None:
    for m in _SYCL.finditer(document.text):
        line = document.line_at(m.start())
        notes.put("intel.level_zero", True, source="sycl-ls", rank=Trust.TOOL, line=line)
        notes.gpu(
            Gpu(vendor="intel", name=re.sub(r" \d+(?:\.\d+){1,2}$", "", m[1].strip())),
            group="sycl-ls",
            rank=Trust.TOOL,
            source="sycl-ls",
            line=line,
        )
    for regex, source in ((_XPU_SMI, "xpu-smi"), (_XPU_PROPERTIES, "Python")):
        for m in regex.finditer(document.text):
            notes.gpu(
                Gpu(vendor="intel", name=m[1].strip()),
                group=source,
                rank=Trust.TOOL,
                source=source,
                line=document.line_at(m.start()),
            )

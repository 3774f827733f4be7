"""What the tools of AMD's and Intel's stacks print: rocminfo, rocm-smi, amd-smi, rocm-sdk; xpu-smi, sycl-ls."""

from __future__ import annotations

import re

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.says import Says, note
from doctor.evidence.text import Document
from doctor.formats import rocm
from doctor.model.facts import Gpu
from doctor.regex import Regex


def _amd(m: re.Match[str]) -> Gpu | None:
    """A GPU of rocm-smi by its name."""
    known = re.search(r"amd|radeon|instinct|navi|vega|mi\d", m[1], re.I)
    return Gpu(vendor="amd", name=m[1].rstrip()) if known else None


def _intel(m: re.Match[str]) -> Gpu:
    return Gpu(vendor="intel", name=re.sub(r" \d+(?:\.\d+){1,2}$", "", m[1].strip()))


_DRIVER = (
    Says(
        Regex(r"ROCk module (?:version \S+ )?is (NOT )?loaded"),
        "rocminfo", Trust.TOOL, {"amd.kernel_driver": lambda m: not m[1]}, words=("rock module",),
    ),
    Says(
        Regex(r"/dev/kfd[^\n]{0,40}No such file or directory|cannot access '?/dev/kfd"),
        "rocminfo", Trust.TOOL, {"amd.kfd": False},
    ),
    Says(
        Regex(r"/dev/kfd[^\n]{0,40}Permission denied"),
        "rocminfo", Trust.TOOL, {"amd.kfd": True, "amd.kfd_accessible": False},
    ),
)  # fmt: skip
_TOOLS = (
    Says(
        Regex(r"(?:Card [Ss]eries|Card SKU|MARKET_NAME|Market Name|Device Name)[ \t]*:[ \t]*(\S[^\n]*)$", re.M),
        "rocm-smi", Trust.TOOL, gpu=_amd, words=("card series", "market_name", "market name"),
    ),
    Says(
        Regex(r"(?:GFX Version|TARGET_GRAPHICS_VERSION|gcnArchName)[ \t]*[:=][ \t]*[\"']?(gfx[0-9a-f]{3,4})", re.M),
        "rocm-smi", Trust.LISTED, gpu=lambda m: Gpu(vendor="amd", gfx=m[1]), group="gfx",
        words=("gfx version", "target_graphics_version", "gcnarchname"),
    ),
    Says(
        Regex(r"^[ \t]*(\d{1,2})[ \t]+(?:\d+[ \t]+)?(?:0x[0-9a-f]+,?[ \t]+)?[\d.]+(?:°C|c)[ \t]", re.M),
        "rocm-smi", Trust.TOOL, gpu=lambda _: Gpu(vendor="amd"), group="rocm-smi table",
        words=("rocm system management", "concise info"),
    ),
    Says(
        Regex(r"^[ \t]*((?:gfx[0-9a-f]{3,4};)+gfx[0-9a-f]{3,4})[ \t]*$", re.M),
        "rocm-sdk", Trust.LISTED, {"torch.arch_list": lambda m: tuple(m[1].split(";"))},
        words=("targets", "get_arch_list", "arch list"),
    ),
    Says(
        Regex(
            r"/opt/rocm-(\d+\.\d+(?:\.\d+)?)|ROCm version:?[ \t]*(\d+\.\d+(?:\.\d+)?)|"
            r"^[ \t]*ROCM-SMI-LIB version: \S+ \| ROCM version: (\d+\.\d+(?:\.\d+)?)",
            re.M | re.I,
        ),
        "ROCm", Trust.LISTED, {"amd.rocm": "{1}{2}{3}"},
    ),
)  # fmt: skip
_OF_INTEL = (
    Says(
        Regex(
            r"\[(?:ext_oneapi_)?level[_-]zero:gpu(?::\d+|\]\[level_zero:\d+)?\][^\n]{0,200}?(Intel\(R\) "
            r"(?!oneAPI|OpenCL|Level-Zero)[^\n,\[]{3,60})[ \t,\[]"
        ),
        "sycl-ls", Trust.TOOL, {"intel.level_zero": True}, gpu=_intel,
    ),
    Says(
        Regex(r"Device Name:[ \t]*(Intel\(R\) [^|\n]{3,60}?)[ \t]{0,80}(?:\||$)", re.M),
        "xpu-smi", Trust.TOOL, gpu=lambda m: Gpu(vendor="intel", name=m[1].strip()),
    ),
    Says(
        Regex(r"_XpuDeviceProperties\(name='([^'\n]{1,100})'"),
        "Python", Trust.TOOL, gpu=lambda m: Gpu(vendor="intel", name=m[1].strip()),
    ),
)  # fmt: skip


def read(document: Document, notes: Notes) -> None:
    """Note what is said of AMD's and Intel's GPUs and drivers."""
    if document.has("rocm", "rock module", "kfd", "gfx", "amdgpu", "marketing name", "radeon", "amd-smi"):
        note(_DRIVER, document, notes)
        _rocminfo(document, notes)
        note(_TOOLS, document, notes)
    if document.has("level_zero", "level-zero", "xpu-smi", "device name:", "_xpudeviceproperties"):
        note(_OF_INTEL, document, notes)


def _rocminfo(document: Document, notes: Notes) -> None:
    for at, agent in rocm.agents(document.text):
        line = document.line_at(at)
        gpu = Gpu(
            vendor="amd", name=agent.name, gfx=agent.gfx, pci_id=agent.pci_id, pci_address=agent.pci_address,
            memory_bytes=agent.memory_bytes,
        )  # fmt: skip
        notes.gpu(gpu, group="rocminfo", rank=Trust.TOOL, source="rocminfo", line=line)
        notes.put("amd.kernel_driver", True, source="rocminfo", rank=Trust.LISTED, line=line)

"""`python -m torch.utils.collect_env`, in every form since torch 1.5: Yes/No, ROCm, XPU, Windows, vLLM's sections,
cut anywhere.

What its words mean, by torch/utils/collect_env.py:
  * «CUDA used to build PyTorch: None», «N/A» or «Could not collect» beside a known torch version: torch.version.cuda
    is None;
  * a version «N/A»: torch could not be imported, so nothing about its build is known;
  * «No CUDA»: torch sees no CUDA and neither nvidia-smi nor nvcc answered: this proves no absence of a GPU or of a
    driver;
  * «Could not collect»: the tool that was asked did not answer.
Source: https://github.com/pytorch/pytorch/blob/main/torch/utils/collect_env.py
"""

from __future__ import annotations

import re

from doctor.evidence import machine
from doctor.evidence.blocks import KEYS
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.model.facts import ABSENT, Gpu
from doctor.regex import Regex

SOURCE = "collect_env"
RANK = Trust.COLLECTED
UNKNOWN = ("Could not collect", "N/A", "No CUDA", "")

_LINE = Regex(r"^[ \t]*(?:[-*][ \t]+)?\**([A-Za-z][A-Za-z_ -]{1,40}?)\**[ \t]*:\**[ \t]*(.*)$")
_MARKS = ("pytorch version", "cuda used to build pytorch", "is cuda available", "gpu models and configuration",
          "nvidia driver version", "python platform", "versions of relevant libraries", "is debug build",
          "rocm used to build pytorch", "is xpu available", "cuda runtime version", "libc version:")  # fmt: skip
_NAMED_GPU = Regex(r"(?:GPU[ \t]*(\d+)[ \t]*:[ \t]*)?(.+?)(?:[ \t]{0,3}\(UUID: [^)]{0,60}\))?$")
_XPU = Regex(r"name='([^']{1,100})'.{0,200}total_memory=(\d+)MB")

# The same as JSON, with the names of the fields of its SystemEnv: sysinfo of the Stable Diffusion web UIs.
_FIELD = Regex(r"^[ \t]*\"([a-z_]{2,40})\"[ \t]*:[ \t]*(?:\"([^\"\n]{0,300})\"|null)", re.M)
_FIELDS = {
    "torch_version": "PyTorch version", "is_debug_build": "Is debug build",
    "cuda_compiled_version": "CUDA used to build PyTorch", "hip_compiled_version": "ROCM used to build PyTorch",
    "os": "OS", "libc_version": "Libc version", "python_version": "Python version",
    "python_platform": "Python platform", "is_cuda_available": "Is CUDA available",
    "cuda_runtime_version": "CUDA runtime version", "nvidia_gpu_models": "GPU models and configuration",
    "nvidia_driver_version": "Nvidia driver version", "cudnn_version": "cuDNN version",
    "is_xpu_available": "Is XPU available",
}  # fmt: skip


def read(document: Document, notes: Notes) -> None:
    """Note what collect_env says."""
    values: dict[str, tuple[str, int]] = {}
    if "\"torch_version\"" in document.text:
        for m in _FIELD.finditer(document.text):
            key, at = _FIELDS.get(m[1]), document.line_at(m.start())
            if key and m[2] is not None:  # null: nobody could tell
                values.setdefault(key, (m[2].strip(), at))
                if key == "GPU models and configuration":
                    _gpu_models(document.part(at, at + 1), notes, 0, m[2].split("\\n")[0].strip())
    elif not document.has(*_MARKS):
        return
    for i, line in enumerate(document.lines):
        if line.startswith("Collecting environment information"):
            notes.understand(i)
            continue
        match = _LINE.match(line)
        if match and match[1] in KEYS:
            notes.understand(i)
            values.setdefault(match[1], (match[2].strip(), i))
            if match[1] in _LISTS:
                _LISTS[match[1]](document, notes, i, match[2].strip())
    if not any(key.lower() in mark or mark in key.lower() for key in values for mark in _MARKS):
        return
    _torch(values, notes)
    _system(values, notes)
    _python(values, notes)
    _nvidia(values, notes)


def _torch(values: dict[str, tuple[str, int]], notes: Notes) -> None:
    version, line = values.get("PyTorch version", ("", 0))
    version = version.removeprefix("torch").lstrip(" =")  # where a person filled it in: «torch2.8.0+cu128»
    imported = version not in UNKNOWN and version[:1].isdigit()
    if version == "N/A":
        notes.put("torch.imports", False, source=SOURCE, rank=RANK, line=line)
    if imported:
        notes.put("torch.version", version.split()[0], source=SOURCE, rank=RANK, line=line)
        notes.put("torch.imports", True, source=SOURCE, rank=RANK, line=line)
    for key, fact in (("CUDA used to build PyTorch", "torch.cuda"), ("ROCM used to build PyTorch", "torch.hip")):
        if key not in values:
            continue
        said, line = values[key]
        if said[:1].isdigit():
            notes.put(fact, said.split()[0], source=SOURCE, rank=RANK, line=line)
        elif imported or said == "None":
            notes.put(fact, ABSENT, source=SOURCE, rank=RANK, line=line)
    flags = {
        "Is CUDA available": "torch.cuda_available",
        "Is debug build": "torch.debug",
        "Is XPU available": "torch.xpu_available",
    }
    for key, fact in flags.items():
        said, line = values.get(key, ("", 0))
        if said in ("True", "Yes", "False", "No"):
            notes.put(fact, said in ("True", "Yes"), source=SOURCE, rank=RANK, line=line)
    said, line = values.get("XPU used to build PyTorch", ("", 0))
    if said not in (*UNKNOWN, "None"):
        notes.put("torch.xpu", said.split()[0], source=SOURCE, rank=RANK, line=line)
    said, line = values.get("cuDNN version", ("", 0))
    if re.fullmatch(r"[\d.]+", said):
        notes.put("torch.cudnn", said, source=SOURCE, rank=RANK, line=line)


def _system(values: dict[str, tuple[str, int]], notes: Notes) -> None:
    said, line = values.get("OS", ("", 0))
    if said not in UNKNOWN:
        machine.note_os(said, notes, source=SOURCE, rank=RANK, line=line)
    said, line = values.get("Libc version", ("", 0))
    libc, _, version = said.partition("-")
    if (
        libc in ("glibc", "musl") and version and version != "2.9"
    ):  # «glibc-2.9» is what Python guesses if it can't tell
        notes.put("host.libc", libc, source=SOURCE, rank=RANK, line=line)
        notes.put("host.libc_version", version, source=SOURCE, rank=RANK, line=line)
    said, line = values.get("Python platform", ("", 0))
    if said not in UNKNOWN:
        machine.note_platform(said, notes, source=SOURCE, rank=RANK, line=line)


def _python(values: dict[str, tuple[str, int]], notes: Notes) -> None:
    said, line = values.get("Python version", ("", 0))
    if said not in UNKNOWN:
        machine.note_python(said, notes, source=SOURCE, rank=RANK, line=line)


def _nvidia(values: dict[str, tuple[str, int]], notes: Notes) -> None:
    said, line = values.get("Nvidia driver version", ("", 0))
    if match := re.match(r"\d{2,4}\.\d+(?:\.\d+)?", said):
        notes.put("nvidia.driver", match[0], source=SOURCE, rank=Trust.TOOL, line=line)
    elif said in ("Could not collect", "No CUDA"):
        notes.gap("nvidia.driver", f"collect_env says «{said}»: nvidia-smi did not answer", source=SOURCE)
    said, line = values.get("CUDA runtime version", ("", 0))
    if said[:1].isdigit():
        notes.put("nvidia.toolkit", said.split()[0], source=SOURCE, rank=Trust.TOOL, line=line)


def _gpu_models(document: Document, notes: Notes, at: int, first: str) -> None:
    """The GPUs on the line itself, or one a line below it."""
    rows = [(first, at)] if first else []
    for i in range(at + 1, min(at + 70, len(document.lines))):
        line = document.lines[i].strip()
        if line.startswith("GPU "):
            rows.append((line, i))
        elif line or rows:
            break
    if first in ("No CUDA", "Could not collect"):
        notes.gap("gpus", f"collect_env says «{first}»", source=SOURCE)
    for said, i in rows:
        match = _NAMED_GPU.match(said)
        if said in UNKNOWN or match is None:
            continue
        machine.note_gpu(match[2], notes, group=f"{SOURCE}{at}", source=SOURCE, rank=Trust.TOOL, line=i)


def _intel_models(document: Document, notes: Notes, at: int, first: str) -> None:
    for i in range(at, min(at + 20, len(document.lines))):
        line = document.lines[i].strip() if i > at else first
        if i > at and not line.startswith("*"):
            break
        notes.understand(i)
        name = line.lstrip("* ").strip()
        if match := _XPU.search(line):
            notes.gpu(
                Gpu(vendor="intel", name=match[1], memory_bytes=int(match[2]) << 20), group="xpu", rank=RANK,
                source=SOURCE, line=i,
            )
        elif (
            name
            and "name=" not in name
            and name not in UNKNOWN
            and not (re.match(r"\[?\d", name) and "Properties" in name)
        ):
            notes.gpu(Gpu(vendor="intel", name=name), group="onboard", rank=Trust.LISTED, source=SOURCE, line=i)


def _cpu(document: Document, notes: Notes, at: int, first: str) -> None:
    """The CPU section: lscpu's lines, one bare model name (macOS), or wmic's Name=…"""
    if first and first not in UNKNOWN:
        notes.put("host.cpu_model", first, source=SOURCE, rank=RANK, line=at)
        return
    for i in range(at + 1, min(at + 4, len(document.lines))):
        line = document.lines[i].strip()
        if line and line not in UNKNOWN and ":" not in line and "=" not in line and "[" not in line:
            notes.put("host.cpu_model", line, source=SOURCE, rank=RANK, line=i)
            return
        if line:
            return


_LISTS = {
    "GPU models and configuration": _gpu_models,
    "Intel GPU models onboard": _intel_models,
    "Intel GPU models detected": _intel_models,
    "CPU": _cpu,
}

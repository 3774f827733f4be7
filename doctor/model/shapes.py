"""What the texts and numbers of the model look like that are read further: versions, architectures, counts. Whoever
makes facts of foreign words keeps to them (doctor/decode.py), so that checks and tables can rely on them."""

from __future__ import annotations

import re

# PEP 440, https://packaging.python.org/en/latest/specifications/version-specifiers/
_VERSION = (
    r"(?ai)v?(\d{1,5}!)?\d{1,14}(\.\d{1,14}){0,8}([-_.]?(alpha|a|beta|b|preview|pre|c|rc)[-_.]?\d{0,14})?"
    r"(-\d{1,14}|[-_.]?(post|rev|r)[-_.]?\d{0,14})?([-_.]?dev[-_.]?\d{0,14})?(\+[a-z0-9]{1,60}([-_.][a-z0-9]{1,60}){0,9})?"
)
_PYTHON = r"(?a)\d{1,2}\.\d{1,3}(\.\d{1,5})?[\w.+]{0,20}"
_DOTTED = r"(?a)\d{1,9}(\.\d{1,9}){0,4}"
_CUDA = r"(?a)\d{1,3}\.\d{1,3}(\.\d{1,9}){0,2}"
_TOOLKIT = r"(?a)\d{1,9}(\.[\w-]{1,60}){0,4}"  # of XPU a date: 20250302
_CAPABILITY = r"(?a)\d{1,2}\.\d{1,2}"
_GFX = r"(?a)gfx[0-9a-f]{3,8}"
_PCI = r"(?a)[0-9a-fA-F]{4}:[0-9a-fA-F]{4}"
_BACKEND = r"(?a)[a-z]{1,20}"
KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.A)  # ids of checks, messages and plugins
_COUNT, _BYTES = range(1 << 16), range(1 << 60)

# Expressions that the whole text matches, compiled when first asked for; and ranges.
SHAPES: dict[tuple[str, str], str | range] = {
    ("Interpreter", "version"): _PYTHON,
    ("StartFailure", "version"): _PYTHON,
    ("Interpreter", "bits"): range(16, 129),
    ("OtherEnvironment", "torch"): rf"{_VERSION}|\(version not shown\)",
    ("Torch", "version"): _VERSION,
    ("Torch", "cuda"): _CUDA,
    ("Torch", "hip"): _TOOLKIT,
    ("Torch", "xpu"): _TOOLKIT,
    ("Torch", "cudnn"): _DOTTED,
    ("Torch", "threads"): _COUNT,
    ("TorchCopy", "version"): _VERSION,
    ("TorchDevice", "backend"): _BACKEND,
    ("TorchDevice", "index"): range(1024),
    ("TorchDevice", "capability"): _CAPABILITY,
    ("TorchDevice", "gfx"): _GFX,
    ("TorchDevice", "memory_bytes"): _BYTES,
    ("Package", "version"): _VERSION,
    ("DamagedFile", "version"): _VERSION,
    ("Package", "copies"): _COUNT,
    ("Gpu", "capability"): _CAPABILITY,
    ("Gpu", "gfx"): _GFX,
    ("Gpu", "pci_id"): _PCI,
    ("Gpu", "memory_bytes"): _BYTES,
    ("Gpu", "memory_used_bytes"): _BYTES,
    ("Nvidia", "driver"): _DOTTED,
    ("Nvidia", "driver_cuda"): _CUDA,
    ("Nvidia", "kernel_module"): _DOTTED,
    ("Nvidia", "library"): _DOTTED,
    ("Nvidia", "toolkit"): _CUDA,
    ("Nvidia", "cuinit"): range(-1, 100_000),
    ("Nvidia", "gpus_seen"): range(1024),
    ("Nvidia", "processes"): _COUNT,
    ("Amd", "rocm"): _TOOLKIT,
    ("Metal", "gpu_cores"): _COUNT,
    ("Host", "macos"): _DOTTED,
    ("Host", "libc_version"): _DOTTED,
    ("Host", "windows_build"): range(1 << 31),
    ("Host", "cpus"): _COUNT,
    ("Host", "cpus_usable"): _COUNT,
    ("Host", "memory_bytes"): _BYTES,
    ("Host", "memory_available_bytes"): _BYTES,
    ("Host", "disk_free_bytes"): _BYTES,
    ("Host", "shm_bytes"): _BYTES,
    ("Host", "cgroup_memory_bytes"): _BYTES,
    ("Host", "wsl"): range(1, 3),
    ("Facts", "as_of"): r"(?a)\d{4}-\d\d-\d\d|\d{4}(-\d\d)?",
}

"""What people paste: collect_env blocks for the examples of the checks."""

from __future__ import annotations

WORKING = """\
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.12.4 (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA L4
Nvidia driver version: 550.54.15
"""
_LINUX = {
    "os": "Ubuntu 22.04.4 LTS (x86_64)", "libc": "glibc-2.35",
    "python": "3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0]",
    "platform": "Linux-6.5.0-44-generic-x86_64-with-glibc2.35",
    "gpu": "GPU 0: NVIDIA GeForce RTX 4090", "driver": "550.90.07",
}  # fmt: skip
_WINDOWS = {
    **_LINUX, "os": "Microsoft Windows 11 Pro (10.0.22631 64-bit)", "libc": "N/A",
    "python": "3.10.11 (tags/v3.10.11:7d4cc5a, Apr  5 2023, 00:38:17) [MSC v.1929 64 bit (AMD64)]",
    "platform": "Windows-10-10.0.22631-SP0",
}  # fmt: skip
_MAC = {
    **_LINUX, "os": "macOS 14.5 (arm64)", "libc": "N/A", "platform": "macOS-14.5-arm64-arm-64bit", "gpu": "No CUDA",
    "driver": "No CUDA", "available": "False",
}  # fmt: skip
_SYSTEMS = {"linux": _LINUX, "windows": _WINDOWS, "mac": _MAC}


def collect_env(torch: str, system: str = "linux", **said: str) -> str:
    """The block that `python -m torch.utils.collect_env` prints; `said` replaces: os, libc, python, platform, gpu,
    driver, cuda, rocm, available, toolkit, libs (lines of packages)."""
    local = torch.partition("+")[2]
    cuda = f"{local[2:-1]}.{local[-1]}" if local.startswith("cu") else "None"
    values = {
        "cuda": cuda, "rocm": "N/A", "available": str(cuda != "None"), "toolkit": "Could not collect",
        "libs": f"[pip3] numpy==1.26.4\n[pip3] torch=={torch}", **_SYSTEMS[system], **said,
    }  # fmt: skip
    return f"""Collecting environment information...
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {values["cuda"]}
ROCM used to build PyTorch: {values["rocm"]}

OS: {values["os"]}
GCC version: Could not collect
Libc version: {values["libc"]}

Python version: {values["python"]} (64-bit runtime)
Python platform: {values["platform"]}
Is CUDA available: {values["available"]}
CUDA runtime version: {values["toolkit"]}
GPU models and configuration: {values["gpu"]}
Nvidia driver version: {values["driver"]}
cuDNN version: Could not collect

Versions of relevant libraries:
{values["libs"]}
"""

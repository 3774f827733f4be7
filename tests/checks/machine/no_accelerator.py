from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, mac, windows, with_nvidia, with_torch

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4

OS: Debian GNU/Linux 12 (bookworm) (x86_64)
Python version: 3.11.2 (main, Nov 30 2024, 21:22:50) [GCC 12.2.0] (64-bit runtime)
Is CUDA available: False
CUDA runtime version: No CUDA
GPU models and configuration: No CUDA
Nvidia driver version: No CUDA
cuDNN version: No CUDA
"""

BAD = {
    "a CPU build on a CPU server": Case(with_torch(linux(), "2.6.0+cpu"), severity="note"),
    "the default CUDA build on a CPU server": Case(
        with_torch(linux(), "2.6.0+cu124", cuda_available=False), severity="note"
    ),
    "Windows": Case(with_torch(windows(), "2.6.0+cpu", cuda_available=False), severity="note"),
    "a collect_env without a GPU": Case(COLLECT_ENV, severity="note"),
}
GOOD = {
    "an NVIDIA GPU": with_torch(with_nvidia(linux(), "NVIDIA L4"), "2.6.0+cu124", cuda_available=True),
    "a Mac": with_torch(mac(), "2.9.0", mps_available=True),
    "a Jetson": with_torch(linux(architecture="arm64", jetson="36.4.0"), "2.6.0"),
    "GPUs not looked for": with_torch(
        replace(linux(), gpus=None, nvidia=replace(linux().nvidia, driver=None)), "2.6.0+cpu"
    ),
}

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

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"

BAD = {
    "a notebook of Colab without a GPU": Case(f"The demo on Google Colab stops\n{NO_DRIVER}", severity="warning"),
    "Colab by its paths": Case(
        f'Traceback (most recent call last):\n  File "/content/app/gen.py", line 3, in <module>\n{NO_DRIVER}',
        severity="warning",
    ),
    "the GPU at home is not Colab's": Case(
        f"I have a Radeon RX 6600 in my PC.\nIn Colab this is shown:\n{NO_DRIVER}", severity="warning"
    ),
    "a CPU build on a CPU server": Case(with_torch(linux(), "2.6.0+cpu"), severity="note"),
    "the default CUDA build on a CPU server": Case(
        with_torch(linux(), "2.6.0+cu124", cuda_available=False), severity="note"
    ),
    "Windows": Case(with_torch(windows(), "2.6.0+cpu", cuda_available=False), severity="note"),
    "a collect_env without a GPU": Case(COLLECT_ENV, severity="note"),
}
GOOD = {
    "it works in Colab, and not here": f"I have a GTX 1080, it works in Colab but not here\n{NO_DRIVER}",
    "not in Colab": f"I want to train on my GTX 1080 instead of Colab, Ubuntu 18.04\n{NO_DRIVER}",
    "an NVIDIA GPU": with_torch(with_nvidia(linux(), "NVIDIA L4"), "2.6.0+cu124", cuda_available=True),
    "a Mac": with_torch(mac(), "2.9.0", mps_available=True),
    "a Jetson": with_torch(linux(architecture="arm64", jetson="36.4.0"), "2.6.0"),
    "GPUs not looked for": with_torch(
        replace(linux(), gpus=None, nvidia=replace(linux().nvidia, driver=None)), "2.6.0+cpu"
    ),
}

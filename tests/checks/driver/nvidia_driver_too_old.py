from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.example_case import Case
from tests.examples import linux, windows, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 4090"
OLD = (
    "UserWarning: CUDA initialization: The NVIDIA driver on your system is too old (found version {}). Please update your GPU driver by "
    "downloading and installing a new version from the URL: http://www.nvidia.com/Download/index.aspx"
)
TICKET = """\
RuntimeError: The NVIDIA driver on your system is too old (found version 11040). Please update your GPU driver

$ nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.141.03   Driver Version: 470.141.03   CUDA Version: 11.4     |
"""
COLLECT_ENV = """\
PyTorch version: 2.9.1+cu130
CUDA used to build PyTorch: 13.0
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.11.11 (main, Dec  4 2024, 08:55:07) [GCC 13.2.0] (64-bit runtime)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA A10G
Nvidia driver version: 535.183.01
"""

BAD = {
    "cu124 on a 470 driver, with an Ampere card": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 3090", driver="470.256.02"), "2.6.0+cu124", cuda_available=False
    ),
    "a driver older than the card": with_torch(with_nvidia(linux(), RTX, driver="470.57.02"), "2.6.0+cpu"),
    "torch says what it found": TICKET,
    "torch says it, and which driver is not known": with_error(
        linux(), "nvidia-driver-too-old-for-torch", OLD.format("11040")
    ),
    "cu130 on branch 535": COLLECT_ENV,
    "before CUDA 11 each version had its own driver": with_error(
        with_torch(
            with_nvidia(linux(), "GeForce GTX 1080", driver="435.21"), "1.7.1", cuda="10.2", cuda_available=False
        ),
        "nvidia-driver-too-old-for-torch",
        OLD.format("10010"),
    ),
    "PTX of a newer toolkit": with_error(
        with_nvidia(linux(), RTX, driver="525.60.13"),
        "ptx-unsupported-toolchain",
        "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain.",
    ),
    "the runtime says so": with_error(
        with_torch(with_nvidia(linux(), "Tesla V100-SXM2-16GB", driver="450.80.02"), "2.1.0+cu121"),
        "driver-insufficient-for-runtime",
        "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
    ),
    "WSL with an old Windows driver": with_torch(
        with_nvidia(linux(wsl=2), RTX, driver="522.25", kernel_module=ABSENT, libcuda="/usr/lib/wsl/lib/libcuda.so.1"),
        "2.9.1+cu130",
        cuda_available=False,
    ),
}
GOOD = {
    "minor-version compatibility": with_torch(
        with_nvidia(linux(), RTX, driver="535.104.05"), "2.6.0+cu124", cuda_available=True
    ),
    "Windows numbers": with_torch(with_nvidia(windows(), RTX, driver="528.33"), "2.6.0+cu124", cuda_available=True),
    "it works all the same (compatibility libraries)": with_torch(
        with_nvidia(linux(container="docker"), "NVIDIA A100-SXM4-80GB", driver="470.256.02"),
        "2.6.0+cu124",
        cuda_available=True,
    ),
    "WSL, by the numbers of Windows": with_torch(
        with_nvidia(linux(wsl=2), RTX, driver="551.86", kernel_module=ABSENT, libcuda="/usr/lib/wsl/lib/libcuda.so.1"),
        "2.6.0+cu124",
        cuda_available=True,
    ),
    "no driver": with_torch(with_nvidia(linux(), RTX, driver=ABSENT), "2.6.0+cu124"),
    "the driver is not known": with_torch(
        replace(linux(), gpus=None, nvidia=replace(linux().nvidia, driver=None)), "2.6.0+cu124"
    ),
    "a container without a GPU": Case(
        with_error(
            linux(container="docker"),
            "driver-insufficient-for-runtime",
            "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
        )
    ),
}
BAD["the container toolkit refuses the image"] = """\
docker: Error response from daemon: failed to create task for container: OCI runtime create failed: error running prestart hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.6, please update your driver to a newer version, or use an earlier cuda container: unknown.
"""

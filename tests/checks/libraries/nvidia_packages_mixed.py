from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_packages, with_torch

PINS = ("nvidia-cudnn-cu12==9.1.0.70", "nvidia-nccl-cu12==2.21.5")
machine = with_nvidia(linux(), "NVIDIA GeForce RTX 4090")
NCCL = "ImportError: libtorch_cuda.so: undefined symbol: ncclCommResume"

BAD = {
    "an upgraded cuDNN, with its error": with_error(
        with_torch(with_packages(machine, nvidia_cudnn_cu12="9.10.2.21"), "2.6.0+cu124", requires=PINS),
        "cudnn-version-mismatch", "RuntimeError: cuDNN version incompatibility",
    ),
    "without an error": Case(
        with_torch(with_packages(machine, nvidia_cudnn_cu12="9.10.2.21"), "2.6.0+cu124", requires=PINS, cuda_available=True),
        severity="warning",
    ),
    "cu12 beside cu13": with_error(
        with_packages(linux(), nvidia_nccl_cu12="2.29.3", nvidia_nccl_cu13="2.29.7"), "exception", NCCL, "ImportError"
    ),
    "what pip says": Case(
        with_error(
            linux(), "requires-other-nvidia-package", "torch 2.6.0 requires nvidia-cudnn-cu12==9.1.0.70, but you have nvidia-cudnn-cu12 9.10.2.21 which is incompatible."
        ),
        severity="warning",
    ),
    'pasted: RuntimeError: cuDNN version incompatibility: PyTorch was com': (
        "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed. This behaviour is the source of the following dependency conflicts.\n"
        'torch 2.5.1+cu124 requires nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux" and platform_machine == "x86_64", but you have nvidia-cudnn-cu12 9.10.2.21 which is incompatible.\n'
        '\n'
        'RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (9, 1, 0) but found runtime version (9, 10, 2).\n'
    ),
}  # fmt: skip
GOOD = {
    "as pinned": with_torch(with_packages(machine, nvidia_cudnn_cu12="9.1.0.70"), "2.6.0+cu124", requires=PINS, cuda_available=True),
    "two families, and nothing wrong": with_torch(
        with_packages(machine, nvidia_nccl_cu12="2.21.5", nvidia_nccl_cu13="2.27.7"), "2.6.0+cu124", requires=PINS, cuda_available=True
    ),
    "another copy on the path": with_error(
        replace(linux(), environ={"LD_LIBRARY_PATH": "/opt/conda/lib"}), "exception",
        "ImportError: libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12",
    ),
}  # fmt: skip

from dataclasses import replace

from tests.examples import linux, with_error, with_nvidia, with_torch

MISMATCH = (
    "The detected CUDA version (10.1) mismatches the version that was used to compile PyTorch (11.3). Please make sure"
)
machine = with_nvidia(linux(), "NVIDIA GeForce RTX 4090")

BAD = {
    "nvcc 10.1 for torch 11.3": with_error(with_torch(machine, "1.10.2+cu113"), "e118", MISMATCH),
    "no toolkit": with_error(
        with_torch(machine, "2.6.0+cu124"), "e119", "OSError: CUDA_HOME environment variable is not set"
    ),
    "nvcc does not know the GPU": with_error(
        machine, "e120", "nvcc fatal   : Unsupported gpu architecture 'compute_89'"
    ),
}
GOOD = {
    "a toolkit of another version, and nothing is being built": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 3090", toolkit="12.6"), "2.4.1+cu124", cuda_available=True
    ),
    "nvcc beside a CPU torch": with_torch(
        replace(linux(), nvidia=replace(linux().nvidia, toolkit="12.4")), "2.13.0+cpu"
    ),
}

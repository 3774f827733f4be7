from dataclasses import replace

from tests.examples import linux, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

MISMATCH = (
    "The detected CUDA version (10.1) mismatches the version that was used to compile PyTorch (11.3). Please make sure"
)
machine = with_nvidia(linux(), "NVIDIA GeForce RTX 4090")

BAD = {
    "nvcc 10.1 for torch 11.3": with_error(with_torch(machine, "1.10.2+cu113"), "build-cuda-differs", MISMATCH),
    "no toolkit": with_error(
        with_torch(machine, "2.6.0+cu124"), "cuda-home-not-set", "OSError: CUDA_HOME environment variable is not set"
    ),
    "nvcc does not know the GPU": with_error(
        machine, "nvcc-unsupported-architecture", "nvcc fatal   : Unsupported gpu architecture 'compute_89'"
    ),
    "pasted: RuntimeError:": (
        "RuntimeError:\n"
        "The detected CUDA version (12.4) mismatches the version that was used to compile\n"
        "PyTorch (11.8). Please make sure to use the same CUDA versions.\n"
    ),
    "pasted: error: subprocess-exited-with-error": (
        "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root.\n"
        "[end of output]\n"
        "error: subprocess-exited-with-error\n" + collect_env("2.3.1+cu121")
    ),
    "pasted: nvcc fatal : Unsupported gpu architecture 'compute_120'": (
        "nvcc fatal   : Unsupported gpu architecture 'compute_120'\nninja: build stopped: subcommand failed.\n"
    ),
    "pasted: /usr/local/cuda/include/crt/host_config.h:132:2: error: #err": (
        "/usr/local/cuda/include/crt/host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 11 are not supported!\n"
    ),
    "pasted: × python setup.py bdist_wheel did not run successfully.": (
        "RuntimeError: \n"
        "The detected CUDA version (11.2) mismatches the version that was used to compile\n"
        "PyTorch (12.1). Please make sure to use the same CUDA versions.\n"
        "error: subprocess-exited-with-error\n"
        "× python setup.py bdist_wheel did not run successfully.\n"
    ),
    "pasted: DeepSpeed refuses another toolkit": (
        "Exception: >- DeepSpeed Op Builder: Installed CUDA version 9.1 does not match the version torch was compiled with 11.8, unable to compile\n"
    ),
    "pasted: a header of the toolkit is missing": (
        "torch/include/c10/cuda/CUDAStream.h:5:10: fatal error: cuda_runtime_api.h: No such file or directory\n"
    ),
    "pasted: no nvcc where CUDA_HOME says": (
        "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'\n"
    ),
}
GOOD = {
    "pasted: a Mac": "macOS 14, Apple M1\nOSError: CUDA_HOME environment variable is not set.\n",
    "a toolkit of another version, and nothing is being built": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 3090", toolkit="12.6"), "2.4.1+cu124", cuda_available=True
    ),
    "nvcc beside a CPU torch": with_torch(
        replace(linux(), nvidia=replace(linux().nvidia, toolkit="12.4")), "2.13.0+cpu"
    ),
    "DeepSpeed accepts another minor version": (
        "Installed CUDA version 11.7 does not match the version torch was compiled with 11.8 but since the APIs are compatible, accepting this combination\n"
    ),
    "no nvcc, and nothing is being built": (
        "bash: nvcc: command not found\n"
    ),
}

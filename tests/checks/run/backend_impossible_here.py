from dataclasses import replace

from tests.examples import linux, mac, of_a_text, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

NO_CUDA = "AssertionError: Torch not compiled with CUDA enabled"
MPS = "RuntimeError: Expected one of cpu, cuda device type at start of device string: mps"

BAD = {
    "NCCL on Windows": (
        "On Windows 11 torchrun ends with\nRuntimeError: Distributed package doesn't have NCCL built in\n"
    ),
    "somebody asks how to do without a GPU": (
        "Can I run this without a GPU?\n"
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
    ),
    "CUDA on a machine whose Intel GPU torch uses": (
        "AssertionError: Torch not compiled with CUDA enabled\n"
        "Python platform: Linux-5.15.0-153-generic-x86_64-with-glibc2.35\n"
        "Is CUDA available: False\n"
        "Is XPU available: True\n"
        "XPU used to build PyTorch: 20250201\n"
        "* [0] _XpuDeviceProperties(name='Intel(R) Data Center GPU Max 1100', platform_name='Level-Zero')\n"
    ),
    "xformers on a Mac": (
        "On a Mac M1:\n"
        "WARNING[XFORMERS]: xFormers can't load C++/CUDA extensions. xFormers was built for:\n"
        "    PyTorch 2.0.1 with CUDA 1106 (you have 2.0.1)\n"
    ),
    "CUDA on a Mac": of_a_text(
        with_error(with_torch(mac(), "2.0.0", mps_available=True), "not-compiled-with-cuda", NO_CUDA)
    ),
    "CUDA on a machine without a GPU": of_a_text(
        with_error(with_torch(linux(), "2.6.0+cpu"), "not-compiled-with-cuda", NO_CUDA)
    ),
    "MPS on Linux": of_a_text(with_error(with_torch(linux(), "1.11.0+cpu"), "exception", MPS)),
    "pasted: AssertionError: Torch not compiled with CUDA enabled": (
        "AssertionError: Torch not compiled with CUDA enabled\n" + collect_env("2.3.0", "mac")
    ),
    "pasted: RuntimeError: Found no NVIDIA driver on your system. Please ": (
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver\n"
        "% uname -a\n"
        "Darwin mbp.local 23.5.0 Darwin Kernel Version 23.5.0 RELEASE_ARM64_T6000 arm64\n"
    ),
}
GOOD = {
    "torchdoctor itself asked for CUDA": with_torch(
        linux(), "2.6.0+cu124", cuda_available=False, cuda_error="Found no NVIDIA driver on your system."
    ),
    "a GPU is there": of_a_text(
        with_error(
            with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cpu"), "not-compiled-with-cuda", NO_CUDA
        )
    ),
    "the GPUs are not known": of_a_text(
        with_error(replace(with_torch(linux(), "2.6.0+cpu"), gpus=None), "not-compiled-with-cuda", NO_CUDA)
    ),
    "nothing was asked": with_torch(mac(), "2.6.0", mps_available=True),
}

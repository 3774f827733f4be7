from dataclasses import replace

from tests.examples import device, linux, windows, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

SM_120 = "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation"
TO_SM_90 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")

BAD = {
    "RTX 5090 on cu124": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 5090", driver="580.65.06", capability="12.0"), "2.6.0+cu124", cuda_available=True
    ),
    "by torch's own list": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 5090", driver="580.65.06"), "2.6.0+cu126", cuda_available=True,
        arch_list=TO_SM_90, devices=(device("cuda", "NVIDIA GeForce RTX 5090", capability="12.0"),),
    ),
    "H100 on CUDA 11.7": with_torch(with_nvidia(linux(python="3.10.12"), "NVIDIA H100 PCIe"), "1.13.1+cu117", cuda_available=True),
    "RTX 3090 on CUDA 10.2": with_torch(
        with_nvidia(linux(python="3.8.10"), "NVIDIA GeForce RTX 3090"), "1.8.1+cu102", cuda_available=True
    ),
    "the warning alone": with_error(replace(linux(), gpus=None), "capability-too-new", SM_120, "120"),
    "no kernel image on Windows": with_error(
        with_torch(with_nvidia(windows(), "NVIDIA GeForce RTX 5070 Ti", driver="576.52"), "2.5.1+cu124", cuda_available=True),
        "no-kernel-image", "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    ),
    'pasted: collect_env': (
        collect_env('2.5.1+cu124', driver='572.16', gpu='GPU 0: NVIDIA GeForce RTX 5080')
    ),
    'pasted: RuntimeError: CUDA error: no kernel image is available for e': (
        'NVIDIA GeForce RTX 5060 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n'
        'The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90.\n'
        'RuntimeError: CUDA error: no kernel image is available for execution on the device\n'
    ),
    "pasted: nvrtc does not know the GPU, and neither does the text": (
        "PyTorch version 1.10.0+cu113\nDevice count 1\n"
        "RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)\n"
    ),
    'pasted: RuntimeError: nvrtc: error: invalid value for --gpu-architec': (
        'RuntimeError: nvrtc: error: invalid value for --gpu-architecture (-arch)\n'
        'GPU 0: NVIDIA H100 80GB HBM3\n'
        'torch 1.12.1+cu116\n'
    ),
    'pasted: NVIDIA RTX PRO 6000 Blackwell Workstation Edition with CUDA ': (
        '/usr/lib/python3.11/site-packages/torch/cuda/__init__.py:230: UserWarning: \n'
        'NVIDIA RTX PRO 6000 Blackwell Workstation Edition with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n'
        'The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n'
    ),
    "pasted: RuntimeError: ptxas fatal : Value 'sm_120a' is not defined f": (
        "RuntimeError: ptxas fatal   : Value 'sm_120a' is not defined for option 'gpu-name'\n"
        + collect_env('2.6.0+cu124', driver='570.86.10', gpu='GPU 0: NVIDIA GeForce RTX 5090')
    ),
    'pasted: RuntimeError: CUDA error: no kernel image is available for e, 2': (
        'PyTorch version: 1.8.1+cu102\n'
        'GPU 0: NVIDIA A100-SXM4-40GB\n'
        'RuntimeError: CUDA error: no kernel image is available for execution on the device\n'
    ),
    'pasted: GeForce RTX 3070 with CUDA capability sm_86 is not compatibl': (
        'GeForce RTX 3070 with CUDA capability sm_86 is not compatible with the current PyTorch installation.\n'
        'The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_61 sm_70 sm_75 compute_37.\n'
    ),
}  # fmt: skip
GOOD = {
    "RTX 5090 on cu128": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 5090", capability="12.0"), "2.7.1+cu128", cuda_available=True
    ),
    "8.9 runs code for 8.6": with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.1.2+cu121", cuda_available=True),
    "12.1 runs code for 12.0, whatever the warning says": with_error(
        with_torch(
            with_nvidia(linux(architecture="arm64"), "NVIDIA GB10", driver="580.95.05", capability="12.1"), "2.9.1+cu130",
            cuda_available=True, arch_list=("sm_80", "sm_90", "sm_100", "sm_110", "sm_120"),
        ),
        "warning", "Found GPU0 NVIDIA GB10 which is of cuda capability 12.1.",
    ),
    "PTX of an older generation": with_torch(
        with_nvidia(linux(), "NVIDIA H100 PCIe", capability="9.0"), "2.0.0+cu117", cuda_available=True,
        arch_list=("sm_80", "compute_80"),
    ),
    "a build and a GPU that the tables don't know": with_torch(with_nvidia(linux(), "NVIDIA Something 1"), "9.9.9+cu199"),
}  # fmt: skip
GOOD["an instruction that only newer GPUs have"] = """\
GeForce RTX 2080 Ti
RuntimeError: Internal Triton PTX codegen error
ptxas /tmp/a.ptx, line 217; error   : Feature '.bf16' requires .target sm_80 or higher
"""
GOOD["an option of the compiler"] = """\
pycuda.driver.CompileError: nvcc --cubin --ptxas-options=-v -arch sm_61 -m64
nvcc fatal   : Cannot find compiler 'cl.exe' in PATH
"""

from dataclasses import replace

from tests.examples import linux, with_amd, with_error, with_torch

NO_FUNCTION = "RuntimeError: HIP error: invalid device function"

BAD = {
    "gfx1103, its error shown": with_error(
        with_torch(with_amd(linux(), "AMD Radeon 780M", gfx="gfx1103"), "2.8.0+rocm6.4", cuda_available=True), "hip-invalid-device-function", NO_FUNCTION
    ),
    "the build is not known": with_error(with_amd(linux(), "AMD Radeon 780M", gfx="gfx1103"), "hip-invalid-device-function", NO_FUNCTION),
    "by torch's own list": with_torch(
        with_amd(linux(), "AMD Radeon RX 6700 XT", gfx="gfx1031"), "2.8.0+rocm6.4", cuda_available=True,
        arch_list=("gfx900", "gfx90a", "gfx1030", "gfx1100"),
    ),
    "the message alone": with_error(replace(linux(), gpus=None), "rocblas-tensile-library", "rocBLAS error: Cannot read TensileLibrary.dat: Illegal seek"),
    'pasted: HIP kernel errors might be asynchronously reported at some o': (
        '$ rocminfo | grep gfx\n'
        '  Name:                    gfx1010\n'
        '>>> torch.__version__\n'
        "'2.4.1+rocm6.1'\n"
        'RuntimeError: HIP error: invalid device function\n'
        'HIP kernel errors might be asynchronously reported at some other API call\n'
    ),
    'pasted: rocBLAS error: Cannot read /home/user/venv/lib/python3.10/si': (
        'rocBLAS error: Cannot read /home/user/venv/lib/python3.10/site-packages/torch/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1032\n'
        ' List of available TensileLibrary Files :\n'
    ),
    'pasted: hipErrorNoBinaryForGpu: Unable to find code object for all c': (
        'hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\n'
        'Aborted (core dumped)\n'
        '$ lspci | grep VGA\n'
        '06:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 23 [Radeon RX 6600/6600 XT/6600M]\n'
    ),
}  # fmt: skip
GOOD = {
    "in the list": with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.7.0+rocm6.3", cuda_available=True),
    "the override is set": with_torch(
        replace(with_amd(linux(), "AMD Radeon RX 6700 XT", gfx="gfx1031"), environ={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        "2.8.0+rocm6.4", cuda_available=True, arch_list=("gfx900", "gfx1030", "gfx1100"),
    ),
    "a CUDA build": with_torch(with_amd(linux(), "AMD Radeon RX 6700 XT", gfx="gfx1031"), "2.8.0+cu128"),
}  # fmt: skip

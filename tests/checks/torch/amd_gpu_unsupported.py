from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, windows, with_amd, with_error, with_nvidia, with_torch

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

BAD["pasted: an invalid instruction set"] = (
    "torch 2.6.0+rocm6.2.4\n$ rocminfo | grep gfx\n  Name:                    gfx1103\n"
    ":0:rocdevice.cpp :3596: 998574369737 us: Callback: Queue 0x7daa52e00000 aborting with error : "
    "HSA_STATUS_ERROR_INVALID_ISA: The instruction set architecture is invalid. code: 0x100f\n"
)


def cpu_build(facts, name: str, gfx: str):
    return Case(with_torch(with_amd(facts, name, gfx=gfx), "2.6.0+cpu", cuda_available=False), severity="note")


BAD["no build serves an RX 580"] = cpu_build(linux(), "AMD Radeon RX 580", "gfx803")
BAD["no build serves the graphics of a Ryzen"] = cpu_build(linux(), "AMD Renoir", "gfx90c")
BAD["no build serves an RX 5700 XT"] = cpu_build(linux(), "AMD Radeon RX 5700 XT", "gfx1010")
BAD["only AMD's own index serves a Radeon on Windows"] = cpu_build(windows(), "AMD Radeon RX 7900 XTX", "gfx1100")
BAD["a CUDA build beside a GPU that no build serves"] = Case(
    with_torch(with_amd(linux(), "AMD Radeon RX 580", gfx="gfx803"), "2.6.0+cu124", cuda_available=False),
    severity="note",
)
BAD["pasted: a Radeon that no build serves"] = Case(
    "$ lspci | grep VGA\n"
    "01:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 10 [Radeon RX 5600 OEM/5600 XT / 5700/5700 XT] (rev c1)\n"
    "$ python3 -c 'import torch; print(torch.__version__, torch.cuda.is_available())'\n2.6.0+cpu False\n",
    severity="note",
)
GOOD["a GPU that a build serves, with a CPU build"] = with_torch(
    with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+cpu", cuda_available=False
)
GOOD["beside an NVIDIA GPU"] = with_torch(
    with_amd(with_nvidia(linux(), "NVIDIA L4"), "AMD Renoir", gfx="gfx90c"), "2.6.0+cu124", cuda_available=True
)

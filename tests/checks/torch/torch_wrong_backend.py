from dataclasses import replace

from doctor.model.facts import Gpu, InstallAttempt
from tests.examples import linux, with_amd, with_nvidia, with_torch
from tests.tickets import collect_env

ROCM = InstallAttempt(
    tool="pip",
    command="pip install torch --index-url https://download.pytorch.org/whl/rocm6.3",
    requirements=("torch",),
    indexes=("https://download.pytorch.org/whl/rocm6.3",),
    failed=False,
)
intel = replace(
    linux(), gpus=(Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics", driver="xe", integrated=False),)
)

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
BAD = {
    "a Radeon in a sentence, and what only a CUDA build says": (
        "The PC has an AMD RX 550.\n"
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver\n"
    ),
    "only the maker is said": f"my graphics are AMD, Fedora 40\n{NO_DRIVER}",
    "a container that was given an AMD GPU": f"docker run -it --device=/dev/kfd --device=/dev/dri my/app\n{NO_DRIVER}",
    "a ROCm torch was installed first": (
        f"pip install torch --index-url https://download.pytorch.org/whl/rocm6.2\nthen the app:\n{NO_DRIVER}"
    ),
    "a variable of ROCm": f"HSA_OVERRIDE_GFX_VERSION=10.3.0 python main.py\n{NO_DRIVER}",
    "an APU in a container, with a CUDA build": (
        "the rocm image on an AMD APU (gfx1150, Radeon 890M)\nin the container:\n"
        f"$ python -c 'import torch; print(torch.__version__, torch.version.hip)'\n2.12.0+cu130 None\n{NO_DRIVER}"
    ),
    "CUDA beside a Radeon": with_torch(
        with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+cu124", cuda_available=False
    ),
    "ROCm beside a GeForce": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+rocm6.2.4", cuda_available=False
    ),
    "CUDA beside an Arc": with_torch(intel, "2.8.0+cu128", cuda_available=False),
    "pip left the CUDA build in place": replace(
        with_torch(linux(python="3.13.1"), "2.7.1+cu126", cuda_available=False), attempts=(ROCM,), gpus=None
    ),
    "pasted: RuntimeError: Found no NVIDIA driver on your system. Please ": (
        "$ lspci | grep -i vga\n"
        "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX] (rev c8)\n"
        "\n"
        ">>> torch.__version__\n"
        "'2.6.0+cu124'\n"
        ">>> torch.cuda.is_available()\n"
        "False\n"
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx\n"
    ),
    "pasted: collect_env": (
        collect_env("2.7.0+rocm6.3", cuda="N/A", rocm="6.3.42131-fa1d09cbd", gpu="GPU 0: NVIDIA GeForce RTX 3090")
    ),
    "pasted: Name: gfx1201": (
        ">>> torch.__version__\n"
        "'2.8.0+cu128'\n"
        ">>> torch.cuda.is_available()\n"
        "False\n"
        "$ rocminfo | grep -E 'Name:.*gfx|Marketing'\n"
        "  Marketing Name:          AMD Radeon RX 9070 XT\n"
        "  Name:                    gfx1201\n"
    ),
    "pasted: False": (
        "$ xpu-smi discovery\n"
        "| 0         | Device Name: Intel(R) Arc(TM) A770 Graphics                                          |\n"
        ">>> torch.__version__\n"
        "'2.6.0+cu124'\n"
        ">>> torch.xpu.is_available()\n"
        "False\n"
    ),
}
GOOD = {
    "AMD made the CPU": f"AMD EPYC server, Debian 12\n{NO_DRIVER}",
    "an AMD CPU with a GeForce": f"AMD CPU with an NVIDIA GPU (GTX 1660), Debian\n{NO_DRIVER}",
    "graphics in an Intel CPU": f"a laptop with Intel UHD graphics, Ubuntu 22.04\n{NO_DRIVER}",
    "a Radeon and a GeForce in sentences": (
        "The PC has an AMD RX 550, and an RTX 3060.\n"
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver\n"
    ),
    "ROCm on a Radeon": with_torch(
        with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+rocm6.2.4", cuda_available=True
    ),
    "CUDA build, no GPU": with_torch(linux(), "2.6.0+cu124", cuda_available=False),
    "CUDA build, Intel graphics in the processor": with_torch(
        replace(linux(), gpus=(Gpu(vendor="intel", name="Iris Xe Graphics", integrated=True),)), "2.6.0+cu124"
    ),
    "a GeForce beside AMD graphics in the processor": with_torch(
        replace(
            with_nvidia(linux(), "NVIDIA GeForce RTX 4090"),
            gpus=(
                Gpu(vendor="amd", name="Raphael", gfx="gfx1036", integrated=True),
                Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 4090"),
            ),
        ),
        "2.6.0+cu124",
        cuda_available=True,
    ),
}

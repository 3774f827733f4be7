from dataclasses import replace

from tests.examples import linux, with_nvidia, with_torch


def jetson(l4t: str):
    facts = linux(python="3.10.12", architecture="arm64")
    return replace(facts, host=replace(facts.host, jetson=l4t))


BAD = {
    "a sentence names the Jetson and says False": (
        "pytorch on a jetson xavier NX: with pip, torch.cuda.is_available() is false.\n"
    ),
    "a CPU wheel on Orin": with_torch(jetson("36.4.0"), "2.9.0+cpu", cuda_available=False),
    "the package index's wheel on Xavier": with_torch(jetson("35.4.1"), "2.1.0", cuda_available=False),
    "its GPU is named, too": with_torch(with_nvidia(jetson("35.4.1"), "Orin (nvgpu)", capability="8.7"), "2.4.0+cpu"),
    "a server CUDA build on Orin": with_torch(
        jetson("36.4.0"), "2.9.0+cu126", cuda_available=False, arch_list=("sm_80", "sm_90")
    ),
    "pasted: 2.1.0 False": (
        "$ cat /etc/nv_tegra_release\n"
        "# R35 (release), REVISION: 3.1, GCID: 32827747, BOARD: t186ref, EABI: aarch64, DATE: Sun Mar 19 15:19:21 UTC 2023\n"
        "$ pip3 install torch\n"
        "$ python3 -c 'import torch; print(torch.__version__, torch.cuda.is_available())'\n"
        "2.1.0 False\n"
    ),
    "pasted: AssertionError: Torch not compiled with CUDA enabled": (
        "Linux-5.15.148-tegra-aarch64-with-glibc2.35\n"
        "torch 2.5.1+cpu\n"
        "AssertionError: Torch not compiled with CUDA enabled\n"
    ),
    "pasted: False": (
        "Model: NVIDIA Jetson Orin Nano Developer Kit - Jetpack 6.0 [L4T 36.3.0]\n"
        ">>> torch.__version__\n"
        "'2.4.0'\n"
        ">>> torch.cuda.is_available()\n"
        "False\n"
    ),
}
GOOD = {
    "a sentence names the Jetson, and torch sees its GPU": (
        "pytorch on a jetson xavier NX: torch.cuda.is_available() returns True\n"
    ),
    "NVIDIA's own": with_torch(jetson("36.4.0"), "2.5.0a0+872d972e41.nv24.8", cuda_available=True),
    "Thor runs server wheels": with_torch(jetson("38.2.0"), "2.9.1+cu130", cuda_available=True),
    "an ARM server": with_torch(linux(architecture="arm64"), "2.9.0+cpu", cuda_available=False),
}
GOOD["results that differ on it"] = """\
Jetson Orin, JetPack 6.2
PyTorch: 2.5.0
The same model acts rightly on a laptop, and wrongly here.
"""
GOOD["a header that a newer torch does not have"] = """\
My Jetson Orin has CUDA 12.6 and PyTorch 2.5.0, and THC/THC.h is not there any longer.
"""
GOOD["an integrated GPU of another kind"] = """\
Windows 10, Intel(R) HD Graphics P530 Integrated Graphics
Torch 2.0.0+cpu
"""

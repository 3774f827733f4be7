from dataclasses import replace

from doctor.model.facts import ABSENT, Gpu
from tests.example_case import Case
from tests.examples import linux, mac, windows, with_amd, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 3060"
NONE = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx"
NO_DRIVER = with_nvidia(linux(), RTX, driver=ABSENT)
NOUVEAU = """\
$ lspci -k | grep -A 3 -i vga
01:00.0 VGA compatible controller: NVIDIA Corporation GA106 [GeForce RTX 3060 Lite Hash Rate] (rev a1)
	Kernel driver in use: nouveau
	Kernel modules: nvidiafb, nouveau
$ python -c "import torch; print(torch.cuda.is_available())"
False
"""
BARE = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 12, in <module>
    model.to("cuda")
RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx
"""

BAD = {
    "a GPU on the bus, no driver": with_torch(NO_DRIVER, "2.6.0+cu124", cuda_available=False),
    "a CPU build hides that it is missing, too": with_torch(NO_DRIVER, "2.6.0+cpu"),
    "nouveau": with_torch(
        replace(
            NO_DRIVER,
            nvidia=replace(NO_DRIVER.nvidia, nouveau=True),
            gpus=(Gpu(vendor="nvidia", name=RTX, driver="nouveau"),),
        ),
        "2.6.0+cu124",
    ),
    "nouveau in a ticket": NOUVEAU,
    "torch says so": BARE,
    "on Windows": with_torch(with_nvidia(windows(), RTX, driver=ABSENT), "2.6.0+cu124", cuda_available=False),
    "nvidia-smi is not found": "$ nvidia-smi\nbash: nvidia-smi: command not found\n$ lspci | grep -i nvidia\n"
    "01:00.0 3D controller: NVIDIA Corporation TU104GL [Tesla T4] (rev a1)\n",
    "a GPU too old for any torch": Case(
        with_torch(with_nvidia(linux(), "GeForce 210", driver=ABSENT, capability="1.2"), "2.6.0+cpu"), severity="note"
    ),
}
GOOD = {
    "a driver": with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
    "no GPU, a CUDA build": with_torch(linux(), "2.6.0+cu124", cuda_available=False),
    "no GPU, and the message": with_error(
        with_torch(linux(), "2.6.0+cu124", cuda_available=False), "found-no-nvidia-driver", NONE
    ),
    "an AMD GPU": with_error(
        with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.6.0+cu124"), "found-no-nvidia-driver", NONE
    ),
    "in a container it is the container": with_error(linux(container="docker"), "found-no-nvidia-driver", NONE),
    "on WSL it is WSL": with_error(linux(wsl=2), "found-no-nvidia-driver", NONE),
    "on a Mac it is the program": with_error(with_torch(mac(), "2.9.0"), "found-no-nvidia-driver", NONE),
    "given to virtual machines": replace(NO_DRIVER, gpus=(Gpu(vendor="nvidia", name=RTX, driver="vfio-pci"),)),
    "whether there is a driver is not known": replace(
        NO_DRIVER, nvidia=replace(NO_DRIVER.nvidia, driver=None, kernel_module=None), torch=None
    ),
}
GOOD["the PCI bus holds no GPU"] = """\
$ lspci | grep -Ei 'vga|3d|display'
00:02.0 VGA compatible controller: Cirrus Logic GD 5446
$ python -c "import torch; torch.zeros(1).cuda()"
RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx
"""
BAD["NVML is not there"] = """\
pynvml.nvml.NVMLError_LibraryNotFound: NVML Shared Library Not Found
$ python -c "import torch; torch.zeros(1).cuda()"
RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from http://www.nvidia.com/Download/index.aspx
"""

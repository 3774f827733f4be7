from doctor.model.facts import ABSENT
from tests.examples import linux, with_amd, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 3060"
NONE = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
CUDNN = "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or directory"
WSL1 = """\
$ uname -r
4.4.0-19041-Microsoft
$ nvidia-smi
NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.
"""
MIXED = """\
RuntimeError: No CUDA GPUs are available
$ uname -r
5.15.90.1-microsoft-standard-WSL2
$ nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 535.54.03    Driver Version: 531.79       CUDA Version: 12.1     |
|   0  NVIDIA GeForce RTX 3060      On  | 00000000:01:00.0  On |                  N/A |
"""

NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"

BAD = {
    "WSL2 beside the system's name": f"Ubuntu1804/WSL2 on Windows 10 with a RTX 3090\n{NO_DRIVER}",
    "Windows and WSL in one list": f"Windows 11 + WSL2 + Ubuntu-22.04, GTX 1660 Ti\n{NO_DRIVER}",
    "a disk of Windows at the prompt": f"me@DESKTOP-8J2K3L1:/mnt/c/Users/me/sd$ python txt2img.py\n{NO_DRIVER}",
    "WSL in a sentence, on a Windows without WSL 2": (
        "Microsoft Windows [Version 10.0.17763.292]\nUbuntu app (WSL)\n$ nvidia-smi\n"
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    ),
    "WSL 1": WSL1,
    "Linux packages inside WSL": MIXED,
    "Linux packages, live": with_torch(
        with_nvidia(
            linux(wsl=2), RTX, driver="531.79", kernel_module=ABSENT, smi_version="535.54.03",
            libcuda="/usr/lib/x86_64-linux-gnu/libcuda.so.1", cuinit=100,
        ),
        "2.6.0+cu124", cuda_available=False,
    ),
    "cuDNN does not find libcuda": f"Ubuntu 22.04 in WSL2\nu@DESKTOP-1:/mnt/c/work$ python train.py\n{CUDNN}\n",
    "no driver on Windows": with_error(linux(wsl=2, dxg=True), "found-no-nvidia-driver", NONE),
    "no GPU from Windows": with_error(linux(wsl=2, dxg=False), "found-no-nvidia-driver", NONE),
    "blocked by Windows": "$ nvidia-smi\nFailed to initialize NVML: GPU access blocked by the operating system\n",
}  # fmt: skip
GOOD = {
    "not in WSL": f"Native Ubuntu 22.04 (not WSL), RTX 3070\n{NO_DRIVER}",
    "WSL is where it works": f"It works in WSL2 but not in my Ubuntu 22.04, RTX 3070\n{NO_DRIVER}",
    "WSL 2 as it should be": with_torch(
        with_nvidia(
            linux(wsl=2, dxg=True), RTX, driver="551.86", kernel_module=ABSENT, smi_version="550.54.15", libcuda="/usr/lib/wsl/lib/libcuda.so.1"
        ),
        "2.6.0+cu124", cuda_available=True,
    ),
    "WSL 1 for the CPU": with_torch(linux(wsl=1), "2.6.0+cpu"),
    "WSL 2 without a GPU": with_torch(linux(wsl=2, dxg=False), "2.6.0+cpu"),
    "ROCm in WSL": with_torch(
        with_amd(linux(wsl=2, dxg=True), "AMD Radeon RX 7900 XTX", gfx="gfx1100", kfd=False, kernel_driver=False),
        "2.7.0+rocm6.3", cuda_available=True,
    ),
    "nothing says that it is WSL": f"The first convolution stops:\n{CUDNN}\nAborted\n",
    "a Linux machine without libcuda.so": with_error(with_torch(linux(), "1.13.1+cu117"), "libcudnn-needs-libcuda", CUDNN),
    "a Linux header of two lines": with_torch(
        with_nvidia(linux(), RTX, driver="550.54.15", smi_version="550.54.15"), "2.6.0+cu124", cuda_available=True
    ),
}  # fmt: skip
BAD["the container toolkit finds no adapter"] = """\
Error response from daemon: failed to create shim task: OCI runtime create failed: error running hook #0: exit status 1, stderr: Auto-detected mode as 'legacy'
nvidia-container-cli: initialization error: WSL environment detected but no adapters were found: unknown
"""

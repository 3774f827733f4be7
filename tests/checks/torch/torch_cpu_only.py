from dataclasses import replace

from doctor.model.facts import Gpu
from tests.example_case import Case
from tests.examples import linux, mac, windows, with_amd, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

RTX = "NVIDIA GeForce RTX 4090"
NOT_COMPILED = "AssertionError: Torch not compiled with CUDA enabled"

BAD = {
    "+cpu beside an RTX 4090": with_torch(with_nvidia(linux(), RTX), "2.6.0+cpu", cuda_available=False),
    "RTX 5090 on the newest driver": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 5090", driver="610.43.02"), "2.13.0+cpu"
    ),
    "the package index's Windows wheel": with_torch(
        with_nvidia(windows(), "NVIDIA GeForce RTX 4080 Laptop GPU", driver="551.86"), "2.2.2", cuda_available=False
    ),
    "an old driver that CUDA 11 builds run on": with_torch(
        with_nvidia(linux(python="3.10.12"), "Tesla V100-SXM2-16GB", driver="470.256.02"), "2.2.2+cpu"
    ),
    "a driver that must be renewed first": Case(
        with_torch(with_nvidia(linux(), RTX, driver="470.57.02"), "2.13.0+cpu"), first="nvidia-driver-too-old"
    ),
    "the program asks for CUDA, the machine is not known": with_error(
        replace(with_torch(windows(), "2.1.0+cpu"), gpus=None), "not-compiled-with-cuda", NOT_COMPILED
    ),
    "pasted: collect_env": (collect_env("2.4.1+cpu", libs="[pip3] torch==2.4.1+cpu")),
    "pasted: collect_env (2)": (
        collect_env(
            "2.3.1",
            "windows",
            cuda="Could not collect",
            driver="552.44",
            gpu="GPU 0: NVIDIA GeForce RT2.3.1 3060 Laptop GPU",
            libs="[pip3] numpy==1.26.4\n[pip3] torch==2.3.1\n[conda] pytorch 2.3.1 py3.10_cpu_0 pytorch",
        )
    ),
    "pasted: False": (
        "+-----------------------------------------------------------------------------------------+\n"
        "| NVIDIA-SMI 560.94                 Driver Version: 560.94         CUDA Version: 12.6     |\n"
        "|-----------------------------------------+------------------------+----------------------+\n"
        "| GPU  Name                  Driver-Model | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        "|=========================================+========================+======================|\n"
        "|   0  NVIDIA GeForce RTX 4070      WDDM  |   00000000:01:00.0  On |                  N/A |\n"
        "+-----------------------------------------+------------------------+----------------------+\n"
        "\n"
        ">>> import torch\n"
        ">>> torch.__version__\n"
        "'2.5.1+cpu'\n"
        ">>> torch.cuda.is_available()\n"
        "False\n"
    ),
    "pasted: AssertionError: Torch not compiled with CUDA enabled": (
        "AssertionError: Torch not compiled with CUDA enabled\n"
        "\n"
        "C:\\> pip show torch\n"
        "Name: torch\n"
        "Version: 2.6.0\n"
        "Location: c:\\users\\user\\appdata\\local\\programs\\python\\python312\\lib\\site-packages\n"
    ),
    "pasted: ValueError: Invalid CUDA 'device=0' requested. Use 'device=c": (
        "ValueError: Invalid CUDA 'device=0' requested. Use 'device=cpu' or pass valid CUDA device(s) if available\n"
        "torch.cuda.is_available(): False\n"
        "torch.cuda.device_count(): 0\n"
        "Ultralytics 8.3.40 Python-3.12.4 torch-2.5.1+cpu\n"
        "$ nvidia-smi -L\n"
        "GPU 0: NVIDIA GeForce RTX 3080 (UUID: GPU-x)\n"
    ),
    "pasted: Driver Version: 550.144.03": (
        "PyTorch version: 2.6.0+cpu\nCUDA available: False\nGPU 0: NVIDIA A10G\nDriver Version: 550.144.03\n"
    ),
    "pasted: AssertionError: Torch not compiled with CUDA enabled, 2": (
        "PS C:\\ComfyUI> python main.py\n"
        '  File "C:\\ComfyUI\\venv\\lib\\site-packages\\torch\\cuda\\__init__.py", line 310, in _lazy_init\n'
        '    raise AssertionError("Torch not compiled with CUDA enabled")\n'
        "AssertionError: Torch not compiled with CUDA enabled\n"
    ),
    "pasted: | 0 NVIDIA RTX A4000 Off | 00000000:01:00.0 On | Off |": (
        "$ conda list | grep torch\n"
        "pytorch                   2.4.0               py3.12_cpu_0    pytorch\n"
        "pytorch-mutex             1.0                         cpu    pytorch\n"
        "$ nvidia-smi\n"
        "| NVIDIA-SMI 535.183.01             Driver Version: 535.183.01   CUDA Version: 12.2     |\n"
        "|   0  NVIDIA RTX A4000               Off | 00000000:01:00.0  On |                  Off |\n"
    ),
    "pasted: GPU 0: NVIDIA GeForce GTX 1650": (
        "sys.platform: win32\n"
        "Python: 3.8.10\n"
        "CUDA available: False\n"
        "PyTorch: 1.10.0+cpu\n"
        "GPU 0: NVIDIA GeForce GTX 1650\n"
    ),
}
GOOD = {
    "torch uses an Intel GPU": (
        "AssertionError: Torch not compiled with CUDA enabled\n"
        "Is CUDA available: False\n"
        "Is XPU available: True\n"
        "XPU used to build PyTorch: 20250201\n"
    ),
    "a server without a GPU": with_torch(linux(), "2.6.0+cpu"),
    "a CUDA build": with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
    "a Mac": with_error(with_torch(mac(), "2.6.0", mps_available=True), "not-compiled-with-cuda", NOT_COMPILED),
    "the GPU is hidden on purpose": with_torch(
        replace(with_nvidia(linux(), RTX), environ={"CUDA_VISIBLE_DEVICES": "-1"}), "2.6.0+cpu"
    ),
    "Intel graphics in the processor": with_torch(
        replace(linux(), gpus=(Gpu(vendor="intel", name="UHD Graphics 630", integrated=True),)), "2.6.0+cpu"
    ),
    "AMD graphics in the processor": with_torch(
        replace(with_amd(linux()), gpus=(Gpu(vendor="amd", name="AMD Radeon Graphics", integrated=True),)), "2.6.0+cpu"
    ),
    "a Jetson": Case(
        with_torch(
            replace(linux(architecture="arm64"), host=replace(linux(architecture="arm64").host, jetson="36.4.0")),
            "2.9.0+cpu",
        )
    ),
}
GOOD["a CUDA build runs, and a CPU build is named beside it"] = """\
Windows, NVIDIA GeForce RTX 5080
The Python that I use otherwise has torch 2.11.0+cpu.
CUDA error: no kernel image is available for execution on the device
"""
GOOD["the driver's start fails, in a CUDA build"] = """\
Windows 10
RuntimeError: Torch is not able to use GPU
venv\\lib\\site-packages\\torch\\cuda\\__init__.py:83: UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.
"""
GOOD["DirectML computes"] = """\
RX 480 with DirectML
Warning: caught exception 'Torch not compiled with CUDA enabled', memory monitor disabled
RuntimeError: Could not allocate tensor with 9850880 bytes. There is not enough GPU video memory available!
"""

"""Texts that several tests read, and a short way to read one."""

from __future__ import annotations

from doctor.evidence.read import Seen, read
from doctor.model.facts import Facts

COLLECT_ENV = """\
Collecting environment information...
PyTorch version: 2.1.2+cu121
Is debug build: False
CUDA used to build PyTorch: 12.1
ROCM used to build PyTorch: N/A

OS: Ubuntu 20.04.6 LTS (x86_64)
GCC version: (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0
Libc version: glibc-2.31

Python version: 3.10.13 | packaged by conda-forge | (main, Dec 23 2023, 15:36:39) [GCC 12.3.0] (64-bit runtime)
Python platform: Linux-5.4.0-170-generic-x86_64-with-glibc2.31
Is CUDA available: True
CUDA runtime version: 12.3.107
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration:
GPU 0: NVIDIA GeForce RTX 4090
GPU 1: NVIDIA GeForce RTX 4090

Nvidia driver version: 545.23.08
cuDNN version: Could not collect
HIP runtime version: N/A
MIOpen runtime version: N/A
Is XNNPACK available: True

Versions of relevant libraries:
[pip3] numpy==1.26.3
[pip3] torch==2.1.2+cu121
[conda] Could not collect
"""

MAC = """\
PyTorch version: 2.1.1
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A

OS: macOS 14.0 (arm64)
Libc version: N/A

Python version: 3.10.13 (main, Aug 24 2023, 12:59:26) [Clang 15.0.0 (clang-1500.0.40.1)] (64-bit runtime)
Python platform: macOS-14.0-arm64-arm-64bit
Is CUDA available: False
CUDA runtime version: No CUDA
GPU models and configuration: No CUDA
Nvidia driver version: No CUDA

CPU:
Apple M2

Versions of relevant libraries:
[pip3] numpy==1.26.2
[pip3] torch==2.1.1
"""

OLD_DRIVER = """\
/home/u/env/lib/python3.10/site-packages/torch/cuda/__init__.py:138: UserWarning: CUDA initialization: The NVIDIA
driver on \
your system is too old (found version 11040). Please update your GPU driver. (Triggered internally at
../c10/cuda/CUDAFunctions.cpp:108.)
  return torch._C._cuda_getDeviceCount() > 0

$ nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.86      Driver Version: 470.86         CUDA Version: 11.4    |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|                               |         Memory-Usage |           Compute M. |
|===============================+======================+======================|
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |
|  0%   45C    P8    10W / 170W |    603MiB / 12053MiB |              Default |
+-------------------------------+----------------------+----------------------+
$ pip list | grep torch
torch                    2.1.0+cu121
"""


def seen(*texts: str) -> Seen:
    """Read texts of one machine."""
    return read([(f"file{i}", text.encode()) for i, text in enumerate(texts)])


def facts(*texts: str) -> Facts:
    """Their facts."""
    return seen(*texts).facts


def patterns(text: str) -> list[str]:
    """Ids of the messages recognised in a text."""
    return [e.pattern for e in facts(text).errors]

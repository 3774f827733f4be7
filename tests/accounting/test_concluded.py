"""What is concluded from a text in which no check finds a fault: what a text must and must not be concluded to show."""

from __future__ import annotations

import pytest

from doctor.pipeline import Request, examine

RTX_5080 = """\
Windows, NVIDIA GeForce RTX 5080
The Python that I use otherwise has torch 2.11.0+cpu.
CUDA error: no kernel image is available for execution on the device
"""
LAST_IN_THE_TRACEBACK = """\
One NVIDIA GeForce RTX 5090 in the machine
  File "/opt/v/lib/python3.8/site-packages/transformers/generation/utils.py", line 28, in generate
    if torch.sum(inputs == pad) > 0:
RuntimeError: CUDA error: no kernel image is available for execution on the device
"""
NO_WHEEL = "Python 3.7.4, Windows 10\n$ pip install a-package\nERROR: Failed building wheel for a-package\n"
TOO_LONG = """\
Python 3.14.0, Ubuntu 24.04
$ pip install an-estimator
ERROR: Could not install packages due to an EnvironmentError: [Errno 2] No such file or directory: '/a/b'
"""
IN_WSL = """\
WSL2 Ubuntu 24.04, AMD Radeon RX 7900 XT
$ rocminfo
WSL environment detected.
hsa api call failure at: /src/rocminfo/rocminfo.cc:1306
Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.
"""
START_FAILED = """\
Windows 10
RuntimeError: Torch is not able to use GPU
UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.
"""
IN_A_CONTAINER = """\
docker run --gpus all image
$ nvidia-smi
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.
False
"""
NOT_IMPORTED = """\
venv "C:\\sd\\venv\\Scripts\\Python.exe"
Command: "python.exe" -c "import torch; assert torch.cuda.is_available(), 'Torch is not able to use GPU'"
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "C:\\sd\\venv\\lib\\site-packages\\torch\\__init__.py", line 140, in <module>
    raise err
OSError:
"""
INTEL_CPU = "Only to say it: on a mac with an Intel CPU torch 2.6 can't be installed.\n"
HASHES = """\
Collecting a-package==1.4.7
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.
"""
NOT_SO = {
    "the hashes of another package": (HASHES, "2022-04-19", "torch-install-broken"),
    "an Intel CPU is no build of torch": (INTEL_CPU, "2025-04-08", "torch-cpu-only"),
    "a Python of before the tables": (NO_WHEEL, "2019-07-21", "python-unsupported"),
    "another package": (TOO_LONG, "2025-09-01", "python-unsupported"),
    "groups matter little in WSL": (IN_WSL, "2024-09-04", "gpu-permission-denied"),
    "a CUDA build's start": (START_FAILED, "2022-12-19", "torch-cpu-only"),
    "a start that fails in a container": (IN_A_CONTAINER, "2023-04-11", "gpu-hidden"),
    "torch does not import": (NOT_IMPORTED, "2022-11-09", "torch-cpu-only"),
}
SO = {
    "a CPU build beside the one that ran": (RTX_5080, "2026-04-13", "gpu-too-new-for-build"),
    "a library without kernels stands last": (LAST_IN_THE_TRACEBACK, "2025-04-24", "gpu-too-new-for-build"),
}


def faults(text: str, date: str) -> list[str]:
    report = examine(Request(evidence=(("ticket", text.encode()),), as_of=date))
    return [finding.id for finding in report.findings if finding.severity == "fault"]


@pytest.mark.parametrize("name", NOT_SO)
def test_not_concluded(name: str) -> None:
    text, date, id = NOT_SO[name]
    assert id not in faults(text, date)


@pytest.mark.parametrize("name", SO)
def test_concluded(name: str) -> None:
    text, date, id = SO[name]
    assert faults(text, date) == [id]

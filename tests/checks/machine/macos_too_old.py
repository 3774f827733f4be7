from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, mac, with_error, with_torch

MPS = "RuntimeError: The MPS backend is supported on MacOS 12.3+.Current OS version can be queried using `sw_vers`"
DYLD = """\
ImportError: dlopen(/Users/u/env/lib/python3.9/site-packages/torch/_C.cpython-39-darwin.so, 2): Library not loaded: libomp.dylib
  Referenced from: /Users/u/env/lib/python3.9/site-packages/torch/lib/libtorch_cpu.dylib
  Reason: no suitable image found.  Did find:
    /Users/u/env/lib/python3.9/site-packages/torch/.dylibs/libomp.dylib: cannot load 'libomp.dylib' (load command 0x80000034 is unknown)
"""
NEWER = """\
ImportError: dlopen(/Users/u/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.dylib, 0x0006): Symbol not found: _OBJC_CLASS_$_MPSGraph
  Referenced from: <1234> libtorch_cpu.dylib (built for macOS 12.3 which is newer than running OS)
$ sw_vers -productVersion
11.7.10
"""
TICKET = """\
PyTorch version: 2.9.1
OS: macOS 13.6.4 (arm64)
Python version: 3.11.9 (main, Apr  2 2024, 08:25:04) [Clang 15.0.0 (clang-1500.3.9.4)] (64-bit runtime)
Python platform: macOS-13.6.4-arm64-arm-64bit
CPU:
Apple M2

>>> torch.backends.mps.is_available()
False
"""

BAD = {
    "pasted: what MPS does from macOS 13 on": (
        "RuntimeError: MPS support binary op with uint8 natively starting from macOS 13.0\n"
    ),
    "torch 2.9 on macOS 13": with_torch(mac(macos="13.7.4"), "2.9.1", mps_built=True, mps_available=False),
    "torch 2.0 on macOS 12.2": with_torch(mac(macos="12.2"), "2.0.1", mps_built=True, mps_available=False),
    "torch 2.7 on macOS 12.7": with_torch(mac(macos="12.7.6"), "2.7.1", mps_built=True, mps_available=False),
    "a ticket without the chip": "% sw_vers -productVersion\n12.2.1\n>>> torch.__version__\n'1.12.1'\n"
    ">>> torch.backends.mps.is_built()\nTrue\n>>> torch.backends.mps.is_available()\nFalse\n",
    "the message, and an old system": with_error(
        with_torch(mac(macos="12.2.1"), "1.13.1"), "mps-needs-newer-macos", MPS
    ),
    "the message lags behind the check": with_error(
        with_torch(mac(macos="13.7.4"), "2.10.0.dev20251008"), "mps-needs-newer-macos", MPS.replace("12.3", "13.0")
    ),
    "a ticket with macOS 13 and torch 2.9": TICKET,
    "an old dyld": DYLD,
    "built for a newer macOS": NEWER,
    "a refused wheel": "% sw_vers -productVersion\n13.5\n% pip install ./torch-2.12.0-cp312-cp312-macosx_14_0_arm64.whl\n"
    "ERROR: torch-2.12.0-cp312-cp312-macosx_14_0_arm64.whl is not a supported wheel on this platform.\n",
    "FFT on macOS 13": with_error(
        with_torch(mac(macos="13.4"), "2.3.0", mps_available=True),
        "mps-feature-needs-macos-14",
        "FFT operations are only supported on MacOS 14+",
    ),
}
GOOD = {
    "another type instead, with a warning": (
        "UserWarning: MPS: no support for int64 repeats mask, casting it to int32 on MacOS 13.3\n"
    ),
    "torch 2.9 on macOS 14": with_torch(mac(macos="14.0"), "2.9.1", mps_built=True, mps_available=True),
    "torch 2.7 on macOS 13.0": with_torch(mac(macos="13.0"), "2.7.1", mps_built=True, mps_available=True),
    "torch 2.5 on macOS 12.7": with_torch(mac(macos="12.7"), "2.5.1", mps_built=True, mps_available=True),
    "the message on a new system: Metal is hidden": with_error(
        with_torch(mac(macos="26.0"), "2.11.0", mps_built=True, mps_available=False),
        "mps-needs-newer-macos",
        MPS.replace("12.3", "14.0"),
    ),
    "under Rosetta it is the Python": Case(with_torch(mac(macos="12.2", rosetta=True), "2.0.1")),
    "an Intel Mac on an old system": with_torch(mac(macos="11.7", chip="Intel(R) Core(TM) i7-9750H"), "2.2.2"),
    "Linux": with_torch(linux(), "2.9.1+cpu"),
    "the system is not known": with_torch(
        replace(mac(), host=replace(mac().host, macos=None, os_version=None)), "2.9.1"
    ),
}
BAD["torch 2.5 on macOS 12"] = """\
$ python -c "import torch; print(torch.__version__); torch.ones(1, device='mps')"
2.5.1
RuntimeError: The MPS backend is supported on MacOS 12.3+.Current OS version can be queried using `sw_vers`
$ sw_vers
ProductName:	macOS
ProductVersion:	12.7.6
"""

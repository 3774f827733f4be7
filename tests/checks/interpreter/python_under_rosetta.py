from tests.example_case import Case
from tests.examples import mac, with_error, with_torch

OFFER = "2.0.0, 2.0.1, 2.1.0, 2.1.1, 2.1.2, 2.2.0, 2.2.1, 2.2.2"
PIP = f"""\
% sysctl -n machdep.cpu.brand_string
Apple M3 Pro
% pip install torch==2.5.1
ERROR: Could not find a version that satisfies the requirement torch==2.5.1 (from versions: {OFFER})
ERROR: No matching distribution found for torch==2.5.1
"""
COLLECT_ENV = """\
PyTorch version: 2.2.2
OS: macOS 13.5 (x86_64)
Python version: 3.11.4 (main, Jul  5 2023, 08:41:25) [Clang 14.0.6 ] (64-bit runtime)
Python platform: macOS-10.16-x86_64-i386-64bit
Is CUDA available: False
CPU:
Apple M1
"""
HAVE = "ImportError: dlopen(/Users/u/v/lib/python3.10/site-packages/torch/_C.cpython-310-darwin.so, 0x0002): tried: '/Users/u/v/_C.so' (mach-o file, but is an incompatible architecture (have '{}', need '{}'))"

BAD = {
    "the linker meets the other architecture": (
        "ld: warning: ignoring file libtorch.dylib, building for macOS-arm64 but attempting to link with file built for "
        "macOS-x86_64\n"
    ),
    "live": with_torch(mac(rosetta=True), "2.2.2"),
    "MPS is a consequence": Case(
        with_torch(mac(rosetta=True), "2.2.2", mps_built=False, mps_available=False), first="python-under-rosetta"
    ),
    "collect_env": COLLECT_ENV,
    "pip's offer and an Apple chip": PIP,
    "an arm64 library": HAVE.format("arm64", "x86_64"),
    "packages installed under Rosetta": HAVE.format("x86_64", "arm64e"),
    "an old system seems to be the cause": Case(
        with_torch(mac(macos="12.2", rosetta=True), "2.2.2"), first="python-under-rosetta"
    ),
    "CPU instructions seem to be the cause": Case(
        with_error(
            mac(rosetta=True), "illegal-instruction", "zsh: illegal hardware instruction  python  Illegal instruction"
        ),
        first="python-under-rosetta",
    ),
    "an illegal instruction on Apple silicon": Case(
        "zsh: illegal hardware instruction  python -c 'import torch'\n% sysctl -n machdep.cpu.brand_string\nApple M1\n",
        first="python-under-rosetta",
    ),
    "the CPU's name under Rosetta": "% sysctl -n machdep.cpu.brand_string\nVirtualApple @ 2.50GHz\n",
}
GOOD = {
    "native": with_torch(mac(), "2.9.0", mps_available=True),
    "an Intel Mac": with_torch(mac(chip="Intel(R) Core(TM) i7-9750H"), "2.2.2"),
    "an Apple silicon bundle on an Intel Mac": Case(
        with_error(mac(chip="Intel(R) Core(TM) i7-9750H"), "have-arm64-need-x86-64", HAVE.format("arm64", "x86_64h"))
    ),
}
BAD["a chip named in passing, and the versions on offer"] = """\
ERROR: Could not find a version that satisfies the requirement torch==2.3.0 (from executorch) (from versions: 1.11.0, 1.12.0, 1.12.1, 1.13.0, 1.13.1, 2.0.0, 2.0.1, 2.1.0, 2.1.1, 2.1.2, 2.2.0, 2.2.1, 2.2.2)
ERROR: No matching distribution found for torch==2.3.0
platform: macOS 14.3
chip: Apple M3
"""
GOOD["uv lists the wheels that there are"] = """\
uv sync
error: Distribution `torch==2.9.1 @ registry+https://index.example/simple` can't be installed because it doesn't have a source distribution or wheel for the current platform

hint: You're on macOS (`macosx_14_0_x86_64`), but `torch` (v2.9.1) only has wheels for the following platforms: `manylinux_2_28_aarch64`, `macosx_11_0_arm64`, `win_amd64`
"""

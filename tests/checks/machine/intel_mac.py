from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.example_case import Case
from tests.examples import linux, mac, with_error, with_torch

I9 = "Intel(R) Core(TM) i9-9880H CPU @ 2.30GHz"
OFFER = "1.13.0, 1.13.1, 2.0.0, 2.0.1, 2.1.0, 2.1.1, 2.1.2, 2.2.0, 2.2.1, 2.2.2"
PIP = f"""\
MacBook-Pro:~ u$ pip3 install torch==2.4.0
ERROR: Could not find a version that satisfies the requirement torch==2.4.0 (from versions: {OFFER})
ERROR: No matching distribution found for torch==2.4.0
"""
BUNDLE = "(mach-o file, but is an incompatible architecture (have 'arm64', need 'x86_64h'))"

BAD = {
    "a newer torch than any for it": PIP,
    "the same, with its CPU": Case("% sysctl -n machdep.cpu.brand_string\n" + I9 + "\n" + PIP, as_of="2024-09"),
    "a bundle for Apple silicon": with_error(
        mac(chip=I9),
        "have-arm64-need-x86-64",
        f"ImportError: dlopen(/Users/u/v/lib/python3.11/site-packages/torch/_C.cpython-311-darwin.so): tried: {BUNDLE}",
    ),
    "MPS is wanted": with_error(
        with_torch(mac(chip=I9), "2.2.2"),
        "not-compiled-with-mps",
        "AssertionError: MPS not available because the current PyTorch install was not built with MPS enabled",
    ),
    "a Python without any torch": Case(replace(mac(chip=I9, python="3.13.1"), torch=ABSENT)),
    "uv names the platform": "$ uv pip install torch==2.5.1\n  x No solution found when resolving dependencies:\n"
    "  Because torch==2.5.1 has no wheels with a matching platform tag (e.g., `macosx_14_0_x86_64`) and you require torch==2.5.1\n",
    "its last torch works": Case(with_torch(mac(chip=I9), "2.2.2"), severity="note"),
}
GOOD = {
    "Apple silicon": with_torch(mac(), "2.9.0", mps_available=True),
    "under Rosetta": with_torch(mac(rosetta=True), "2.2.2"),
    "no torch yet, and there is one": replace(mac(chip=I9, python="3.11.9"), torch=ABSENT),
    "Linux on Intel": with_torch(replace(linux(), host=replace(linux().host, cpu_model=I9)), "2.9.0+cpu"),
    "an Apple chip whose offer ends at 2.2.2": "% sysctl -n machdep.cpu.brand_string\nApple M2\n" + PIP,
}
BAD["uv lists the wheels that there are"] = """\
uv sync
error: Distribution `torch==2.9.1 @ registry+https://index.example/simple` can't be installed because it doesn't have a source distribution or wheel for the current platform

hint: You're on macOS (`macosx_14_0_x86_64`), but `torch` (v2.9.1) only has wheels for the following platforms: `manylinux_2_28_aarch64`, `macosx_11_0_arm64`, `win_amd64`
"""

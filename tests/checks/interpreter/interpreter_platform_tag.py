from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.example_case import Case
from tests.examples import linux, mac, with_error, with_torch

NONE = "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)"
DISGUISED = replace(
    mac(python="3.10.14"), interpreter=replace(mac(python="3.10.14").interpreter, macos_reported="10.16")
)

BAD = {
    "no torch": replace(DISGUISED, torch=ABSENT),
    "pip finds none": Case(
        with_error(replace(DISGUISED, torch=ABSENT), "torch-from-versions-none", NONE), first="interpreter-platform-tag"
    ),
    "a ticket": f"% pip install torch\n{NONE}\n\nPyTorch version: N/A\nOS: macOS 13.6 (arm64)\n"
    "Python version: 3.9.18 (main, Sep 11 2023, 08:25:10) [Clang 12.0.1 ] (64-bit runtime)\n"
    "Python platform: macOS-10.16-arm64-arm-64bit\nCPU:\nApple M2\n",
}
GOOD = {
    "it knows its system": replace(mac(), torch=ABSENT),
    "torch works all the same": with_torch(DISGUISED, "2.5.1", mps_available=True),
    "under Rosetta it is the Python": Case(
        with_torch(
            replace(
                mac(rosetta=True), interpreter=replace(mac(rosetta=True).interpreter, platform_tag="macosx-10.9-x86_64")
            ),
            "2.2.2",
        )
    ),
    "Linux": replace(linux(), torch=ABSENT),
}

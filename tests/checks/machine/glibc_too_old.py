from dataclasses import replace

from doctor.model.facts import ABSENT, InstallAttempt
from tests.examples import linux, with_error, with_torch

MUSL = linux(os_name="Alpine Linux v3.20", os_id="alpine", libc="musl", libc_version="1.2.5")
CENTOS = linux(os_name="CentOS Linux 7 (Core)", os_id="centos", libc_version="2.17", python="3.11.9")
RELOCATING = """\
  File "/usr/local/lib/python3.11/site-packages/torch/__init__.py", line 168, in _load_global_deps
OSError: Error relocating /usr/local/lib/python3.11/site-packages/torch/lib/libgomp-a34b3233.so.1: pthread_attr_setaffinity_np: symbol not found
"""
LDSO = "ImportError: /lib64/libc.so.6: version `GLIBC_2.28' not found (required by /home/u/v/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so)"

BAD = {
    "Alpine without torch": replace(MUSL, torch=ABSENT),
    "Alpine, pip finds none": with_error(
        MUSL,
        "torch-from-versions-none",
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)",
    ),
    "musl's loader": RELOCATING,
    "the loader's message": with_error(with_torch(CENTOS, "2.7.1+cpu", imports=False), "glibc-version-not-found", LDSO),
    "the loader's message alone": LDSO,
    "a refused wheel": with_error(
        CENTOS,
        "manylinux-wheel-refused",
        "ERROR: torch-2.7.1-cp311-cp311-manylinux_2_28_x86_64.whl is not a supported wheel on this platform.",
    ),
    "a release for newer systems": replace(
        CENTOS,
        attempts=(InstallAttempt(tool="pip", requirements=("torch==2.8.0",), failed=True, offered=("2.5.1", "2.6.0")),),
    ),
}
GOOD = {
    "Ubuntu 22.04": with_torch(linux(), "2.9.1+cpu"),
    "CentOS 7 with a torch for it": with_torch(CENTOS, "2.5.1+cpu"),
    "Alpine's own package": with_torch(MUSL, "2.5.1"),
    "CentOS 7 without torch: older releases fit": replace(CENTOS, torch=ABSENT),
    "a wheel for another Python": with_error(
        linux(),
        "manylinux-wheel-refused",
        "ERROR: torch-2.7.1-cp311-cp311-manylinux_2_28_x86_64.whl is not a supported wheel on this platform.",
    ),
}

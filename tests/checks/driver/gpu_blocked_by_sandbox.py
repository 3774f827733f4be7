from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, mac, with_nvidia, with_torch

BOXED = replace(
    mac(macos="26.2", chip="Apple M3"), host=replace(mac(macos="26.2", chip="Apple M3").host, sandbox="seatbelt")
)

BAD = {
    "seatbelt": with_torch(BOXED, "2.11.0", mps_built=True, mps_available=False),
    "an agent's variable": replace(
        with_torch(mac(macos="15.1"), "2.9.1", mps_built=True, mps_available=False),
        environ={"CODEX_SANDBOX": "seatbelt"},
    ),
    "nodes that can't be opened": with_torch(
        with_nvidia(linux(container="container"), "NVIDIA A10", nodes_accessible=False, cuinit=100),
        "2.6.0+cu124",
        cuda_available=False,
    ),
    "NVML says so": with_torch(
        with_nvidia(
            linux(), "NVIDIA A10", cuinit=None, smi_error="Failed to initialize NVML: Insufficient Permissions"
        ),
        "2.6.0+cu124",
        cuda_available=False,
    ),
}
GOOD = {
    "a sandbox that lets Metal through": with_torch(BOXED, "2.11.0", mps_built=True, mps_available=True),
    "no sandbox is known": with_torch(mac(macos="26.0"), "2.9.1", mps_built=True, mps_available=False),
    "in a sandbox, but macOS is too old": Case(
        with_torch(
            replace(mac(macos="13.5"), host=replace(mac(macos="13.5").host, sandbox="seatbelt")),
            "2.9.1",
            mps_built=True,
            mps_available=False,
        )
    ),
    "nodes that can be opened": with_torch(with_nvidia(linux(), "NVIDIA A10"), "2.6.0+cu124", cuda_available=True),
}
BAD["an unprivileged container may not pass the devices on"] = """\
nvidia-container-cli: mount error: write error: /sys/fs/cgroup/devices/docker/7f736858/devices.allow: operation not permitted
"""

from dataclasses import replace

from tests.example_case import Case
from tests.examples import device, linux, mac, with_nvidia, with_torch

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
A10 = "NVIDIA A10"


def masked(facts, *nodes: str, cuda_available: bool = False, gpus: int = 1, **nvidia: object):
    given = {
        "false_nodes": nodes, "closed_nodes": (), "cuinit": 0 if cuda_available else 100,
        "device_nodes": ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"), **nvidia,
    }  # fmt: skip
    seen = (device("cuda", A10),) if cuda_available else ()
    facts = with_nvidia(facts, *[A10] * gpus, **given)
    return with_torch(facts, "2.6.0+cu124", cuda_available=cuda_available, devices=seen)


BLOCKED = "Failed to initialize NVML: GPU access blocked by the operating system"
BAD["the GPU's node is masked"] = masked(linux(root=True), "/dev/nvidia0", smi_error="No devices were found")
BAD["the same in a container"] = masked(
    linux(container="container", root=True), "/dev/nvidia0", smi_error="No devices were found", gpus_seen=0
)
BAD["the control node is masked"] = masked(linux(root=True), "/dev/nvidiactl", smi_error=BLOCKED)
BAD["nvidia_uvm's node is masked"] = masked(linux(root=True), "/dev/nvidia-uvm", cuinit=304)
BAD["NVML is blocked by the system, outside WSL"] = masked(
    linux(root=True), smi_error=BLOCKED, nodes_accessible=None
)
BAD["root may not open the nodes"] = masked(
    linux(root=True), nodes_accessible=False, closed_nodes=("/dev/nvidia0", "/dev/nvidiactl")
)
BAD["one of two GPUs is masked"] = masked(
    linux(root=True), "/dev/nvidia1", cuda_available=True, gpus=2, device_nodes=("/dev/nvidia0", "/dev/nvidia1")
)
BAD["the other job's GPU"] = Case(
    masked(
        linux(root=False),
        cuda_available=True,
        gpus=2,
        device_nodes=("/dev/nvidia0", "/dev/nvidia1"),
        closed_nodes=("/dev/nvidia1",),
        nodes_accessible=False,
    ),
    severity="note",
)
GOOD["closed to an ordinary user"] = masked(
    linux(root=False), nodes_accessible=False, closed_nodes=("/dev/nvidia0", "/dev/nvidiactl")
)
GOOD["WSL has other nodes, and NVML's words mean another thing there"] = masked(
    linux(wsl=2), smi_error=BLOCKED, device_nodes=(), false_nodes=None
)

"""The GPU is there, but this user may not open it.

What it means
    A program reaches a GPU through device nodes: /dev/nvidia* for NVIDIA's, /dev/kfd and /dev/dri/renderD* for AMD's,
    /dev/dri/renderD* for Intel's. They belong to groups (as a rule render or video). A user outside these groups gets
    «Permission denied», and torch sees no GPU.

How to see it yourself
    ls -l /dev/nvidia* /dev/kfd /dev/dri shows to whom the nodes belong; groups shows the groups of the user.

What to do
    Add the user to the group of the nodes and log in again. In a container pass the group: --group-add render. NVIDIA's
    nodes are open to all unless the module's options (NVreg_DeviceFileMode) or a rule of udev say otherwise.

References
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
    https://dgpu-docs.intel.com/driver/installation.html (the group render)
    https://download.nvidia.com/XFree86/Linux-x86_64/580.65.06/README/faq.html (NVreg_DeviceFileMode)
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, heard, in_container, named, on_mac, on_wsl, sandboxed, shown, wants
from doctor.checks._torch import gpus_of, installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

GROUPS = Remedy(
    action="group-membership",
    details={"groups": "render,video"},
    text="Add the user to the groups render and video, and log in again.",
)

check = Check(
    severity="fault",
    needs=("nvidia.device_nodes", "amd.kfd", "messages"),
    systems=("linux",),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(GROUPS,),
    explains=("device-crashes", "torch-cpu-only"),
    instead_of=(
        "amd-driver-missing",
        "intel-gpu-driver-missing",
        "no-accelerator",
        "program-error",
        "gpu-hidden",
        "nvidia-driver-not-running",
        "nvidia-uvm-broken",
        "gpu-hardware-fault",
    ),
)

RENDER = Remedy(action="group-membership", details={"groups": "render"})
MAY_OPEN = {"render", "video", "root"}  # video: of older distributions
FLAG = Remedy(action="container-flag", details={"flag": "--group-add render"})
ASK = Remedy(
    action="ask-provider",
    text="Ask the administrators of the machine to let this account use the GPU.",
)
NVIDIA_GROUPS = Remedy(
    action="group-membership",
    details={"groups": "video"},
    text="Join the group that the nodes belong to (ls -l /dev/nvidia0; as a rule video), and log in again.",
)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.host.root:
        return Fit(0.05, "root may open every device")
    if on_wsl(facts):
        return Fit(0.05, "in WSL everybody may open the device")
    if facts.amd.groups is None:
        return None
    inside = bool(MAY_OPEN & set(facts.amd.groups))
    return Fit(0.2, "the user is in the devices' group") if inside else Fit(3, "the user is in no group of the devices")


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts):
        return None
    return _nvidia(facts) or _amd(facts) or _intel(facts)


def _nvidia(facts: Facts) -> Judgement:
    """Nodes that are the driver's, and that an ordinary user outside a container may not open."""
    closed = facts.nvidia.closed_nodes or ()
    if not closed and facts.nvidia.nodes_accessible is False and not facts.nvidia.false_nodes:
        closed = facts.nvidia.device_nodes or ()
    confined = in_container(facts) or sandboxed(facts) or facts.host.root
    if not closed or confined or facts.nvidia.cuinit == 0 or cuda_works(facts):
        return None
    return check.found(
        facts,
        f"{', '.join(closed[:3])} can't be opened by this user{_mine(facts)}.",
        evidence=("nvidia.closed_nodes", "nvidia.nodes_accessible", "amd.groups", shown(facts, "nvidia")),
        severity=None if wants(facts, "cuda") or facts.torch is None else "warning",
        remedies=(NVIDIA_GROUPS, ASK),
        vendor="nvidia",
    )


def _amd(facts: Facts) -> Judgement:
    if facts.amd.kfd is False or heard(facts, "rock-module-not-loaded"):
        return None
    error = heard(facts, "kfd-permission-denied", "not-in-render-group", "hsa-out-of-resources")
    denied = facts.amd.kfd is True and (facts.amd.kfd_accessible is False or _outside_its_group(facts))
    node = "/dev/kfd"
    if not denied and facts.amd.kfd_accessible and facts.amd.render_accessible is False and _refused(facts):
        denied, node = True, "/dev/dri/renderD*"
    if (error is None and not denied) or (cuda_works(facts) and error is None):
        return None
    return check.found(
        facts,
        f"{node} can't be opened by this user{_mine(facts)}: it belongs to the group render (or video).",
        evidence=(
            quote(error) if error else None,
            "amd.kfd_accessible",
            "amd.render_accessible",
            "amd.groups",
            "host.container",
        ),
        remedies=(GROUPS, FLAG) if in_container(facts) else (GROUPS,),
        confidence="certain" if error or facts.amd.kfd_accessible is False else "likely",
        vendor="amd",
    )


def _mine(facts: Facts) -> str:
    mine = facts.amd.groups
    return f"; the user is in {', '.join(mine) or 'no group'}" if mine is not None else ""


def _refused(facts: Facts) -> bool:
    torch = installed(facts)
    return torch is not None and bool(torch.hip) and torch.cuda_available is False


def _outside_its_group(facts: Facts) -> bool:
    """Whether it was not tried to open the node, but torch finds no GPU and the user's groups lack the node's."""
    if facts.amd.kfd_accessible is not None:
        return False
    mine = facts.amd.groups
    if heard(facts, "no-hip-gpus"):
        return mine is None or not {"render", "root"} & set(mine)
    return _refused(facts) and mine is not None and not MAY_OPEN & set(mine)


def _intel(facts: Facts) -> Judgement:
    """Level Zero is there, torch wants it, and the render node is closed."""
    torch = installed(facts)
    error = heard(facts, "no-xpu-devices", "xpu-driver-not-initialized", "sycl-no-device")
    wanted = error is not None or bool(torch and torch.xpu)
    if facts.intel.render_accessible is not False or facts.intel.level_zero is False or not wanted:
        return None
    if torch and torch.xpu_available:
        return None
    return check.found(
        facts,
        f"{named(gpus_of(facts, 'intel'))} is there, but this user may not open /dev/dri/renderD*{_mine(facts)}.",
        evidence=(quote(error) if error else None, shown(facts, "intel"), "intel.render_accessible", "amd.groups"),
        remedies=(RENDER, FLAG) if in_container(facts) else (RENDER,),
        vendor="intel",
    )

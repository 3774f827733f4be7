"""The AMD GPU is there, but this user may not open it.

What it means
    ROCm opens /dev/kfd and /dev/dri/renderD*, which belong to the group render (or video). A user outside these groups
    gets «Permission denied», and torch sees no GPU.

How to see it yourself
    ls -l /dev/kfd; groups shows the groups of the user; rocminfo.

What to do
    Add the user to the groups render and video and log in again. In a container pass the group: --group-add render.

References
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, heard, in_container, on_mac, on_wsl
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

GROUPS = Remedy(
    action="group-membership",
    details={"groups": "render,video"},
    text="Add the user to the groups render and video, and log in again.",
)

check = Check(
    severity="fault",
    needs=("amd.kfd", "amd.kfd_accessible|messages"),
    systems=("linux",),
    keeps_from=("amd",),
    usual=(GROUPS,),
    explains=("device-crashes", "torch-cpu-only"),
    instead_of=("amd-driver-missing", "no-accelerator", "program-error"),
)

MAY_OPEN = {"render", "video", "root"}  # video: of older distributions
FLAG = Remedy(action="container-flag", details={"flag": "--group-add render"})


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts) or facts.amd.kfd is False or heard(facts, "rock-module-not-loaded"):
        return None
    error = heard(facts, "kfd-permission-denied", "not-in-render-group", "hsa-out-of-resources")
    denied = facts.amd.kfd is True and (facts.amd.kfd_accessible is False or _outside_its_group(facts))
    if (error is None and not denied) or (cuda_works(facts) and error is None):
        return None
    mine = facts.amd.groups
    lacking = f"; the user is in {', '.join(mine) or 'no group'}" if mine is not None else ""
    return check.found(
        facts,
        f"/dev/kfd can't be opened by this user{lacking}: it belongs to the group render (or video).",
        evidence=(quote(error) if error else None, "amd.kfd_accessible", "amd.groups", "host.container"),
        remedies=(GROUPS, FLAG) if in_container(facts) else (GROUPS,),
        confidence="certain" if error or facts.amd.kfd_accessible is False else "likely",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.host.root:
        return Fit(0.05, "root may open every device")
    if facts.amd.groups is None:
        return None
    inside = bool(MAY_OPEN & set(facts.amd.groups))
    return Fit(0.2, "the user is in the devices' group") if inside else Fit(3, "the user is in no group of the devices")


def _outside_its_group(facts: Facts) -> bool:
    """Whether it was not tried to open the node, but torch finds no GPU and the user's groups lack the node's."""
    if facts.amd.kfd_accessible is not None:
        return False
    mine = facts.amd.groups
    if heard(facts, "no-hip-gpus"):
        return mine is None or not {"render", "root"} & set(mine)
    torch = installed(facts)
    refused = torch is not None and bool(torch.hip) and torch.cuda_available is False
    return refused and mine is not None and not MAY_OPEN & set(mine)

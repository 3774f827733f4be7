"""A sandbox keeps the GPU from this process.

What it means
    The machine has a usable GPU and everything on it fits, but the process runs confined: in the sandbox of a coding
    agent or an app (macOS seatbelt), as a daemon, or with device rules that forbid the GPU's nodes. Metal then lists
    no device, or opening /dev/nvidia0 is not permitted.

How to see it yourself
    Run the same command in a plain Terminal: python -c "import torch; print(torch.backends.mps.is_available())".

    On Linux: ls -l /dev/nvidia* shows character devices with the major number 195; a masked node is another device or
    an ordinary file.

What to do
    Let the sandbox open the GPU, or run torch outside it; inside it the CPU works.

References
    https://github.com/pytorch/pytorch/issues/177819
    https://github.com/openai/codex/issues/10199
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    absent,
    apple_silicon,
    cuda_works,
    heard,
    mac_guest,
    macos,
    older,
    on_mac,
    on_wsl,
    sandboxed,
    shown,
    wants,
)
from doctor.checks._torch import installed, quote, release_of
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

OPEN = Remedy(
    action="system-setting",
    details={"setting": "sandbox", "value": "let it open the GPU, or run the command outside it"},
    text="Let the sandbox open the GPU, or run the command outside it.",
)
UNMASK = Remedy(
    action="system-setting",
    details={"setting": "device-nodes", "value": "the driver's own devices"},
    text="Remove what masks the nodes (a bind mount over them, a rule of the container or the service), or start the "
    "process where they are the driver's.",
)
CPU = Remedy(action="none", details={"reason": "inside the sandbox torch can use the CPU"})

check = Check(
    severity="fault",
    needs=("host.sandbox", "nvidia.device_nodes", "nvidia.false_nodes", "messages"),
    keeps_from=("nvidia", "apple"),
    usual=(OPEN, CPU),
    explains=("device-crashes",),
    instead_of=(
        "mps-unavailable",
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "gpu-hidden",
        "gpu-hardware-fault",
        "no-accelerator",
        "nvidia-uvm-broken",
        "container-without-gpu",
    ),
)


@check
def judge(facts: Facts) -> Judgement:
    return _metal(facts) if on_mac(facts) else _nodes(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if box := sandboxed(facts):
        return Fit(5, f"this process runs in a sandbox ({box})")
    if facts.nvidia.false_nodes:
        return Fit(5, "a node in /dev is not the driver's device")
    if facts.nvidia.nodes_accessible is not None:
        may = facts.nvidia.nodes_accessible
        return Fit(0.05, "the GPU's nodes can be opened") if may else Fit(4, "the GPU's nodes can't be opened")
    return Fit(0.3, "nothing says that this process runs in a sandbox")


def _metal(facts: Facts) -> Judgement:
    """Everything fits, the sandbox is known, and MPS is refused."""
    box, torch = sandboxed(facts), installed(facts)
    if box is None or torch is None or torch.mps_available or facts.interpreter.translated or mac_guest(facts):
        return None
    error = heard(facts, "mps-needs-newer-macos", "mps-built-not-available")
    refused = torch.mps_available is False or error is not None
    if not refused or torch.mps_built is False or not (apple_silicon(facts) or facts.host.architecture is None):
        return None
    have, release = macos(facts), release_of(facts)
    need = lookup.mps_minimum(release) if release else None
    if have and need and older(have, need):
        return None
    return check.found(
        facts,
        f"This process runs in a sandbox ({box}), which hides the GPU of this Mac from it.",
        evidence=(
            quote(error) if error else None,
            "host.sandbox",
            "host.macos",
            "torch.mps_built",
            "torch.mps_available",
        ),
        remedies=(OPEN, CPU),
        sandbox=box,
    )


def _nodes(facts: Facts) -> Judgement:
    """NVIDIA's nodes are there, and are not the driver's devices, or can't be opened."""
    nvidia = facts.nvidia
    if on_wsl(facts):
        return None
    if nvidia.false_nodes:
        return _masked(facts, nvidia.false_nodes)
    error = heard(facts, "nvml-insufficient-permissions", "cuda-error-304", "container-cli-not-permitted")
    if error is None and absent(facts.host.wsl) and facts.host.system in (None, "linux"):
        error = heard(facts, "wsl-gpu-access-blocked")  # NVML's words for an error of the system, also outside WSL
    shut = nvidia.closed_nodes or ()
    if shut and set(shut) < set(nvidia.device_nodes or ()) and (nvidia.cuinit == 0 or cuda_works(facts)):
        return _partly(facts, shut)
    confined = bool(facts.host.container or sandboxed(facts) or facts.host.root)
    closed = nvidia.nodes_accessible is False and bool(nvidia.device_nodes) and nvidia.cuinit != 0 and confined
    no_uvm = nvidia.uvm_node is False and bool(nvidia.device_nodes)  # then that is why CUDA's start fails
    if (error is None and not closed) or (no_uvm and not closed) or cuda_works(facts):
        return None
    named = nvidia.closed_nodes or nvidia.device_nodes
    nodes = f" ({', '.join(named[:3])})" if named else ""
    box = sandboxed(facts) or (str(facts.host.container) if facts.host.container else None)
    return check.found(
        facts,
        f"The GPU's nodes{nodes} are there, but this process may not open them{f' ({box})' if box else ''}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.device_nodes",
            "nvidia.nodes_accessible",
            "host.sandbox",
            "host.container",
        ),
        severity=None if wants(facts, "cuda") or facts.torch is None else "warning",
        remedies=(OPEN, CPU),
        confidence="certain" if closed else "likely",
    )


def _masked(facts: Facts, false: tuple[str, ...]) -> Judgement:
    """Something stands in the place of the nodes: another device (/dev/null), or a file."""
    works = cuda_works(facts)
    all_is_well = works and not any(node[-1].isdigit() for node in false)
    what = "is no device of the driver" if len(false) == 1 else "are no devices of the driver"
    return check.found(
        facts,
        f"{', '.join(false[:4])} {what}: something masks "
        + ("a GPU, and torch sees only the others." if works else "the GPU."),
        evidence=("nvidia.false_nodes", "nvidia.cuinit", "nvidia.smi_error", "host.container", shown(facts, "nvidia")),
        severity="note" if all_is_well else None if wants(facts, "cuda") or facts.torch is None else "warning",
        remedies=(UNMASK, OPEN, CPU),
        nodes=", ".join(false),
    )


def _partly(facts: Facts, closed: tuple[str, ...]) -> Judgement:
    """Some GPUs are this process's, others are not: a batch system or the container's start shares them out."""
    others = tuple(node for node in closed if node[-1].isdigit())
    if not others:
        return None
    return check.found(
        facts,
        f"This process may not open {', '.join(others[:4])}: those GPUs were not given to it.",
        evidence=("nvidia.closed_nodes", "nvidia.device_nodes", "host.container", "environ.SLURM_JOB_ID"),
        severity="note",
        remedies=(Remedy(action="none", details={"reason": "the GPUs that were given to this process can be used"}),),
        nodes=", ".join(others),
    )

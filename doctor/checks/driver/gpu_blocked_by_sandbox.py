"""A sandbox keeps the GPU from this process.

What it means
    The machine has a usable GPU and everything on it fits, but the process runs confined: in the sandbox of a coding
    agent or an app (macOS seatbelt), as a daemon, or with device rules that forbid the GPU's nodes. Metal then lists
    no device, or opening /dev/nvidia0 is not permitted.

How to see it yourself
    Run the same command in a plain Terminal: python -c "import torch; print(torch.backends.mps.is_available())".

What to do
    Let the sandbox open the GPU, or run torch outside it; inside it the CPU works.

References
    https://github.com/pytorch/pytorch/issues/177819
    https://github.com/openai/codex/issues/10199
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    apple_silicon,
    cuda_works,
    heard,
    mac_guest,
    macos,
    older,
    on_mac,
    on_wsl,
    sandboxed,
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
CPU = Remedy(action="none", details={"reason": "inside the sandbox torch can use the CPU"})

check = Check(
    severity="fault",
    needs=("host.sandbox", "messages"),
    keeps_from=("nvidia", "apple"),
    usual=(OPEN, CPU),
    explains=("device-crashes",),
    instead_of=("mps-unavailable", "nvidia-driver-missing", "gpu-hidden", "no-accelerator", "nvidia-uvm-broken"),
)


@check
def judge(facts: Facts) -> Judgement:
    return _metal(facts) if on_mac(facts) else _nodes(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if box := sandboxed(facts):
        return Fit(5, f"this process runs in a sandbox ({box})")
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
    """The NVIDIA nodes are there and can't be opened."""
    nvidia, error = (
        facts.nvidia,
        heard(facts, "nvml-insufficient-permissions", "cuda-error-304", "container-cli-not-permitted"),
    )
    closed = nvidia.nodes_accessible is False and bool(nvidia.device_nodes) and nvidia.cuinit != 0
    no_uvm = nvidia.uvm_node is False and bool(nvidia.device_nodes)  # then that is why CUDA's start fails
    if (error is None and not closed) or (no_uvm and not closed) or cuda_works(facts) or on_wsl(facts):
        return None
    nodes = f" ({', '.join(nvidia.device_nodes[:3])})" if nvidia.device_nodes else ""
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

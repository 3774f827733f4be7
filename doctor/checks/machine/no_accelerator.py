"""This machine has only its CPU for torch.

What it means
    No GPU that torch could use was seen. That is no fault: torch computes on the CPU, also in a build for CUDA (the
    default on Linux), whose torch.cuda.is_available() is then rightly False.

How to see it yourself
    lspci | grep -i -E 'vga|3d|display' lists graphics controllers on Linux.

What to do
    Nothing. A CPU build of torch is much smaller than the default one; on a machine that should have a GPU, see
    whether it was attached (cloud instance type, container flags, a notebook's runtime type).

References
    https://pytorch.org/get-started/locally/
"""

from __future__ import annotations

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._machine import absent, heard, no_gpu_given, on_mac, service, sign_of_gpu
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

NO_CURE = Remedy(action="none", details={"reason": "a machine without a GPU needs no cure"})
RUNTIME = Remedy(
    action="ask-provider",
    text="Choose a machine with a GPU in the service's settings (Colab: Runtime > Change runtime type), and start "
    "again.",
)
CPU = Remedy(
    action="none",
    details={"reason": "let the program use the CPU"},
    text='Let the program use the CPU: device="cpu" in place of .cuda(), or its own option for that.',
)

check = Check(
    severity="note",
    needs=("host.system|gpus|torch|nvidia.driver",),
    usual=(NO_CURE,),
)


@check
def judge(facts: Facts) -> Judgement:
    torch = installed(facts)
    if on_mac(facts) or facts.host.jetson or facts.gpus:
        return None
    if torch and (torch.cuda_available or torch.mps_available or torch.xpu_available or torch.devices):
        return None
    if any(sign_of_gpu(facts, vendor) for vendor in ("nvidia", "amd")) or facts.nvidia.driver or facts.nvidia.smi_error:
        return None
    if heard(facts, "app-detects-nvidia", "complaint-gpu-lost"):
        return None
    error = heard(facts, "no-cuda-gpus")
    told = not facts.live and torch is not None and torch.cuda_available is False
    known_none = facts.gpus == () or (
        absent(facts.nvidia.driver) and torch is not None and torch.cuda_available is False
    )
    if not known_none and (missed := no_gpu_given(facts)):
        place = service(facts)
        return check.found(
            facts,
            f"The program asks for CUDA, and this machine{f' of {place}' if place else ''} has no NVIDIA GPU"
            + (" now: with a GPU, the service brings the driver along." if place else ", as far as is said."),
            evidence=(quote(missed), "host.virtual_machine"),
            severity="warning",
            remedies=(RUNTIME, CPU) if place else (CPU,),
            confidence="likely",
        )
    if not known_none and not told and error is None:
        return Unknown("whether there is a GPU is not known")
    detail = "No GPU was seen" if known_none else "torch found no GPU, and nothing else shows one"
    return check.found(
        facts,
        f"{detail}: the CPU{f' ({facts.host.cpu_model})' if facts.host.cpu_model else ''} is what torch can use here.",
        evidence=("gpus", "nvidia.driver", "torch.cuda_available", "host.cpu_model", quote(error) if error else None),
        remedies=(NO_CURE,),
        confidence="certain" if known_none else "likely",
    )

"""No build of torch serves this Intel GPU.

What it means
    torch's XPU builds are for Intel's Arc cards, the Data Center GPU Max, and the graphics of Core Ultra processors.
    Older integrated graphics (HD, UHD, Iris, Iris Xe) can show a picture, but no build has ever computed on them. The
    CPU is what torch uses there, and that is no fault.

How to see it yourself
    lspci | grep -i -E 'vga|display' (Windows: the device manager) names the graphics.

What to do
    Nothing: use the CPU. A program that asks for xpu is told to use cpu.

References
    https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html (the supported hardware)
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, named, on_mac, shown, wants
from doctor.checks._torch import gpus_of, installed, quote
from doctor.knowledge import lookup
from doctor.model.facts import Facts, Gpu
from doctor.model.finding import Remedy

CPU = Remedy(action="none", details={"reason": "no build of torch serves this GPU: the CPU is what is left"})

check = Check(
    severity="note",
    needs=("gpus",),
    systems=("linux", "windows"),
    keeps_from=("intel",),
    usual=(CPU,),
    instead_of=("intel-gpu-driver-missing", "torch-cpu-only", "no-accelerator"),
)

CPU_BUILD = Remedy(
    action="reinstall-torch", details={"backend": "cpu"}, text="Install the CPU build, which is far smaller."
)


@check.fit
def fits(facts: Facts) -> Fit | None:
    known = [model for gpu in gpus_of(facts, "intel") if (model := lookup.gpu_model(gpu.name, gpu.pci_id))]
    if any(model.xpu is False for model in known):
        return Fit(8, "the GPU is older than those that XPU builds are for")
    return Fit(0.02, "XPU builds are for GPUs of this kind") if any(model.xpu for model in known) else None


@check
def judge(facts: Facts) -> Judgement:
    intel, torch = gpus_of(facts, "intel"), installed(facts)
    if on_mac(facts) or not intel or not all(map(_is_unsupported, intel)):
        return None
    if torch and (torch.xpu_available or torch.cuda_available):
        return None
    error = heard(facts, "no-xpu-devices", "xpu-driver-not-initialized", "sycl-no-device")
    wanted = wants(facts, "xpu")
    others = any(g.vendor != "intel" for g in facts.gpus or ())
    if others and not wanted:
        return None  # nobody misses it beside a card
    return check.found(
        facts,
        f"{named(intel)} is older than the Intel GPUs that torch's XPU builds are for.",
        evidence=(quote(error) if error else None, shown(facts, "intel"), "torch.version"),
        severity="fault" if wanted else None,
        remedies=(CPU_BUILD, CPU) if wanted else (CPU,),
        gpu=named(intel),
    )


def _is_unsupported(gpu: Gpu) -> bool:
    model = lookup.gpu_model(gpu.name, gpu.pci_id)
    return model is not None and model.xpu is False

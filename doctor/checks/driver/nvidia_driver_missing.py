"""There is an NVIDIA GPU, and no NVIDIA driver.

What it means
    torch's CUDA builds bring their own CUDA libraries, but not the driver: that is the system's. Without it the GPU
    can't be used, also where Linux's free nouveau driver shows a picture with it.

How to see it yourself
    lspci -k | grep -A3 -i nvidia shows the GPU and its «Kernel driver in use»; nvidia-smi is not found, or shows
    nothing.

What to do
    Install NVIDIA's driver (not the CUDA toolkit) and restart the machine.

References
    https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    https://www.nvidia.com/en-us/drivers/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement, Unknown
from doctor.checks._machine import (
    absent,
    cuda_works,
    heard,
    in_container,
    named,
    no_gpu_given,
    on_mac,
    on_wsl,
    only_others,
    shown,
    sign_of_gpu,
    wants,
)
from doctor.checks._torch import gpus_of, installed, numbers, quote
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("nvidia.driver", "gpus"),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    even_if_imported=True,
    usual=(Remedy(action="install-driver"),),
    explains=("torch-cpu-only", "no-accelerator", "device-crashes"),
    instead_of=("gpu-hidden", "program-error", "shared-library-missing", "torch-import-crashes"),
)

SMALLEST = (3, 5)  # no published torch has run on GPUs of a lower compute capability for years


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts) or in_container(facts) or facts.host.jetson or cuda_works(facts):
        return None
    if facts.nvidia.driver or facts.nvidia.smi_error or facts.nvidia.library or only_others(facts, "nvidia"):
        return None
    if _given_away(facts) or no_gpu_given(facts) or (facts.gpus == () and not facts.live):
        return None
    error, seen = (
        heard(facts, "found-no-nvidia-driver", "smi-no-libnvidia-ml", "libcuda-not-found", "nvml-library-not-found"),
        sign_of_gpu(facts, "nvidia"),
    )
    if error:
        return _found(facts, error, "certain" if seen else "likely")
    nouveau = heard(facts, "nouveau-in-use")
    if facts.nvidia.nouveau or nouveau:
        return _found(facts, nouveau, "certain")
    gone = absent(facts.nvidia.driver) or absent(facts.nvidia.kernel_module)
    not_found = heard(facts, "nvidia-smi-not-found")
    if seen and (gone or not_found):
        return _found(facts, not_found, "certain" if absent(facts.nvidia.driver) else "likely")
    if not_found and wants(facts, "cuda"):
        return _found(facts, not_found, "likely")
    if seen and facts.nvidia.driver is None:
        return Unknown("whether there is an NVIDIA driver is not known")
    return None


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.nvidia.driver:
        return Fit(0, f"driver {facts.nvidia.driver} is there")
    if heard(facts, "smi-works"):
        return Fit(0, "nvidia-smi reached a driver")
    if facts.gpus == () and not facts.live:
        return Fit(0, "there is no GPU that a driver could be missing for")
    if in_container(facts) or on_wsl(facts):
        return Fit(0.05, "the driver is the host's here")
    return Fit(6, "the nouveau driver has the GPU") if facts.nvidia.nouveau else None


def _given_away(facts: Facts) -> bool:
    """All NVIDIA GPUs are reserved for virtual machines: no driver is wanted here."""
    gpus = gpus_of(facts, "nvidia")
    return bool(gpus) and all(g.driver in ("vfio-pci", "pci-stub") for g in gpus)


def _found(facts: Facts, error: ErrorText | None, confidence: str) -> Judgement:
    gpus = gpus_of(facts, "nvidia")
    nouveau = (
        facts.nvidia.nouveau
        or any(g.driver == "nouveau" for g in gpus)
        or (error and error.pattern == "nouveau-in-use")
    )
    what = f"{named(gpus)} is there" if gpus else "torch looks for an NVIDIA GPU"
    runs = "; the nouveau driver that runs it can't do CUDA" if nouveau else ""
    capabilities = [g.capability or _capability(g.name, g.pci_id) for g in gpus]
    useless = bool(gpus) and all(c and numbers(c) < SMALLEST for c in capabilities)
    return check.found(
        facts,
        f"{what}, and no NVIDIA driver is loaded or installed{runs}.",
        evidence=(
            shown(facts, "nvidia"),
            "nvidia.driver",
            "nvidia.kernel_module",
            "nvidia.nouveau",
            quote(error) if error else None,
        ),
        severity="note" if useless else None,
        title=None if gpus or sign_of_gpu(facts, "nvidia") else "CUDA is wanted, and no NVIDIA driver is found.",
        remedies=(
            Remedy(action="install-driver", details=_minimum(facts)),
            Remedy(action="none", details={"reason": "the CPU can be used without a driver"}),
        ),
        confidence=confidence,
        gpu=named(gpus) if gpus else None,
    )


def _capability(name: str | None, pci_id: str | None) -> str | None:
    model = lookup.gpu_model(name, pci_id)
    return model.capability if model else None


def _minimum(facts: Facts) -> dict[str, str]:
    """The oldest driver that will do for the torch that is installed."""
    torch = installed(facts)
    if not isinstance(torch, Torch) or not torch.cuda:
        return {}
    need = lookup.driver_need(str(torch.cuda), "windows" if facts.host.system == "windows" else "linux")
    return {"minimum": need.minimum} if need else {}

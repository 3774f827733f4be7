"""The NVIDIA kernel module is of the flavour that this GPU does not work with.

What it means
    NVIDIA's driver comes with two kernel modules. The open one runs GPUs from Turing (compute capability 7.5) on; from
    Blackwell (10.0) on it is the only one that does. With the wrong one the driver loads and finds no GPU: «No devices
    were found». The same is seen where the firmware gives the GPU no address range (Above 4G Decoding or Resizable BAR
    off), which newer GPUs with much memory need.

How to see it yourself
    cat /proc/driver/nvidia/version says «Open Kernel Module» or not; sudo dmesg | grep NVRM says which one is needed.

What to do
    Install the other flavour of the same driver (Ubuntu: packages with -open in their name), and restart. Where dmesg
    speaks of BARs: switch on Above 4G Decoding and Resizable BAR in the firmware's settings.

References
    https://developer.nvidia.com/blog/nvidia-transitions-fully-towards-open-source-gpu-kernel-modules/
    https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus
    https://github.com/NVIDIA/open-gpu-kernel-modules/pull/1109 (Resizable BAR)
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_refused, cuda_works, heard, in_container, on_mac, on_wsl, shown
from doctor.checks._torch import capability_of, gpus_of, numbers, quote
from doctor.model.facts import ErrorText, Facts, Gpu
from doctor.model.finding import Remedy

OPEN = Remedy(
    action="install-driver",
    details={"flavour": "open"},
    text="Install the driver with the open kernel modules (packages with -open in their name): this GPU needs them.",
)
PROPRIETARY = Remedy(
    action="install-driver",
    details={"flavour": "proprietary"},
    text="Install the driver with the proprietary kernel modules (packages without -open): this GPU needs them.",
)
FIRMWARE = Remedy(
    action="system-setting",
    details={"setting": "firmware", "value": "Above 4G Decoding and Resizable BAR on"},
    text="Switch on Above 4G Decoding and Resizable BAR in the firmware's settings (BIOS), or update the firmware.",
)
REBOOT = Remedy(action="reboot")

check = Check(
    severity="fault",
    needs=("nvidia.module_flavour|nvidia.kernel_module", "gpus", "messages"),
    systems=("linux",),
    keeps_from=("nvidia",),
    usual=(OPEN, REBOOT),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "nvidia-driver-not-running",
        "gpu-hardware-fault",
        "gpu-hidden",
        "no-accelerator",
        "nvidia-uvm-broken",
        "program-error",
    ),
)

NEEDS_OPEN, OPEN_FROM = (10, 0), (7, 5)  # Blackwell; Turing
NO_DEVICE = 100  # cuInit


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts) or cuda_works(facts):
        return None
    if error := heard(facts, "needs-open-kernel-modules"):
        return _found(facts, "The proprietary kernel module is loaded, and this GPU works with the open one only.",
                      OPEN, error)  # fmt: skip
    if error := heard(facts, "open-modules-refuse-gpu"):
        return _found(facts, "The open kernel module is loaded, and this GPU works with the proprietary one only.",
                      PROPRIETARY, error)  # fmt: skip
    if error := heard(facts, "pci-region-invalid"):
        return _found(facts, "The firmware gives the GPU no usable address range (BAR).", FIRMWARE, error)
    return _by_flavour(facts)


def _by_flavour(facts: Facts) -> Judgement:
    """No message, but the module's flavour, the GPU's generation, and a driver that finds no GPU."""
    fails = heard(facts, "smi-no-devices", "rm-init-adapter-failed") or facts.nvidia.cuinit == NO_DEVICE
    if not fails or in_container(facts) or facts.nvidia.gpus_seen:
        return None
    for gpu in gpus_of(facts, "nvidia"):
        if facts.nvidia.module_flavour == "proprietary" and _at_least(gpu, NEEDS_OPEN):
            return _found(facts, f"The proprietary kernel module is loaded; {_name(gpu)} needs the open one.", OPEN)
        if facts.nvidia.module_flavour == "open" and _older(gpu, OPEN_FROM):
            return _found(facts, f"The open kernel module is loaded; {_name(gpu)} needs the proprietary one.",
                          PROPRIETARY)  # fmt: skip
    return None


def _name(gpu: Gpu) -> str:
    return gpu.name or "this GPU"


def _at_least(gpu: Gpu, capability: tuple[int, int]) -> bool:
    own = capability_of(gpu)
    return own is not None and numbers(own) >= capability


def _older(gpu: Gpu, capability: tuple[int, int]) -> bool:
    own = capability_of(gpu)
    return own is not None and numbers(own) < capability


def _found(facts: Facts, detail: str, remedy: Remedy, error: ErrorText | None = None) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "nvidia.module_flavour",
            "nvidia.smi_error",
            shown(facts, "nvidia"),
            "nvidia.driver",
        ),
        remedies=(remedy, REBOOT),
        confidence="certain" if error or cuda_refused(facts) else "likely",
    )


@check.fit
def fit(facts: Facts) -> Fit | None:
    """Blackwell GPUs under a distribution's default driver are the usual case."""
    if any(_at_least(gpu, NEEDS_OPEN) for gpu in gpus_of(facts, "nvidia")):
        return Fit(3, "a Blackwell GPU, which runs with the open kernel modules only")
    return Fit(0.1, "this GPU runs with either flavour") if gpus_of(facts, "nvidia") else None

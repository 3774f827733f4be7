"""The GPU or its connection fails.

What it means
    The driver lost the GPU («fallen off the bus», Xid 79), its memory has errors that can't be corrected (ECC), or it
    does not come up at all («No devices were found»). No torch build cures that.

How to see it yourself
    sudo dmesg | grep -i -E 'xid|nvrm' lists what the driver reported; nvidia-smi -q -d ECC the memory errors.

What to do
    Restart once, from power off. If it comes back, have power, cooling, slot and the card itself looked after.

References
    https://docs.nvidia.com/deploy/xid-errors/
    https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, heard, in_container, named, shown
from doctor.checks._torch import capability_of, gpus_of, numbers, quote
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

SERVICE = Remedy(action="hardware-service")
REBOOT = Remedy(action="reboot")

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    usual=(REBOOT, SERVICE),
    explains=("torch-cpu-only", "device-crashes", "device-wrong-results"),
    instead_of=(
        "nvidia-driver-not-running",
        "gpu-busy",
        "gpu-hidden",
        "no-accelerator",
        "nvidia-uvm-broken",
        "program-error",
    ),
)

INSTALL = Remedy(
    action="install-driver", text="Install the driver variant that knows this GPU (open or closed kernel modules)."
)

# Xid numbers (NVIDIA's table) that mean a broken GPU, link or firmware, with what they stand for.
BROKEN = {
    48: "a memory error that can't be corrected",
    62: "an internal halt",
    64: "a failed repair of memory rows",
    74: "an NVLink error",
    79: "the GPU has fallen off the bus",
    95: "an uncontained memory error",
    119: "a timeout of the GPU's firmware",
    120: "an error of the GPU's firmware",
    140: "an unrecovered memory error",
}
WORN = {63: "memory rows were replaced", 92: "a high rate of corrected memory errors", 94: "a contained memory error"}


@check
def judge(facts: Facts) -> Judgement:
    return _lost(facts) or _memory(facts) or _xid(facts) or _reported(facts) or _nothing_found(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.nvidia.xids:
        return Fit(4, f"the driver reported Xid {facts.nvidia.xids[0]}")
    return Fit(0.1, "CUDA starts") if facts.nvidia.cuinit == 0 or cuda_works(facts) else None


def _reported(facts: Facts) -> Judgement:
    """nvidia-smi can't read the GPU's sensors any more; Windows has stopped the device."""
    if error := heard(facts, "windows-code-43"):
        again = Remedy(action="install-driver", text="Remove the driver (DDU) and install the current one.")
        return _found(facts, "Windows has stopped the GPU: code 43.", error, (again, SERVICE, REBOOT), "likely")
    error = heard(facts, "smi-err-fields")
    if error is None or cuda_works(facts):
        return None
    return _found(facts, "nvidia-smi gets errors in place of the GPU's values.", error, (REBOOT, SERVICE), "likely")


def _lost(facts: Facts) -> Judgement:
    error = heard(facts, "gpu-fell-off-the-bus", "smi-no-device-handle")
    if error is None:
        return None
    return _found(
        facts, f"The driver can't reach {named(gpus_of(facts, 'nvidia'))} any more.", error, (REBOOT, SERVICE)
    )


def _memory(facts: Facts) -> Judgement:
    error = heard(facts, "uncorrectable-ecc")
    if error is None:
        return None
    return _found(
        facts,
        f"The memory of {named(gpus_of(facts, 'nvidia'))} has errors that can't be corrected (ECC).",
        error,
        (SERVICE, REBOOT),
    )


def _xid(facts: Facts) -> Judgement:
    error = heard(facts, "nvrm-xid")
    numbers_seen = [int(n) for n in re.findall(r"Xid[^:]*: ?(?:\([^)]*\): )?(\d+)", error.text)] if error else []
    seen = [*numbers_seen, *(facts.nvidia.xids or ())]
    worst = next((x for x in seen if x in BROKEN), None)
    if worst is not None:
        order = (REBOOT, SERVICE) if worst in (79, 119, 120, 62) else (SERVICE, REBOOT)
        return _found(facts, f"The driver reported Xid {worst}: {BROKEN[worst]}.", error, order, xid=worst)
    worn = next((x for x in seen if x in WORN), None)
    if worn is None:
        return None
    return check.found(
        facts,
        f"The driver reported Xid {worn}: {WORN[worn]}. The GPU works, but its memory wears out.",
        evidence=(quote(error) if error else None, "nvidia.xids"),
        severity="warning",
        remedies=(REBOOT, SERVICE),
        xid=worn,
    )


def _nothing_found(facts: Facts) -> Judgement:
    """«No devices were found»: the driver runs and could bring up no GPU."""
    error = heard(facts, "smi-no-devices", "rm-init-adapter-failed")
    if (
        error is None or in_container(facts) or cuda_works(facts) or heard(facts, "needs-open-kernel-modules")
    ):  # of the wrong flavour
        return None
    gpus, driver = gpus_of(facts, "nvidia"), facts.nvidia.driver
    for gpu in gpus:
        capability = capability_of(gpu)
        last = lookup.branches_of(capability)[1] if capability else None
        if last and driver and numbers(str(driver))[:1] > (last,):
            older = Remedy(
                action="install-driver",
                details={"last": str(last)},
                text=f"Install a driver of branch {last}, the last for this GPU.",
            )
            return _found(
                facts,
                f"Driver {driver} no longer knows {gpu.name}; branch {last} was the last that did.",
                error,
                (older, REBOOT),
            )
    return _found(
        facts,
        "The driver runs, but could not bring up any GPU.",
        error,
        (REBOOT, SERVICE, INSTALL),
        confidence="likely",
    )


def _found(
    facts: Facts,
    detail: str,
    error: ErrorText | None,
    remedies: tuple[Remedy, ...],
    confidence: str = "certain",
    xid: int | None = None,
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "nvidia.xids",
            "nvidia.smi_error",
            shown(facts, "nvidia"),
            "nvidia.driver",
        ),
        remedies=remedies,
        confidence=confidence,
        xid=xid,
    )

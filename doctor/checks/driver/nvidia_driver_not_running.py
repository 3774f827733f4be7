"""The NVIDIA driver is installed, but its kernel module is not running.

What it means
    nvidia-smi and the driver's libraries are there, the kernel module is not: it was not built for a new kernel,
    Secure Boot refuses its signature, another driver (nouveau) holds the GPU, or it was never loaded.

How to see it yourself
    lsmod | grep nvidia is empty; sudo modprobe nvidia says why; mokutil --sb-state shows whether Secure Boot is on.

What to do
    Load the module. If that fails, install the driver again for the running kernel (with its headers), or enrol the
    module's key for Secure Boot; then restart.

References
    https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/
    https://wiki.ubuntu.com/UEFI/SecureBoot/DKMS
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    absent,
    cuda_works,
    driver_lists_gpus,
    heard,
    in_container,
    named,
    on_mac,
    on_wsl,
    only_others,
)
from doctor.checks._torch import gpus_of, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

LOAD = Remedy(action="load-module", details={"module": "nvidia"})
INSTALL = Remedy(
    action="install-driver",
    details={"headers": "yes"},
    text="Install the NVIDIA driver again, with the headers of the running kernel.",
)
REBOOT = Remedy(action="reboot")

check = Check(
    severity="fault",
    needs=("nvidia.kernel_module|messages",),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    usual=(LOAD, INSTALL, REBOOT),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=("nvidia-driver-missing", "gpu-hidden", "no-accelerator", "nvidia-uvm-broken", "program-error"),
)

ENROL = Remedy(
    action="system-setting",
    details={"setting": "secure-boot", "value": "enrol the module's key, or switch Secure Boot off"},
    text="Enrol the key that signs the kernel module (sudo mokutil --import KEY, then restart and confirm), or switch "
    "Secure Boot off in the firmware.",
)


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts):
        return None
    if error := heard(facts, "nvml-driver-not-loaded"):  # of the host, also where a container was to be started
        return _found(facts, "The driver's kernel module is not loaded.", error)
    if error := heard(facts, "container-cli-driver-error"):  # of the host too
        return _found(facts, "The host's driver does not answer the container toolkit.", error, (INSTALL, LOAD, REBOOT))
    if in_container(facts):
        return None
    if facts.gpus == () or only_others(facts, "nvidia"):
        return None  # libraries of the driver on a machine without an NVIDIA GPU
    if error := heard(facts, "nvidia-module-not-loadable"):
        return _refused(facts, error)
    if error := heard(facts, "smi-cannot-reach-driver"):
        return _found(
            facts, "nvidia-smi is there, but can't talk to the driver: its kernel module is not running.", error
        )
    halves = facts.nvidia.library or facts.nvidia.libcuda
    if halves and absent(facts.nvidia.kernel_module) and gpus_of(facts, "nvidia") and facts.host.system == "linux":
        if cuda_works(facts) or facts.host.jetson:
            return None
        return _found(
            facts,
            "The driver's libraries are installed, but no nvidia module is loaded "
            f"for {named(gpus_of(facts, 'nvidia'))}.",
        )
    return None


@check.fit
def fits(facts: Facts) -> Fit | None:
    if driver_lists_gpus(facts):
        return Fit(0.02, "nvidia-smi reached the driver")
    if absent(facts.nvidia.driver):
        return Fit(0.2, "no driver is installed")
    return Fit(0.1, "the kernel module is the host's here") if in_container(facts) or on_wsl(facts) else None


def _refused(facts: Facts, error: ErrorText) -> Judgement:
    """modprobe says why: no module for this kernel, or Secure Boot."""
    if "key" in error.text.lower():
        return _found(
            facts,
            "Secure Boot refuses the NVIDIA module: its signing key is not enrolled.",
            error,
            (ENROL, INSTALL, REBOOT),
        )
    if "not found in directory" in error.text:
        return _found(facts, "There is no NVIDIA module for the running kernel.", error, (INSTALL, LOAD, REBOOT))
    return _found(facts, f"The NVIDIA module can't be loaded: {error.text}", error, (INSTALL, LOAD, REBOOT))


def _found(
    facts: Facts, detail: str, error: ErrorText | None = None, remedies: tuple[Remedy, ...] = (LOAD, INSTALL, REBOOT)
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "nvidia.smi_error",
            "nvidia.kernel_module",
            "nvidia.library",
            "host.kernel",
        ),
        remedies=remedies,
    )

"""There is an AMD GPU, and its compute driver is not loaded.

What it means
    ROCm needs the kernel module amdgpu and its node /dev/kfd. Without them torch's ROCm build says «No HIP GPUs are
    available», and rocminfo «ROCk module is NOT loaded».

How to see it yourself
    lsmod | grep amdgpu; ls -l /dev/kfd; rocminfo.

What to do
    Load the module, or install AMD's driver for the running kernel, and restart.

References
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/
    https://github.com/ROCm/ROCm/issues/1807
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, heard, in_container, named, on_mac, on_wsl, shown
from doctor.checks._torch import gfx_of, gpus_of, installed, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

REMEDIES = (
    Remedy(action="load-module", details={"module": "amdgpu"}),
    Remedy(action="install-driver", details={"vendor": "amd"}),
    Remedy(action="reboot"),
)

check = Check(
    severity="fault",
    needs=("gpus", "amd.kernel_driver"),
    systems=("linux",),
    keeps_from=("amd",),
    usual=REMEDIES,
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=("no-accelerator", "program-error"),
)


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or on_wsl(facts) or cuda_works(facts):
        return None
    if error := heard(facts, "docker-no-kfd"):  # said by the daemon, of the host
        return _found(facts, "The host has no /dev/kfd to hand to a container: amdgpu offers no compute there.", error)
    if in_container(facts):
        return None
    gpus = gpus_of(facts, "amd")
    if error := heard(facts, "rock-module-not-loaded", "amdgpu-not-in-modules"):
        return _found(facts, "ROCm's kernel module is not loaded.", error)
    if facts.gpus is not None and not gpus:
        return None  # another vendor's GPU, or none: a matter of the build
    if (error := heard(facts, "no-hip-gpus")) and not facts.amd.kfd and facts.amd.kernel_driver is not True:
        return _found(
            facts,
            "torch's ROCm build finds no GPU: most often amdgpu's compute node /dev/kfd is missing.",
            error,
            confidence="certain" if facts.amd.kfd is False else "likely",
        )
    if not gpus or facts.host.system != "linux" or facts.amd.kernel_driver is not False or facts.amd.kfd:
        return None
    if all(g.driver in ("vfio-pci", "pci-stub") for g in gpus):
        return None
    torch = installed(facts)
    wanted = bool(torch and torch.hip)
    if not wanted and not any(gfx_of(g) for g in gpus):
        return None  # graphics of a server's board, or too old for ROCm
    return _found(facts, f"{named(gpus)} is there, and the amdgpu module is not loaded.", None, warn=not wanted)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if in_container(facts) or on_wsl(facts):
        return Fit(0.02, "the kernel module is the host's here")
    if facts.amd.kernel_driver:
        return Fit(0.1, "the amdgpu module is loaded")
    return Fit(4, "the amdgpu module is not loaded") if facts.amd.kernel_driver is False else None


def _found(
    facts: Facts, detail: str, error: ErrorText | None, confidence: str = "certain", *, warn: bool = False
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(quote(error) if error else None, shown(facts, "amd"), "amd.kernel_driver", "amd.kfd", "host.kernel"),
        severity="warning" if warn else None,
        remedies=REMEDIES,
        confidence=confidence,
    )

"""ROCm finds no GPU inside WSL.

What it means
    WSL has no /dev/kfd and no amdgpu module: the GPU comes through /dev/dxg, from AMD's driver of Windows. ROCm reaches
    it only with the packages made for WSL, with a current driver in Windows, and for the GPUs that AMD lists. What
    works on Linux itself (amdgpu-dkms, groups, /dev/kfd) does not apply.

How to see it yourself
    ls /dev/dxg; rocminfo says «WSL environment detected» and lists the GPU, or finds none.

What to do
    Install AMD's current Adrenalin driver in Windows, ROCm's packages for WSL inside it, and restart WSL
    (wsl --shutdown). Recent ROCm wants HSA_ENABLE_DXG_DETECTION=1.

References
    https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/howto_wsl.html
    https://github.com/ROCm/librocdxg
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, cuda_works, heard, on_wsl, only_others, shown
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

DRIVER = Remedy(
    action="upgrade-driver",
    details={"vendor": "amd"},
    text="Install AMD's current driver (Adrenalin) in Windows and ROCm's packages for WSL, then: wsl --shutdown.",
)
DETECTION = Remedy(action="set-env", details={"name": "HSA_ENABLE_DXG_DETECTION", "value": "1"})
TO_WSL2 = Remedy(
    action="system-setting",
    details={"setting": "wsl-version", "value": "2"},
    text="Convert the distribution to WSL 2: wsl --set-version NAME 2.",
)
UPDATE = Remedy(
    action="system-setting",
    details={"setting": "wsl-update", "value": "wsl --update"},
    text="Update WSL itself, in PowerShell: wsl --update, then wsl --shutdown.",
)

check = Check(
    severity="fault",
    needs=("host.wsl", "torch", "messages"),
    systems=("linux",),
    keeps_from=("amd",),
    usual=(DRIVER, DETECTION, UPDATE),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "amd-driver-missing",
        "gpu-permission-denied",
        "container-without-gpu",
        "wsl-driver-misconfigured",
        "gpu-hidden",
        "no-accelerator",
        "program-error",
    ),
)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if on_wsl(facts):
        return Fit(6, "this is WSL")
    return Fit(0, "this is no WSL") if absent(facts.host.wsl) else Fit(0.2, "nothing speaks of WSL")


@check
def judge(facts: Facts) -> Judgement:
    if not on_wsl(facts) or cuda_works(facts) or only_others(facts, "amd"):
        return None
    error = heard(facts, "rock-module-not-loaded", "hsa-init-no-gpu", "amdgpu-not-in-modules", "no-hip-gpus",
                  "kfd-not-there")  # fmt: skip
    torch = installed(facts)
    refused = torch is not None and bool(torch.hip) and torch.cuda_available is False
    if error is None and not refused:
        return None
    old = facts.host.wsl == 1
    without = " It is WSL 1, which has no GPU at all." if old else ""
    return check.found(
        facts,
        f"ROCm finds no GPU in this WSL: it needs AMD's driver for Windows and ROCm's WSL packages.{without}",
        evidence=(
            quote(error) if error else None,
            "host.wsl",
            "host.dxg",
            "amd.rocm",
            "torch.version",
            shown(facts, "amd"),
        ),
        remedies=(TO_WSL2, DRIVER) if old else (DRIVER, DETECTION, UPDATE),
        confidence="certain" if refused and facts.live else "likely",
    )

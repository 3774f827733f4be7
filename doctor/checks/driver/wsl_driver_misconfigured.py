"""Under WSL the GPU's driver is not set up as WSL needs it.

What it means
    In WSL 2 the driver is that of Windows; its Linux half lies in /usr/lib/wsl/lib. A Linux driver installed inside
    WSL hides it, an old Windows driver does not offer it, and WSL 1 has no GPU at all.

How to see it yourself
    uname -r ends with microsoft-standard-WSL2 in WSL 2; ls /usr/lib/wsl/lib; dpkg -l | grep -i nvidia must show no
    driver; /usr/lib/wsl/lib/nvidia-smi shows the GPU.

What to do
    WSL 1: convert the distribution (wsl --set-version NAME 2). WSL 2: remove Linux NVIDIA driver packages, put
    /usr/lib/wsl/lib on the library path, and update the Windows driver and WSL (wsl --update).

References
    https://docs.nvidia.com/cuda/wsl-user-guide/
    https://learn.microsoft.com/windows/wsl/tutorials/gpu-compute
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, cuda_works, heard, in_container, on_wsl, only_others, wants
from doctor.checks._torch import installed, numbers, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

FOLDER = "/usr/lib/wsl/lib"
PATH = Remedy(action="set-env", details={"name": "LD_LIBRARY_PATH", "value": FOLDER})
WINDOWS_DRIVER = Remedy(
    action="upgrade-driver",
    text="Update the NVIDIA driver of Windows (never install one inside WSL), then: wsl --shutdown.",
)
UPDATE = Remedy(
    action="system-setting",
    details={"setting": "wsl-update", "value": "wsl --update"},
    text="Update WSL itself, in PowerShell: wsl --update, then wsl --shutdown.",
)

check = Check(
    severity="fault",
    needs=("host.wsl", "nvidia.cuinit|messages"),
    systems=("linux",),
    keeps_from=("nvidia",),
    usual=(WINDOWS_DRIVER, PATH, UPDATE),
    explains=("device-crashes",),
    instead_of=(
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "nvidia-driver-library-mismatch",
        "gpu-hidden",
        "no-accelerator",
        "shared-library-missing",
        "library-path-conflict",
        "nvidia-uvm-broken",
        "gpu-hardware-fault",
        "program-error",
    ),
)

TO_WSL2 = Remedy(
    action="system-setting",
    details={"setting": "wsl-version", "value": "2"},
    text="Convert the distribution to WSL 2: wsl --set-version NAME 2.",
)


@check
def judge(facts: Facts) -> Judgement:
    wsl = facts.host.wsl
    if absent(wsl):
        return None
    if wsl == 1:
        return _wsl1(facts)
    if mixed := _linux_packages(facts):
        return mixed
    if error := heard(facts, "wsl-no-adapters"):
        return _found(
            facts,
            "Windows shows this WSL no GPU: it is WSL 1, or the driver of Windows is missing or too old.",
            error,
            (TO_WSL2, WINDOWS_DRIVER, UPDATE),
        )
    if wsl and (error := heard(facts, "nvml-driver-not-loaded", "container-cli-driver-error")):
        return _found(
            facts, "The container toolkit finds no driver of Windows in this WSL.", error, (WINDOWS_DRIVER, UPDATE)
        )
    if wsl and (error := heard(facts, "libcudnn-needs-libcuda")):
        return _found(
            facts,
            f"libcuda.so is not found: under WSL it lies in {FOLDER}, which is not on the library path.",
            error,
            (PATH, UPDATE),
        )
    if error := heard(facts, "wsl-gpu-access-blocked"):
        if facts.nvidia.packages:
            return _found(
                facts,
                f"Windows does not let WSL at the GPU, and a Linux driver is installed inside it "
                f"({', '.join(facts.nvidia.packages)}).",
                error,
                (*_removal(facts), WINDOWS_DRIVER, UPDATE),
            )
        return _found(facts, "Windows does not let WSL at the GPU.", error, (WINDOWS_DRIVER, UPDATE))
    return _no_driver(facts) if wsl else None


@check.fit
def fits(facts: Facts) -> Fit | None:
    if on_wsl(facts):
        return Fit(4, f"this is WSL {facts.host.wsl}")
    if absent(facts.host.wsl) or (facts.host.kernel and "microsoft" not in facts.host.kernel.lower()):
        return Fit(0, "this is not WSL")
    if facts.nvidia.smi_version and facts.nvidia.smi_version == facts.nvidia.driver:
        return Fit(0.05, "nvidia-smi is of the driver's release, which in WSL it is not")
    return Fit(0.3, "nothing says that this is WSL")


def _wsl1(facts: Facts) -> Judgement:
    error = heard(
        facts,
        "found-no-nvidia-driver",
        "nvidia-smi-not-found",
        "smi-cannot-reach-driver",
        "nvidia-module-not-loadable",
        "no-cuda-device-detected",
        "no-cuda-gpus",
    )
    if error is None and not wants(facts, "cuda") and not facts.nvidia.smi_error:
        return None
    if cuda_works(facts):
        return None
    packages = tuple(_removal(facts))
    return _found(facts, "This is WSL 1, which has no access to the GPU.", error, (TO_WSL2, *packages))


def _linux_packages(facts: Facts) -> Judgement:
    """nvidia-smi of a Linux driver package: WSL's own is never of a newer branch than the Windows driver."""
    tool, driver = facts.nvidia.smi_version, facts.nvidia.driver
    if facts.host.wsl is None and facts.host.system not in (None, "linux"):
        return None
    newer = bool(tool and driver and numbers(tool)[:1] > numbers(str(driver))[:1]) and (
        facts.host.wsl or facts.host.wsl is None
    )
    library = facts.nvidia.libcuda
    foreign = bool(facts.host.wsl and library and not str(library).startswith(FOLDER) and not in_container(facts))
    error = heard(
        facts,
        "found-no-nvidia-driver",
        "smi-cannot-reach-driver",
        "nvml-version-mismatch",
        "cuda-unknown-error",
        "no-cuda-device-detected",
        "no-cuda-gpus",
    )
    torch = installed(facts)
    fails = (
        error is not None or bool(torch and torch.cuda and torch.cuda_available is False) or bool(facts.nvidia.cuinit)
    )
    if cuda_works(facts) or not (newer or (foreign and fails)):
        return None
    if newer and not fails and facts.host.wsl is None:
        return None
    what = (
        f"nvidia-smi is {tool}, of a Linux driver package, over the Windows driver {driver}"
        if newer
        else f"libcuda is {library}"
    )
    return _found(
        facts,
        f"A Linux NVIDIA driver is installed inside WSL ({what}); it hides the one of Windows in {FOLDER}.",
        error,
        (*_removal(facts), PATH),
    )


def _removal(facts: Facts) -> list[Remedy]:
    """Which package to remove: one that was seen, or by the branch of the driver, which its name holds."""
    branch = (facts.nvidia.smi_version or "").split(".")[0]
    seen = next(iter(facts.nvidia.packages or ()), None)
    package = seen or (f"nvidia-utils-{branch}" if branch else "nvidia-driver")
    return [
        Remedy(
            action="remove-package",
            details={"package": package},
            text="Remove the Linux NVIDIA driver packages inside WSL.",
        )
    ]


def _no_driver(facts: Facts) -> Judgement:
    """WSL 2, CUDA is wanted, and no driver is found."""
    if cuda_works(facts) or in_container(facts) or (facts.gpus and only_others(facts, "nvidia")):
        return None
    error = heard(
        facts,
        "found-no-nvidia-driver",
        "nvidia-smi-not-found",
        "smi-cannot-reach-driver",
        "no-cuda-device-detected",
        "no-cuda-gpus",
        "smi-no-libnvidia-ml",
        "libcuda-not-found",
    )
    torch = installed(facts)
    fails = bool(torch and torch.cuda and torch.cuda_available is False) and (
        facts.host.dxg is True or bool(facts.gpus)
    )
    if error is None and not fails:
        return None
    if error and error.pattern == "nvidia-smi-not-found" and not wants(facts, "cuda"):
        return None
    if facts.host.dxg is False and not facts.nvidia.driver:
        return _found(facts, "Windows gives this WSL no GPU (/dev/dxg is missing).", error, (WINDOWS_DRIVER, UPDATE))
    if facts.nvidia.driver:
        return _found(
            facts,
            f"The Windows driver {facts.nvidia.driver} is there, but CUDA does not find it.",
            error,
            (PATH, WINDOWS_DRIVER),
            confidence="likely",
        )
    return _found(
        facts,
        "Under WSL the NVIDIA driver is that of Windows, and none is found.",
        error,
        # Without its kernel's name it may be WSL 1, whatever is said of it: wsl -l -v shows that.
        (WINDOWS_DRIVER, PATH, UPDATE) if facts.host.kernel or facts.live else (WINDOWS_DRIVER, TO_WSL2, PATH, UPDATE),
        confidence="likely",
    )


def _found(
    facts: Facts, detail: str, error: ErrorText | None, remedies: tuple[Remedy, ...], confidence: str = "certain"
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "host.wsl",
            "host.kernel",
            "nvidia.smi_version",
            "nvidia.driver",
            "nvidia.libcuda",
            "host.dxg",
        ),
        remedies=remedies,
        confidence=confidence,
    )

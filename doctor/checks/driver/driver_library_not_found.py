"""The NVIDIA driver runs, but the loader does not find its library libcuda.

What it means
    CUDA programs load libcuda.so.1, the half of the driver that runs in their process. The kernel module is loaded (and
    nvidia-smi may work), but the file lies where the loader does not look (NixOS, an installation without ldconfig), or
    it is not there at all (a driver without its compute part; a container that was given the device nodes, but not the
    driver's libraries). torch then says «Found no NVIDIA driver».

How to see it yourself
    ldconfig -p | grep libcuda; find / -name 'libcuda.so*' 2>/dev/null; echo $NVIDIA_DRIVER_CAPABILITIES in a container.

What to do
    Tell the loader where the file lies (ldconfig, or LD_LIBRARY_PATH on NixOS), or install the driver's compute
    libraries. In a container: start it with the capability «compute» (NVIDIA_DRIVER_CAPABILITIES=compute,utility).

References
    https://man7.org/linux/man-pages/man8/ld.so.8.html
    https://github.com/NixOS/nixpkgs/issues/75079
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    absent,
    cuda_refused,
    cuda_works,
    heard,
    in_container,
    on_mac,
    on_wsl,
    only_others,
    shown,
)
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

LDCONFIG = Remedy(
    action="system-setting",
    details={"setting": "ldconfig", "value": "the folder of libcuda.so.1 in /etc/ld.so.conf.d"},
    text="Write the folder of libcuda.so.1 into a file in /etc/ld.so.conf.d and run: sudo ldconfig.",
)
CAPABILITIES = Remedy(
    action="container-flag",
    details={"flag": "-e NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
    text="Start the container with -e NVIDIA_DRIVER_CAPABILITIES=compute,utility (or all).",
)
GPUS = Remedy(action="container-flag", details={"flag": "--gpus all"})
INSTALL = Remedy(
    action="install-driver",
    text="Install the driver's compute libraries (libcuda) of the same version as the kernel module.",
)
ON_HOST = Remedy(action="install-driver", text="Install the NVIDIA driver on the host: the container uses the host's.")
SEES_HOST = Remedy(
    action="system-setting",
    details={"setting": "docker", "value": "Docker Engine from the distribution's or Docker's own packages"},
    text="With the driver installed: run Docker Engine itself, not Docker Desktop or the snap, which see another "
    "system.",
)

check = Check(
    severity="fault",
    needs=("nvidia.libcuda", "nvidia.kernel_module", "messages"),
    systems=("linux",),
    keeps_from=("nvidia",),
    even_if_imported=True,
    usual=(LDCONFIG, CAPABILITIES),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "gpu-hidden",
        "no-accelerator",
        "shared-library-missing",
        "container-without-gpu",
        "program-error",
    ),
)

NIXOS = "/run/opengl-driver/lib"


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.nvidia.libcuda:
        return Fit(0.02, "the loader finds libcuda")
    if facts.host.os_id == "nixos" or facts.nvidia.libcuda_elsewhere:
        return Fit(10, "libcuda lies where the loader does not look")
    return Fit(0.2, "the driver's packages bring the library along")


@check
def judge(facts: Facts) -> Judgement:
    nvidia = facts.nvidia
    if on_mac(facts) or on_wsl(facts) or facts.host.jetson:
        return None
    if said := _said(facts):
        return said
    if cuda_works(facts) or only_others(facts, "nvidia"):
        return None
    error = heard(facts, "libcuda-not-found", "found-no-nvidia-driver")
    runs = bool(nvidia.kernel_module) or (bool(nvidia.driver) and not nvidia.smi_error and bool(nvidia.gpus_seen))
    runs = runs or _left_aside(facts)
    if not runs or not _not_found(facts):
        return None
    if in_container(facts) and nvidia.device_nodes == ():
        return None  # it was given nothing of the GPU; the loaded module that it sees is the host's
    elsewhere = nvidia.libcuda_elsewhere or ()
    torch = installed(facts)
    wanted = error is not None or torch is None or bool(torch.cuda)
    if not wanted:
        return None
    release = nvidia.driver or nvidia.kernel_module
    where = f"lies at {elsewhere[0]}, where the loader does not look" if elsewhere else "is not found"
    return check.found(
        facts,
        f"The NVIDIA driver{f' {release}' if release else ''} runs, but its library libcuda.so.1 {where}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.kernel_module",
            "nvidia.libcuda",
            "nvidia.libcuda_elsewhere",
            "environ.NVIDIA_DRIVER_CAPABILITIES",
            shown(facts, "nvidia"),
        ),
        remedies=_remedies(facts, elsewhere),
        confidence="certain" if absent(nvidia.libcuda) else "likely",
        library=elsewhere[0] if elsewhere else None,
    )


def _said(facts: Facts) -> Judgement:
    """A message that names the library which its program does not find."""
    if error := heard(facts, "container-cli-no-nvml"):
        return check.found(
            facts,
            "The container toolkit finds no libnvidia-ml.so.1 of a driver where Docker runs: none is installed on the "
            "host, or Docker (its desktop program, its snap) does not look where it lies.",
            evidence=(quote(error), "nvidia.driver", "host.container"),
            remedies=(ON_HOST, SEES_HOST),
            confidence="likely",
        )
    if error := heard(facts, "libcudnn-needs-libcuda"):
        return check.found(
            facts,
            "cuDNN opens the driver's library under the name libcuda.so, and the loader does not find it.",
            evidence=(quote(error), "nvidia.driver", "nvidia.libcuda", "nvidia.libcuda_elsewhere"),
            remedies=_remedies(facts, facts.nvidia.libcuda_elsewhere or ()),
            confidence="likely",
        )
    return None


def _left_aside(facts: Facts) -> bool:
    """The GPU's device node is there and the library lies in a folder of its own, but torch can't use CUDA."""
    return bool(facts.nvidia.device_nodes and facts.nvidia.libcuda_elsewhere) and not facts.live and cuda_refused(facts)


def _not_found(facts: Facts) -> bool:
    """Known by the loader, by its message, or because nothing but the library's place is in the way."""
    if facts.nvidia.libcuda is not None:
        return absent(facts.nvidia.libcuda)
    return _left_aside(facts) or heard(facts, "libcuda-not-found") is not None or _off_the_path_of_nixos(facts)


def _off_the_path_of_nixos(facts: Facts) -> bool:
    """nvidia-smi lists a GPU and CUDA finds no driver: NixOS puts libcuda into /run/opengl-driver/lib, where programs
    that it did not build do not look (https://nixos.wiki/wiki/Nvidia)."""
    missed = heard(facts, "found-no-nvidia-driver") is not None
    return facts.host.os_id == "nixos" and not in_container(facts) and bool(facts.nvidia.gpus_seen) and missed


def _remedies(facts: Facts, elsewhere: tuple[str, ...]) -> tuple[Remedy, ...]:
    if elsewhere:
        folder = elsewhere[0].rpartition("/")[0]
        path = Remedy(action="set-env", details={"name": "LD_LIBRARY_PATH", "value": _before(facts, folder)})
        return (path,) if folder == NIXOS or facts.host.os_id == "nixos" else (path, LDCONFIG)
    if facts.host.os_id == "nixos":
        path = Remedy(action="set-env", details={"name": "LD_LIBRARY_PATH", "value": _before(facts, NIXOS)})
        return (path, INSTALL)
    return (CAPABILITIES, GPUS) if in_container(facts) else (LDCONFIG, INSTALL)


def _before(facts: Facts, folder: str) -> str:
    """The folder in front of what is set already."""
    return ":".join(part for part in (folder, (facts.environ or {}).get("LD_LIBRARY_PATH", "")) if part)

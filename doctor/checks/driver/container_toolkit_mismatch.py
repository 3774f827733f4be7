"""The container toolkit is too old for the host's driver.

What it means
    NVIDIA's container toolkit (or Docker Desktop, which has its own) copies the driver's libraries into the container.
    An old one does not know all files of a new driver; CUDA then ends with error 500, «named symbol not found».

How to see it yourself
    nvidia-ctk --version or docker version on the host; nvidia-smi shows the driver.

What to do
    Update Docker Desktop (4.31 or newer) or nvidia-container-toolkit (1.14.4 or newer) on the host.

References
    https://github.com/NVIDIA/nvidia-container-toolkit/issues/520
    https://docs.docker.com/desktop/release-notes/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, in_container, on_mac, on_wsl, outside_containers
from doctor.checks._torch import quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

UPGRADE = Remedy(
    action="install-system-package",
    details={"package": "nvidia-container-toolkit"},
    text="Install the current nvidia-container-toolkit and restart Docker.",
)
NO_CGROUPS = Remedy(
    action="system-setting",
    details={
        "setting": "no-cgroups",
        "value": "true in /etc/nvidia-container-runtime/config.toml (rootless, cgroup v2)",
    },
    text="Set no-cgroups = true in /etc/nvidia-container-runtime/config.toml (rootless Docker or Podman), and start "
    "the container again.",
)

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    usual=(UPGRADE, NO_CGROUPS),
    explains=("device-crashes",),
    instead_of=(
        "nvidia-driver-too-old",
        "container-without-gpu",
        "nvidia-uvm-broken",
        "gpu-hidden",
        "wsl-driver-misconfigured",
        "program-error",
    ),
)

DESKTOP = Remedy(action="install-system-package", details={"package": "Docker Desktop>=4.31"})
TOOLKIT = Remedy(action="install-system-package", details={"package": "nvidia-container-toolkit>=1.14.4"})


@check
def judge(facts: Facts) -> Judgement:
    if error := heard(facts, "container-cli-setup-error"):
        return check.found(
            facts,
            "The container toolkit does not fit this system (its control groups, linker cache or driver files).",
            evidence=(quote(error), "host.container", "host.wsl", "nvidia.driver"),
            remedies=(UPGRADE, NO_CGROUPS),
        )
    error = heard(facts, "cuda-error-500")
    if (
        error is None
        or on_mac(facts)
        or not any(w in error.text for w in ("named symbol", "CUDA_ERROR_NOT_FOUND", "cudaGetDeviceCount"))
    ):
        return None
    inside = _inside(facts)
    if not inside and (facts.host.container is not None or not _of_the_start(error)):
        return None
    desktop = on_wsl(facts) or facts.host.system in (None, "windows") or "linuxkit" in (facts.host.kernel or "")
    return check.found(
        facts,
        "CUDA ends with error 500 (named symbol not found): the libraries that the toolkit "
        "put into the container do not fit the driver.",
        evidence=(quote(error), "host.container", "host.wsl", "nvidia.driver"),
        remedies=(DESKTOP, TOOLKIT) if desktop else (TOOLKIT, DESKTOP),
        confidence="certain" if inside else "likely",
    )


def _inside(facts: Facts) -> bool:
    return in_container(facts) or on_wsl(facts) or bool(facts.host.container_gpus)


def _of_the_start(error: ErrorText) -> bool:
    """Whether CUDA's start ends with it. A kernel that a build lacks is a symbol that is not found, too."""
    return any(words in error.text for words in ("cudaGetDeviceCount", "Error 500", "cuInit"))


@check.fit
def fits(facts: Facts) -> Fit | None:
    if (error := heard(facts, "cuda-error-500")) and not _inside(facts) and not _of_the_start(error):
        return Fit(0.05, "a kernel is what was not found, outside of a container")
    if in_container(facts):
        return Fit(2, f"this is a container ({facts.host.container})")
    if why := outside_containers(facts):
        return Fit(0.05, why)
    return Fit(0.3, "nothing speaks of a container")

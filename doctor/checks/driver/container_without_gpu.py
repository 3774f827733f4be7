"""The container was started without the GPU.

What it means
    A container sees only what it was given: without --gpus (or the NVIDIA runtime) there are no /dev/nvidia* nodes and
    no driver libraries in it, without --device=/dev/kfd --device=/dev/dri no AMD GPU. On a Mac containers are Linux
    virtual machines: they can't have MPS at all.

How to see it yourself
    ls /dev/nvidia* /dev/kfd /dev/dri inside the container; nvidia-smi on the host.

What to do
    Start the container with the GPU. The host needs the driver, and for NVIDIA the container toolkit.

References
    https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    absent,
    cuda_refused,
    cuda_works,
    driver_lists_gpus,
    heard,
    in_container,
    named,
    on_wsl,
    only_others,
    outside_containers,
    shown,
    wants,
)
from doctor.checks._torch import gpus_of, installed, kind, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

GPUS = Remedy(action="container-flag", details={"flag": "--gpus all"})
TOOLKIT = Remedy(action="install-system-package", details={"package": "nvidia-container-toolkit"})

check = Check(
    severity="fault",
    needs=("host.container", "gpus", "messages"),
    keeps_from=("nvidia", "amd"),
    usual=(GPUS, TOOLKIT),
    explains=("device-crashes",),
    instead_of=(
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "gpu-hidden",
        "no-accelerator",
        "amd-driver-missing",
        "gpu-permission-denied",
        "torch-cpu-only",
        "gpu-hardware-fault",
        "mps-not-built",
        "backend-impossible-here",
        "program-error",
        "nvidia-uvm-broken",
        "nvidia-driver-too-old",
    ),
)

VISIBLE, NOTHING = "NVIDIA_VISIBLE_DEVICES", ("", "void", "none")
# What is said where a program misses the GPU
MISSED = (
    "found-no-nvidia-driver",
    "nvidia-smi-not-found",
    "no-cuda-device-detected",
    "driver-insufficient-for-runtime",
    "no-cuda-gpus",
    "smi-no-libnvidia-ml",
    "libcuda-not-found",
    "smi-cannot-reach-driver",
    "nvml-library-not-found",
)
# What torch says where the driver's library is not there: a driver that the same text shows is the host's
NO_LIBRARY = ("found-no-nvidia-driver", "libcuda-not-found")
LIMITS = Remedy(
    action="container-flag",
    details={"flag": "--gpus all"},
    text=(
        "Ask for the GPU in the pod: resources.limits with nvidia.com/gpu: 1 (on "
        "the command line of Docker: --gpus all)."
    ),
)
AMD = Remedy(action="container-flag", details={"flag": "--device=/dev/kfd --device=/dev/dri"})
NO_CUDA = Remedy(
    action="none", details={"reason": "a Mac has no GPU that CUDA can use: run without asking for one, on the CPU"}
)
OUTSIDE = Remedy(
    action="none", details={"reason": "a container on a Mac can't have MPS: run torch outside it, or on the CPU in it"}
)
NODES = Remedy(
    action="container-flag",
    details={"flag": "--device=/dev/nvidiactl --device=/dev/nvidia-uvm --device=/dev/nvidia0"},
    text="Start the container again with the device nodes named, so that a reload of systemd doesn't take them away.",
)
SPECIFICATION = Remedy(
    action="system-setting",
    details={"setting": "cdi", "value": "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"},
    text="Write the CDI specification anew: sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml.",
)
CGROUP = Remedy(
    action="system-setting",
    details={"setting": "native.cgroupdriver", "value": "cgroupfs"},
    text='Write "exec-opts": ["native.cgroupdriver=cgroupfs"] into /etc/docker/daemon.json, and restart Docker: '
    "sudo systemctl restart docker.",
)


@check
def judge(facts: Facts) -> Judgement:
    return _refused_by_docker(facts) or _on_a_mac(facts) or _void(facts) or _nvidia(facts) or _amd(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if why := outside_containers(facts):
        return Fit(0.05, why)
    if facts.gpus == () and not facts.live and not in_container(facts):
        return Fit(0.05, "the machine has no GPU")
    if driver_lists_gpus(facts) or facts.nvidia.device_nodes:
        return Fit(0.05, "the driver and its GPU are here")
    if in_container(facts) and facts.host.container_gpus and facts.nvidia.driver:
        return Fit(0.5, "the container was started with GPUs, and the host has a driver")
    return Fit(4, f"this is a container ({facts.host.container})") if in_container(facts) else None


def _refused_by_docker(facts: Facts) -> Judgement:
    """Messages of Docker, its toolkit, and images that only mean this."""
    if (error := heard(facts, "docker-no-gpu-driver")) and "CDI" in error.text:
        return _found(facts, "Docker or Podman finds no description of the GPU (CDI).", error, (SPECIFICATION, TOOLKIT))
    error = heard(facts, "docker-no-gpu-driver", "docker-unknown-runtime-nvidia")
    if facts.host.system == "darwin" and (error := error or heard(facts, "container-cli-no-nvml")):
        return _found(facts, "Docker on a Mac has no NVIDIA GPU to give to a container.", error, (NO_CUDA,))
    if error:
        return _found(
            facts, "Docker has no GPU support installed: it can't give a container the GPU.", error, (TOOLKIT, GPUS)
        )
    if error := heard(facts, "nvml-unknown-error"):
        return _found(
            facts,
            "The container had the GPU and lost it (a reload of systemd resets its device rules).",
            error,
            (NODES, CGROUP),
        )
    if (error := heard(facts, "image-banner-no-driver")) and not facts.nvidia.driver:
        return _found(
            facts, "The image looked for the NVIDIA driver when it started and found none.", error, _start(facts)
        )
    return None


def _on_a_mac(facts: Facts) -> Judgement:
    """A Linux container on a Mac, and MPS is wanted."""
    error = heard(facts, "mps-needs-newer-macos", "not-linked-with-backend", "not-compiled-with-mps")
    mac_host = "linuxkit" in (facts.host.kernel or "") or (in_container(facts) and facts.host.architecture == "arm64")
    if facts.host.system != "linux" or not mac_host or (error and "cuda" in error.text):
        return None
    if error is None:
        return _beside_a_mac(facts)
    return _found(facts, "This is a Linux container: MPS exists only in macOS itself.", error, (OUTSIDE,))


def _beside_a_mac(facts: Facts) -> Judgement:
    """Nobody asks for MPS, and the kernel is that of Docker Desktop, on an arm64 machine: a Mac with a GPU of its own,
    as a rule."""
    torch = installed(facts)
    linuxkit = "linuxkit" in (facts.host.kernel or "") and facts.host.architecture == "arm64"
    if not linuxkit or facts.gpus or torch is None or torch.cuda_available or kind(facts) not in ("cpu", None):
        return None
    return _found(
        facts,
        "This Linux container runs on Docker Desktop, most likely on a Mac: the Mac's GPU (MPS) can't be had in it.",
        None,
        (OUTSIDE,),
        note=True,
        confidence="likely",
    )


def _void(facts: Facts) -> Judgement:
    """NVIDIA_VISIBLE_DEVICES, which only the container toolkit reads, names no GPU: what the program asks for is not
    what the container was given. It says nothing of the machine's GPUs."""
    value = (facts.environ or {}).get(VISIBLE)
    nvidia = facts.nvidia
    if value is None or value.strip() not in NOTHING or on_wsl(facts) or cuda_works(facts) or facts.host.jetson:
        return None
    if nvidia.device_nodes or nvidia.gpus_seen or nvidia.driver:
        return None
    error = heard(facts, *MISSED)
    if error is None and not (cuda_refused(facts) and wants(facts, "cuda")):
        return None
    return check.found(
        facts,
        f"{VISIBLE}={value.strip() or '(empty)'}: this container was given no GPU, and the program asks for one.",
        evidence=(
            f"environ.{VISIBLE}",
            quote(error) if error else None,
            "host.container",
            "nvidia.device_nodes",
        ),
        remedies=_start(facts) if facts.host.container else (LIMITS, GPUS),
        confidence="certain" if nvidia.device_nodes == () else "likely",
        variable=VISIBLE,
        value=value.strip(),
    )


def _nvidia(facts: Facts) -> Judgement:
    if not in_container(facts) or on_wsl(facts) or cuda_works(facts) or facts.host.jetson or facts.host.container_gpus:
        return None
    if facts.nvidia.device_nodes or only_others(facts, "nvidia"):
        return None
    lists = facts.nvidia.gpus_seen or (facts.nvidia.driver and facts.nvidia.device_nodes is None)
    if lists and not heard(facts, *NO_LIBRARY):  # the driver is seen in here
        return None
    gpus, wanted = gpus_of(facts, "nvidia"), wants(facts, "cuda")
    error = heard(facts, *MISSED)
    if error is None and not (gpus and (facts.nvidia.device_nodes == () or absent(facts.nvidia.driver))):
        return None
    asked = wanted or bool(gpus) or bool(facts.nvidia.toolkit) or (not facts.live and cuda_refused(facts))
    if error and error.pattern == "nvidia-smi-not-found" and not asked:
        return None
    detail = f"{named(gpus)} is in the machine" if gpus else "CUDA is wanted"
    nodes = ": there are no /dev/nvidia* nodes in it" if facts.nvidia.device_nodes == () else ""
    chosen = kind(facts) == "cpu" and not wanted
    return _found(
        facts,
        f"{detail}, but this container ({facts.host.container}) was given no GPU{nodes}.",
        error,
        _start(facts),
        note=chosen,
        confidence="certain" if (gpus and not lists) or facts.nvidia.device_nodes == () else "likely",
    )


def _amd(facts: Facts) -> Judgement:
    """The host's amdgpu module is loaded (containers share the kernel), its nodes are not here."""
    if not in_container(facts) or on_wsl(facts) or cuda_works(facts) or facts.amd.kfd is not False:
        return None
    torch = installed(facts)
    wanted = (torch is not None and bool(torch.hip)) or heard(
        facts, "rock-module-not-loaded", "kfd-permission-denied", "no-hip-gpus", "kfd-not-there"
    ) is not None
    asked = wanted or (
        not facts.live and facts.amd.kernel_driver
    )  # a ticket shows rocminfo only where the GPU is wanted
    if not asked or (facts.amd.kernel_driver is False and not gpus_of(facts, "amd")):
        return None
    return _found(
        facts,
        "The kernel has AMD's GPU driver, but /dev/kfd is not in this container.",
        heard(facts, "kfd-not-there", "no-hip-gpus"),
        (AMD,),
    )


def _start(facts: Facts) -> tuple[Remedy, ...]:
    return (LIMITS, TOOLKIT) if facts.host.container == "kubernetes" else (GPUS, TOOLKIT)


def _found(
    facts: Facts,
    detail: str,
    error: ErrorText | None,
    remedies: tuple[Remedy, ...],
    *,
    note: bool = False,
    confidence: str = "certain",
) -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "host.container",
            shown(facts, "nvidia"),
            "nvidia.device_nodes",
            "nvidia.driver",
            "amd.kfd",
            "amd.kernel_driver",
        ),
        severity="note" if note else None,
        remedies=remedies,
        confidence=confidence,
    )

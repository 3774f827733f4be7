"""What a container must be started with, in the syntax of its runtime."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step
from doctor.model.values import dataclass

COMPOSE = "in a compose file"


@dataclass(frozen=True)
class Wish:
    """A flag of `docker run` and its equivalents; None where a runtime has none."""

    docker: str
    podman: str | None = None
    compose: str | None = None
    kubernetes: str | None = None
    lxc: str | None = None
    apptainer: str | None = None


NVIDIA = Wish(
    docker="--gpus all",
    podman="--device nvidia.com/gpu=all",
    compose="«gpus: all» in the service",
    kubernetes="nvidia.com/gpu: 1 under resources.limits of the container",
    lxc="lxc config device add CONTAINER gpu gpu, and lxc config set CONTAINER nvidia.runtime true",
    apptainer="--nv",
)
AMD = Wish(
    docker="--device=/dev/kfd --device=/dev/dri",
    compose="«devices: [/dev/kfd, /dev/dri]» in the service",
    kubernetes="amd.com/gpu: 1 under resources.limits of the container",
    lxc="lxc config device add CONTAINER gpu gpu",
    apptainer="--rocm",
)
INTEL = Wish(
    docker="--device=/dev/dri",
    compose="«devices: [/dev/dri]» in the service",
    kubernetes="gpu.intel.com/i915: 1 (or gpu.intel.com/xe) under resources.limits of the container",
    lxc="lxc config device add CONTAINER gpu gpu",
)
SHARED_MEMORY = Wish(
    docker="--shm-size=8g",
    compose="«shm_size: 8gb» in the service",
    kubernetes="an emptyDir volume with medium: Memory, mounted at /dev/shm",
)
CAPABILITIES = Wish(
    docker="-e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
    compose="«NVIDIA_DRIVER_CAPABILITIES: compute,utility» under environment of the service",
    kubernetes="the variable NVIDIA_DRIVER_CAPABILITIES=compute,utility under env of the container",
)
HOST_MEMORY = Wish(docker="--ipc=host", compose="«ipc: host» in the service", kubernetes="hostIPC: true in the pod")
WISHES = {wish.docker: wish for wish in (NVIDIA, AMD, INTEL, CAPABILITIES, SHARED_MEMORY, HOST_MEMORY)}


def container_flag(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """The flag in `details` is docker's; the title and the step are for the runtime that the facts name."""
    flag = remedy.details.get("flag", "")
    wish = WISHES.get(flag, Wish(docker=flag))
    said, text = _said(wish, str(situation.facts.host.container or ""))
    return Fix.of(finding, remedy, f"Start the container with {said}.", Step(text=text, where="user"))


def _said(wish: Wish, runtime: str) -> tuple[str, str]:
    """What to start it with, and the sentence that says how."""
    if runtime == "kubernetes" and wish.kubernetes:
        return wish.kubernetes, f"Give the pod {wish.kubernetes}, and create it again"
    if runtime == "lxc" and wish.lxc:
        return "the GPU", f"On the host (LXD, Incus): {wish.lxc}; then restart the container"
    if runtime in ("apptainer", "singularity") and wish.apptainer:
        return wish.apptainer, f"Start the container again: {runtime} exec {wish.apptainer} …"
    if runtime == "podman":
        flag = wish.podman or wish.docker
        return flag, f"Start the container again: podman run {flag} …"
    compose = f" ({COMPOSE}: {wish.compose})" if wish.compose else ""
    return wish.docker, f"Start the container again: docker run {wish.docker} …{compose}"


RESTARTS = {
    "docker": "docker restart CONTAINER",
    "podman": "podman restart CONTAINER",
    "kubernetes": "kubectl delete pod POD (its controller creates it again)",
    "lxc": "lxc restart CONTAINER",
}


def restart_container(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """The runtime's own command, run on the host: inside the container its name is not known."""
    runtime = str(situation.facts.host.container or "docker")
    command = RESTARTS.get(runtime)
    text = f"Restart the container{f', from outside: {command}' if command else ''}"
    return Fix.of(finding, remedy, "Restart the container.", Step(text=text, where="user"))


def change_image(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """`details`: `image`, what the image must be like."""
    image = remedy.details.get("image", "")
    title = f"Start the container from another image{f': {image}' if image else ''}"
    text = title if not remedy.text or remedy.details.get("image") else remedy.text.rstrip(".")
    return Fix.of(finding, remedy, f"{title}.", Step(text=text, where="user"))

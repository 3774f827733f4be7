"""The machine: drivers, modules, services, variables, containers, and what only the user can do."""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.fixes import quoting
from doctor.fixes.situation import Situation
from doctor.knowledge import lookup
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step

NVIDIA_PAGE = "https://www.nvidia.com/en-us/drivers/"
CUDA_REPOSITORY_PAGE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
AMD_PAGE = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"
AMD_WINDOWS_PAGE = "https://www.amd.com/en/support/download/drivers.html"
INTEL_PAGE = "https://dgpu-docs.intel.com/"
_PLAIN = re.compile(r"[A-Za-z0-9_.@+-]+\Z")  # names of modules, services, groups


def _fix(finding: str, remedy: Remedy, title: str, *steps: Step) -> Fix:
    return Fix(
        finding=finding, action=remedy.action, title=remedy.text or title, details=dict(remedy.details), steps=steps
    )


# --- drivers ---


def driver(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """Drivers come from the vendor or the distribution: the tables have no packages, so the step is manual."""
    verb = "Install" if remedy.action == "install-driver" else "Update"
    vendor = _vendor(situation, remedy)
    if vendor != "nvidia":
        return _other_driver(situation, finding, remedy, verb, vendor)
    minimum, last = remedy.details.get("minimum"), remedy.details.get("last") or _last_branch(situation)
    version = "" if not minimum else f"{' to' if verb == 'Update' else ','} {minimum} or newer"
    limit = f", not newer than branch {last}" if last else ""
    text = f"{verb} the NVIDIA driver{version}{limit}: {_where_nvidia(situation)}"
    verify = None if situation.facts.host.jetson else ("nvidia-smi",)
    step = Step(text=text, where="system", needs_root=True, needs_reboot=not situation.facts.host.wsl, verify=verify)
    details = {**remedy.details, **({"last": last} if last else {})}
    fix = _fix(finding, remedy, f"{verb} the NVIDIA driver{version}{limit}.", step)
    return Fix(finding=finding, action=fix.action, title=fix.title, details=details, steps=fix.steps)


def _where_nvidia(situation: Situation) -> str:
    host = situation.facts.host
    if host.jetson:
        return "it comes with JetPack: https://developer.nvidia.com/embedded/jetpack"
    if host.wsl:
        return f"in Windows, not in WSL ({NVIDIA_PAGE}), then «wsl --shutdown» in PowerShell"
    if host.container:
        return f"on the host, not in the container ({NVIDIA_PAGE})"
    if situation.windows:
        return NVIDIA_PAGE
    if host.os_id in ("ubuntu", "linuxmint", "pop") or "ubuntu" in host.os_like:
        return f"«sudo ubuntu-drivers install» takes the one that Ubuntu recommends (or see {CUDA_REPOSITORY_PAGE})"
    return f"from the distribution's packages, or see {CUDA_REPOSITORY_PAGE}"


def _last_branch(situation: Situation) -> str | None:
    """The newest branch that still knows all NVIDIA GPUs, where there is a limit."""
    lasts = []
    for gpu in situation.facts.gpus or ():
        model = lookup.gpu_model(gpu.name, gpu.pci_id) if gpu.vendor == "nvidia" else None
        capability = gpu.capability or (model.capability if model else None)
        if gpu.vendor == "nvidia" and capability and (last := lookup.branches_of(capability)[1]):
            lasts.append(last)
    return str(min(lasts)) if lasts else None


def _vendor(situation: Situation, remedy: Remedy) -> str:
    if vendor := remedy.details.get("vendor"):
        return vendor
    vendors = [g.vendor for g in situation.facts.gpus or ()]
    return vendors[0] if vendors and "nvidia" not in vendors else "nvidia"


def _other_driver(situation: Situation, finding: str, remedy: Remedy, verb: str, vendor: str) -> Fix:
    if vendor == "amd":
        name, page = "AMD GPU driver", AMD_WINDOWS_PAGE if situation.windows else AMD_PAGE
    else:
        name, page = "Intel GPU driver and its compute runtime (Level Zero)", INTEL_PAGE
    step = Step(text=f"{verb} the {name}: {page}", where="system", needs_root=True, needs_reboot=True)
    return _fix(finding, remedy, f"{verb} the {name}.", step)


def reboot(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    if situation.facts.host.wsl:
        text = "Restart WSL: «wsl --shutdown» in PowerShell, then open it again"
    else:
        text = "Restart the machine" + (" (the host, not the container)" if situation.facts.host.container else "")
    return _fix(finding, remedy, f"{text}.", Step(text=text, where="system", needs_reboot=True))


ON_TOP_OF = {"nvidia": ("nvidia_uvm", "nvidia_drm", "nvidia_modeset")}  # modules that must go before it


def load_module(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    module = remedy.details.get("module", "")
    if not _PLAIN.match(module):
        return _fix(
            finding,
            remedy,
            "Load the kernel module.",
            Step(text="Load the GPU's kernel module", where="system", needs_root=True),
        )
    load = Step(
        text=f"Load the kernel module {module}",
        argv=("sudo", "modprobe", module),
        where="system",
        needs_root=True,
        undo=("sudo", "modprobe", "-r", module),
    )
    if remedy.details.get("reload") != "yes":
        return _fix(finding, remedy, f"Load the kernel module {module}.", load)
    unload = Step(
        text=f"Unload the kernel module {module} (end the programs that use the GPU first)",
        argv=("sudo", "modprobe", "-r", *ON_TOP_OF.get(module, ()), module),
        where="system",
        needs_root=True,
        undo=("sudo", "modprobe", module),
    )
    return _fix(finding, remedy, f"Unload and load the kernel module {module}.", unload, replace(load, undo=None))


def start_service(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    service = remedy.details.get("service", "")
    if not _PLAIN.match(service):
        return _fix(
            finding, remedy, "Start the service.", Step(text="Start the service", where="system", needs_root=True)
        )
    step = Step(
        text=f"Start {service}, now and at every boot",
        argv=("sudo", "systemctl", "enable", "--now", service),
        where="system",
        needs_root=True,
        undo=("sudo", "systemctl", "disable", "--now", service),
        verify=("systemctl", "is-active", service),
    )
    return _fix(finding, remedy, f"Start the service {service}.", step)


def upgrade_os(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    minimum = remedy.details.get("minimum")
    name = "macOS" if situation.mac else "the operating system"
    text = f"Update {name}" + (f" to {minimum} or newer" if minimum else "")
    where = ": System Settings, General, Software Update" if situation.mac else ""
    return _fix(
        finding, remedy, f"{text}.", Step(text=text + where, where="system", needs_root=True, needs_reboot=True)
    )


# --- variables and the shell ---


def set_variable_step(situation: Situation, name: str, value: str) -> Step:
    shell = quoting.set_variable(name, value, shell=situation.shell)
    return Step(text=f"Set {name}={value} (and in the shell's start file, to keep it)", shell=shell, where="user")


def set_env(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    name, value = remedy.details.get("name", ""), remedy.details.get("value", "")
    return _fix(finding, remedy, f"Set the variable {name} to {value}.", set_variable_step(situation, name, value))


def unset_env(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    name = remedy.details.get("name", "")
    step = Step(
        text=f"Remove the variable {name} (and where the shell's start files set it)",
        shell=quoting.unset_variable(name, shell=situation.shell),
        where="user",
    )
    return _fix(finding, remedy, f"Remove the variable {name}.", step)


# --- containers, groups, packages of the system ---


def container_flag(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    flag = remedy.details.get("flag", "")
    text = f"Start the container with {flag}: docker run {flag} …"
    return _fix(finding, remedy, f"Start the container with {flag}.", Step(text=text, where="user"))


def group_membership(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    groups = remedy.details.get("groups") or "render,video"
    if not all(_PLAIN.match(g) for g in groups.split(",")):
        groups = "render,video"
    step = Step(
        text=f"Add yourself to the groups {groups}",
        shell=f'sudo usermod -aG {groups} "$USER"',
        where="system",
        needs_root=True,
    )
    again = Step(text="Log out and in again: groups are given at login", where="user")
    return _fix(finding, remedy, f"Join the groups {groups}.", step, again)


def install_system_package(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    package = remedy.details.get("package", "the package")
    how = (
        "its installer" if situation.windows else "Homebrew" if situation.mac else "the distribution's package manager"
    )
    text = f"Install {package} with {how}"
    return _fix(finding, remedy, f"Install {package}.", Step(text=text, where="system", needs_root=not situation.mac))


# --- what only the user can do ---


def use_other_build(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    build = remedy.details.get("build", "another build")
    text = remedy.text or f"Use {build}."
    return _fix(finding, remedy, text, Step(text=text))


def free_disk_space(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    purge = ("uv", "cache", "clean") if situation.tool == "uv" else (situation.python, "-m", "pip", "cache", "purge")
    return _fix(
        finding, remedy, "Free disk space.",
        Step(text=f"Empty the cache of {'uv' if situation.tool == 'uv' else 'pip'}", argv=purge, where="user"),
        Step(text="Free more disk space, or put TMPDIR on a larger disk", where="user"),
    )  # fmt: skip


SENTENCES = {
    "stop-process": "Stop the process that holds the GPU",
    "reduce-memory": "Use less memory: a smaller batch, lower precision, or a smaller model",
    "hardware-service": "Have the hardware looked after: reseat the card, check power and cooling, ask the vendor",
    "system-setting": "Change the setting",
}


def by_hand(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """An action that no command can carry out for the user."""
    setting, value = remedy.details.get("setting"), remedy.details.get("value")
    text = remedy.text or SENTENCES[remedy.action]
    if setting and not remedy.text:
        text = f"Change the setting {setting}" + (f" to {value}" if value else "")
    elif note := remedy.details.get("note"):
        text = note if not remedy.text else text
    step = Step(
        text=text.rstrip("."), where="system" if remedy.action in ("system-setting", "hardware-service") else "user"
    )
    return _fix(finding, remedy, text.rstrip(".") + ".", step)


def nothing(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """There is nothing to do, and why."""
    return _fix(finding, remedy, remedy.details.get("reason") or "There is nothing to do.")

"""The machine: modules, services, variables, groups, and what only the user can do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

from doctor.fixes import quoting, tools
from doctor.fixes.host import RESTART_WSL, as_root
from doctor.fixes.situation import Situation
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step
from doctor.regex import Regex

_PLAIN = Regex(r"[A-Za-z0-9_.@+-]+\Z")  # names of modules, services, groups


def reboot(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    if situation.facts.host.wsl:
        text = RESTART_WSL
    else:
        text = "Restart the machine" + (" (the host, not the container)" if situation.facts.host.container else "")
    return Fix.of(finding, remedy, f"{text}.", Step(text=text, where="system", needs_reboot=True))


ON_TOP_OF = {"nvidia": ("nvidia_uvm", "nvidia_drm", "nvidia_modeset")}  # modules that must go before it


def load_module(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    """None where the kernel has no such modules: Windows, a Mac, WSL, whose driver is that of Windows."""
    if situation.windows or situation.mac or situation.facts.host.wsl:
        return None
    module = remedy.details.get("module", "")
    if not _PLAIN.match(module):
        text = "Load the GPU's kernel module"
        return Fix.of(finding, remedy, f"{text}.", Step(text=text, where="system", needs_root=True))
    load = Step(
        text=f"Load the kernel module {module}",
        argv=as_root(situation, ("modprobe", module)),
        where="system",
        needs_root=True,
        undo=as_root(situation, ("modprobe", "-r", module)),
    )
    if remedy.details.get("reload") != "yes":
        return Fix.of(finding, remedy, f"{load.text}.", _where_the_kernel_is(situation, load))
    unload = Step(
        text=f"Unload the kernel module {module} (end the programs that use the GPU first)",
        argv=as_root(situation, ("modprobe", "-r", *ON_TOP_OF.get(module, ()), module)),
        where="system",
        needs_root=True,
        undo=as_root(situation, ("modprobe", module)),
    )
    steps = (_where_the_kernel_is(situation, step) for step in (unload, replace(load, undo=None)))
    return Fix.of(finding, remedy, f"Unload and load the kernel module {module}.", *steps)


def _where_the_kernel_is(situation: Situation, step: Step) -> Step:
    """A container has neither modules nor services of the host: there the command is for the host, and only told."""
    if not situation.facts.host.container or not step.argv:
        return step
    command = " ".join(step.argv if step.argv[0] == "sudo" else ("sudo", *step.argv))
    return Step(text=f"{step.text}, on the host: {command}", where="system", needs_root=True)


def start_service(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    service = remedy.details.get("service", "")
    if not _PLAIN.match(service):
        text = "Start the service"
        return Fix.of(finding, remedy, f"{text}.", Step(text=text, where="system", needs_root=True))
    step = Step(
        text=f"Start {service}, now and at every boot",
        argv=as_root(situation, ("systemctl", "enable", "--now", service)),
        where="system",
        needs_root=True,
        undo=as_root(situation, ("systemctl", "disable", "--now", service)),
        verify=("systemctl", "is-active", service),
    )
    return Fix.of(finding, remedy, f"Start the service {service}.", _where_the_kernel_is(situation, step))


def upgrade_os(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    minimum = remedy.details.get("minimum")
    name = "macOS" if situation.mac else "the operating system"
    title = f"Update {name}" + (f" to {minimum} or newer" if minimum else "")
    text = f"{title}: {_software_update(situation)}{_what_it_serves(minimum)}" if situation.mac else title
    torch = situation.facts.torch
    meanwhile = "; until then torch works on this Mac's CPU" if situation.mac and torch and torch.imports else ""
    step = Step(text=text + meanwhile, where="system", needs_root=True, needs_reboot=True)
    return Fix.of(finding, remedy, f"{title}.", step)


def _software_update(situation: Situation) -> str:
    have = situation.facts.host.macos or None
    if have and numbers(have) < (13,):
        return "System Preferences, Software Update"
    return "System Settings, General, Software Update"


def _what_it_serves(minimum: str | None) -> str:
    """What more than the minimum is worth: macOS sets the newest torch that has MPS there."""
    newest = lookup.newest_torch()
    wanted = lookup.mps_minimum(newest)
    if not minimum or not wanted or numbers(minimum) >= numbers(wanted):
        return ""
    last = lookup.newest_with_mps(minimum)
    until = f"; {minimum} has it up to torch {last}" if last else ""
    return f" (torch {newest} has MPS from macOS {wanted} on{until})"


# --- variables and the shell ---


FOLDERS = ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "DYLD_LIBRARY_PATH", "CUDA_HOME")


def _are_folders(situation: Situation, value: str) -> bool:
    """Whether the value can be set as it stands: folders from the root on, and not words or a pattern."""
    if "*" in value:
        return False
    if situation.windows:
        return all(PureWindowsPath(part).is_absolute() for part in value.split(";"))
    return all(PurePosixPath(part).is_absolute() for part in value.split(":"))


def set_variable_step(situation: Situation, name: str, value: str) -> Step:
    shell = quoting.set_variable(name, value, shell=situation.shell)
    return Step(text=f"Set {name}={value} (and in the shell's start file, to keep it)", shell=shell, where="user")


def set_env(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    name, value = remedy.details.get("name", ""), remedy.details.get("value", "")
    if name in FOLDERS and not _are_folders(situation, value):
        text = f"Set the variable {name} to {value}"
        said = remedy.text.rstrip(".") or text
        step = Step(text=said if name in said else f"{said}: {name} gets {value}", where="user")
        return Fix.of(finding, remedy, f"{text}.", step)
    return Fix.of(finding, remedy, f"Set the variable {name} to {value}.", set_variable_step(situation, name, value))


def unset_env(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    name = remedy.details.get("name", "")
    step = Step(
        text=f"Remove the variable {name} (and where the shell's start files set it)",
        shell=quoting.unset_variable(name, shell=situation.shell),
        where="user",
    )
    return Fix.of(finding, remedy, f"Remove the variable {name}.", step)


# --- groups ---


def group_membership(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    groups = remedy.details.get("groups") or "render,video"
    if not all(_PLAIN.match(g) for g in groups.split(",")):
        groups = "render,video"
    if situation.facts.host.container:
        flags = " ".join(f"--group-add {group}" for group in groups.split(","))
        text = f"Start the container again with {flags}, or with the numbers that the host's groups have"
        here = replace(remedy, text="")  # the sentence of the remedy is for the system itself
        return Fix.of(finding, here, f"Start the container with {flags}.", Step(text=text, where="user"))
    step = Step(
        text=f"Add yourself to the groups {groups}",
        shell=f'sudo usermod -aG {groups} "$USER"',
        where="system",
        needs_root=True,
    )
    again = Step(text="Log out and in again: groups are given at login", where="user")
    return Fix.of(finding, remedy, f"Join the groups {groups}.", step, again)


# --- what only the user can do ---


def use_other_build(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    build = remedy.details.get("build", "another build")
    text = remedy.text or f"Use another build: {build}."
    return Fix.of(finding, remedy, text, Step(text=text.rstrip(".")))


def free_disk_space(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    purge = situation.by.empty_cache(situation)
    whose = situation.tool if purge else tools.base().name
    purge = purge or tools.base().empty_cache(situation)
    return Fix.of(
        finding, remedy, "Free disk space.",
        Step(text=f"Empty the cache of {whose}", argv=purge, where="user"),
        Step(text="Free more disk space, or put TMPDIR on a larger disk", where="user"),
    )  # fmt: skip


SENTENCES = {
    "stop-process": "Stop the process that holds the GPU",
    "reduce-memory": "Use less memory: a smaller batch, lower precision, or a smaller model",
    "hardware-service": "Have the hardware looked after: reseat the card, check power and cooling, ask the vendor",
    "system-setting": "Change the setting",
    "ask-provider": "Ask whoever runs the machine (the cloud provider, the administrators of the cluster)",
}


def by_hand(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """An action that the user must carry out; no command can."""
    setting, value = remedy.details.get("setting"), remedy.details.get("value")
    text = remedy.text or SENTENCES[remedy.action]
    if setting and not remedy.text:
        text = f"Change the setting {setting}" + (f" to {value}" if value else "")
    elif note := remedy.details.get("note"):
        text = note if not remedy.text else text
    step = Step(
        text=text.rstrip("."), where="system" if remedy.action in ("system-setting", "hardware-service") else "user"
    )
    return Fix.of(finding, remedy, text.rstrip(".") + ".", step)


def nothing(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """A fix without steps that says why there is nothing to do."""
    reason = remedy.details.get("reason") or "there is nothing to do"
    return Fix.of(finding, remedy, f"{reason[0].upper()}{reason[1:].rstrip('.')}.")

"""Limits and modes that the system sets: of a process, of Windows' paths, of who may compute on a GPU."""

from __future__ import annotations

from doctor.fixes.host import as_root
from doctor.fixes.situation import Situation
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step


def set_compute_mode(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """nvidia-smi's number of the mode is in `value` (0: Default), by default 0."""
    mode = remedy.details.get("value", "0")
    mode = mode if mode in ("0", "1", "2", "3") else "0"
    name = {"0": "Default", "1": "Exclusive Thread", "2": "Prohibited", "3": "Exclusive Process"}[mode]
    title = f"Set the compute mode of the GPU to {name}"
    command = ("nvidia-smi", "-c", mode)
    if situation.facts.host.container:
        step = Step(text=f"{title}, on the host: sudo {' '.join(command)}", where="system", needs_root=True)
    elif situation.facts.host.wsl:
        text = f"{title}, in Windows (PowerShell as administrator): {' '.join(command)}"
        step = Step(text=text, where="system", needs_root=True)
    else:
        argv = command if situation.windows else as_root(situation, command)
        step = Step(text=title, argv=argv, where="system", needs_root=True)
    return Fix.of(finding, remedy, f"{title}.", step)


# What a remedy calls a limit: the option of sh's `ulimit`, its words, Docker's flag for it
LIMITS = {
    "open-files": ("-n", "open files", "--ulimit nofile={0}:{0}"),
    "processes": ("-u", "processes", "--ulimit nproc={0}:{0}"),
    "address-space": ("-v", "the address space", ""),
    "data": ("-d", "the data segment", ""),
    "cpu-seconds": ("-t", "CPU time", "--ulimit cpu={0}:{0}"),
    "locked-memory": ("-l", "locked memory", "--ulimit memlock=-1"),
    "cgroup-processes": ("", "processes in the control group", "--pids-limit {0}"),
}


def raise_limit(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """`details`: `limit` (a key of LIMITS), `value` (a number, or "unlimited"). A limit that is not known gives words
    only."""
    limit, value = remedy.details.get("limit", ""), remedy.details.get("value", "unlimited")
    if limit not in LIMITS or not (value.isdigit() or value == "unlimited"):
        text = remedy.text.rstrip(".") or "Raise the limit of the process"
        return Fix.of(finding, remedy, f"{text}.", Step(text=text, where="user"))
    option, words, flag = LIMITS[limit]
    title = f"Raise the limit of {words} to {value}" if value.isdigit() else f"Lift the limit of {words}"
    container = str(situation.facts.host.container or "")
    steps: list[Step] = []
    if container and flag:
        given = flag.format(value if value.isdigit() else "-1")
        steps.append(Step(text=_of_a_container(container, given, words), where="user"))
    elif not option:
        text = f"{title}: TasksMax= of the service or the user's slice (systemctl edit)"
        steps.append(Step(text=text, where="system"))
    else:
        here = f"{title}, in the shell that starts Python"
        steps.append(Step(text=here, shell=f"ulimit {option} {value}", where="user"))
        text = (
            "Where the shell may not raise it: a line in /etc/security/limits.conf, or the options of the batch system"
            " or of the service that starts it"
        )
        steps.append(Step(text=text, where="system"))
    return Fix.of(finding, remedy, f"{title}.", *steps)


def _of_a_container(runtime: str, flag: str, words: str) -> str:
    if runtime == "kubernetes":
        return f"Have the administrators of the cluster raise the limit of {words} (it is set on the node)"
    program = "podman" if runtime == "podman" else "docker"
    return f"Start the container again: {program} run {flag} …"


_FILE_SYSTEM = r"HKLM\SYSTEM\CurrentControlSet\Control\FileSystem"
_LONG_PATHS = ("reg", "add", _FILE_SYSTEM, "/v", "LongPathsEnabled", "/t", "REG_DWORD")


def enable_long_paths(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """Microsoft's registry value: https://learn.microsoft.com/windows/win32/fileio/maximum-file-path-limitation"""
    title = "Let Windows use paths longer than 260 characters"
    step = Step(
        text=f"{title} (in a terminal run as administrator)",
        argv=(*_LONG_PATHS, "/d", "1", "/f"),
        where="system",
        needs_root=True,
        undo=(*_LONG_PATHS, "/d", "0", "/f"),
    )
    return Fix.of(finding, remedy, f"{title}.", step)

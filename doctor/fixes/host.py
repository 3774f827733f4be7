"""The examined system as its commands see it: its package manager, and who may change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from doctor.fixes.situation import Situation
from doctor.knowledge.lookup import Distribution
from doctor.model.fix import Fix

RESTART_WSL = "Restart WSL: «wsl --shutdown» in PowerShell, then open it again"


def distribution(situation: Situation) -> Distribution:
    host = situation.facts.host
    name = {"darwin": "macos", "windows": "windows"}.get(host.system or "", host.os_id)
    return Distribution(id=name, like=host.os_like, version=host.os_version)


def as_root(situation: Situation, argv: Sequence[str]) -> tuple[str, ...]:
    """The command with sudo where the user is not root. Where that is not known: images run as root and have no sudo,
    other systems have it."""
    host = situation.facts.host
    root = bool(host.container) if host.root is None else host.root
    return tuple(argv) if root else ("sudo", *argv)


def as_far_as_allowed(situation: Situation, fix: Fix) -> Fix:
    """The fix, with a word where sudo cannot work in the process that was examined: in containers and services that
    were started with no_new_privs (prctl(2), PR_SET_NO_NEW_PRIVS)."""
    host = situation.facts.host
    uses_sudo = any(step.argv and step.argv[0] == "sudo" for step in fix.steps)
    if not (situation.facts.live and host.no_new_privileges and uses_sudo):
        return fix
    said = "sudo cannot work in here (no_new_privs is set): run its commands outside of the container or service"
    return replace(fix, assumes=(*fix.assumes, said))

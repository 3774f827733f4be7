"""The examined system as its commands see it: whose packages it takes, and who may change it."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.fixes.situation import Situation
from doctor.knowledge.lookup import Distribution

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

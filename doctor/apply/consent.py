"""Environments that are changed only when the user says so by name: --allow NAME."""

from __future__ import annotations

import os
from collections.abc import Iterable

from doctor.fixes import tools
from doctor.model.facts import Facts

_SHARED = tuple(kind.name for tool in tools.all_tools() for kind in tool.kinds if kind.shared)
NAMES = ("system-python", *_SHARED, "other-user", "jetson-torch")


def needed(facts: Facts, prefix: str) -> tuple[tuple[str, str], ...]:
    """(name, why it is asked for) of every consent that a change of this environment needs."""
    interpreter = facts.interpreter
    asked = []
    if interpreter.externally_managed or interpreter.environment in ("system", "embedded"):
        managed = " and its distribution manages it (PEP 668)" if interpreter.externally_managed else ""
        why = f"{interpreter.executable} is no virtual environment{managed}: other programs may need its packages"
        asked.append(("system-python", why))
    if (kind := tools.kind(interpreter.environment)) and kind.shared:
        asked.append((kind.name, f"{prefix} is {kind.shared}"))
    if (owner := _other_owner(prefix)) is not None:
        asked.append(("other-user", f"{prefix} belongs to another user ({owner})"))
    if isinstance(facts.host.jetson, str) and facts.torch:
        asked.append(
            ("jetson-torch", "this is a Jetson, whose torch is a build of its own: another one won't replace it")
        )
    return tuple(asked)


def missing(facts: Facts, prefix: str, allowed: Iterable[str]) -> str | None:
    """The sentence that names the consents not given; None where all are."""
    given = frozenset(allowed)
    lacking = [(name, why) for name, why in needed(facts, prefix) if name not in given]
    if not lacking:
        return None
    reasons = "; ".join(why for _, why in lacking)
    options = " ".join(f"--allow {name}" for name, _ in lacking)
    return f"nothing was changed: {reasons}. If it shall be changed all the same: {options}"


def _other_owner(path: str) -> str | None:
    """The name of the folder's owner, where that is somebody else."""
    if not hasattr(os, "geteuid"):
        return None
    try:
        owner = os.stat(path).st_uid
    except OSError:
        return None
    if owner == os.geteuid():
        return None
    try:
        import pwd

        return pwd.getpwuid(owner).pw_name
    except (ImportError, KeyError):
        return str(owner)

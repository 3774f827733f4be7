"""The distributions of an environment, from their dist-info folders: for the freeze, and for what a change would
break."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from doctor.facts.system import read_regular
from doctor.fixes.tools import normalised
from doctor.model.values import dataclass

_HEADER_BYTES = 1 << 16


@dataclass(frozen=True)
class Installed:
    """One distribution: name as PEP 503 compares it, and its Requires-Dist lines."""

    name: str
    version: str
    requires: tuple[str, ...] = ()


def installed_in(roots: Iterable[str]) -> dict[str, Installed]:
    """By name; the first found counts, as for Python."""
    found: dict[str, Installed] = {}
    for root in roots:
        for folder, names, _ in os.walk(root):
            for name in names:
                if name.endswith(".dist-info") and name[0] not in "~-":
                    one = _read(os.path.join(folder, name))
                    if one:
                        found.setdefault(one.name, one)
            names[:] = [n for n in names if n in ("lib", "site-packages", "dist-packages") or n.startswith("python3")]
    return found


def _read(info: str) -> Installed | None:
    try:
        text = read_regular(os.path.join(info, "METADATA"), _HEADER_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    head = [line.rstrip("\r") for line in text.split("\n\n", 1)[0].split("\n")]
    values: dict[str, list[str]] = {}
    for line in head:
        key, colon, value = line.partition(":")
        if colon:
            values.setdefault(key.lower(), []).append(value.strip())
    if not values.get("name") or not values.get("version"):
        return None
    return Installed(normalised(values["name"][0]), values["version"][0], tuple(values.get("requires-dist", ())))


def freeze(installed: Mapping[str, Installed]) -> tuple[str, ...]:
    """ "name==version" lines, sorted: for the eye."""
    return tuple(f"{one.name}=={one.version}" for one in sorted(installed.values(), key=lambda o: o.name))


def conflicts(installed: Mapping[str, Installed], after: Mapping[str, str], python: str | None) -> tuple[str, ...]:
    """Requirements of packages that stay, which hold now and would not with the versions in `after` (name ->
    version)."""
    from packaging.requirements import InvalidRequirement, Requirement

    broken = []
    for one in installed.values():
        if one.name in after:
            continue
        for text in one.requires:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            name = normalised(requirement.name)
            old = installed.get(name)
            if name not in after or (requirement.marker and not _holds(requirement, python)):
                continue
            holds_now = old is not None and _contains(requirement, old.version)
            if holds_now and not _contains(requirement, after[name]):
                broken.append(f"{one.name} {one.version} needs {requirement.name}{requirement.specifier}")
    return tuple(sorted(broken))


def _holds(requirement: object, python: str | None) -> bool:
    environment = {"extra": ""}
    if python:
        environment |= {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    try:
        return bool(requirement.marker.evaluate(environment))  # type: ignore[attr-defined]
    except Exception:  # an undefined name in a package's marker is no reason to warn
        return False


def _contains(requirement: object, version: str) -> bool:
    from packaging.version import InvalidVersion

    try:
        return bool(requirement.specifier.contains(version, prereleases=True))  # type: ignore[attr-defined]
    except InvalidVersion:
        return True

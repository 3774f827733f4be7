"""What the systems' package managers call things, and which NVIDIA driver a distribution has.

The rows are in tables/system_packages.json. A name without a source is not in them: then there is no command.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from doctor.knowledge.load import table
from doctor.knowledge.versions import numbers
from doctor.model.values import dataclass

# Systems that call themselves like another one and are built of a third one's packages.
_FAMILIES = {
    "centos": "rhel", "rocky": "rhel", "almalinux": "rhel", "ol": "rhel", "manjaro": "arch", "endeavouros": "arch",
    "cachyos": "arch", "raspbian": "debian", "linuxmint": "ubuntu-like", "pop": "ubuntu-like", "zorin": "ubuntu-like",
    "elementary": "ubuntu-like",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Distribution:
    """A system by what /etc/os-release says: ID, ID_LIKE, VERSION_ID. macOS and Windows are "macos", "windows"."""

    id: str | None
    like: Sequence[str] = ()
    version: str | None = None

    @property
    def family(self) -> str | None:
        """Whose packages it takes: "rhel" for Rocky; "ubuntu-like" where the versions are not Ubuntu's own."""
        if self.id in _FAMILIES:
            return _FAMILIES[self.id]
        known = {name for row in table("system_packages")["managers"] for name in row["systems"]}
        if self.id in known or not self.like:
            return self.id
        if "ubuntu" in self.like:
            return "ubuntu-like"
        return next((name for name in self.like if name in known), self.id)


@dataclass(frozen=True, kw_only=True)
class Packages:
    """`command` installs them, without sudo. `repository`: the page that says how to add where they come from."""

    manager: str
    command: tuple[str, ...]
    repository: str | None = None


@dataclass(frozen=True, kw_only=True)
class DistributionDriver:
    """The NVIDIA driver of a distribution: `branch` (None: its newest), the commands without sudo, and what must be
    done before them."""

    branch: int | None
    commands: tuple[tuple[str, ...], ...]
    before: str = ""


def package_manager(system: Distribution) -> str | None:
    """ "apt", "dnf", "zypper", "pacman", "brew", "winget"; None where the tables don't know the system.

    >>> package_manager(Distribution(id="rocky", like=("rhel", "fedora"))), package_manager(Distribution(id="nixos"))
    ('dnf', None)
    """
    row = _manager_row(system)
    return str(row["manager"]) if row else None


def _manager_row(system: Distribution) -> Mapping[str, Any] | None:
    family = "ubuntu" if system.family == "ubuntu-like" else system.family
    return next((row for row in table("system_packages")["managers"] if family in row["systems"]), None)


def system_packages(
    name: str, system: Distribution, *, python: str | None = None, branch: int | None = None
) -> Packages | None:
    """How that system installs what the checks call `name` ("libgomp1", "g++", "cuda-toolkit-12-4"); None where no
    source says so. `python` ("3.12") and `branch` (of the installed driver) are part of some names."""
    row, version = _package_row(name)
    manager = _manager_row(system)
    if row is None or manager is None:
        return None
    found = _name_for(row, system, manager["manager"])
    if found is None or ("{branch}" in found and not branch):
        return None
    said = found.format(python=python or "3", branch=branch, version=version)
    words = (*manager["install"].split(), *shlex.split(said))
    return Packages(
        manager=manager["manager"], command=words, repository=row.get("repository", {}).get(manager["manager"])
    )


def commands_elsewhere(name: str, *, branch: int | None = None) -> tuple[tuple[str, str], ...]:
    """(whose, command) for every distribution whose name of the package is known: where the system is not.

    >>> commands_elsewhere("libgfortran5")
    (('Debian and Ubuntu', 'sudo apt install libgfortran5'), ('Fedora and RHEL', 'sudo dnf install libgfortran'))
    """
    row, version = _package_row(name)
    if row is None:
        return ()
    installs = {m["manager"]: m["install"] for m in table("system_packages")["managers"]}
    found = []
    for key, (whose, manager) in _WHOSE.items():
        said = row["names"].get(key)
        if said is None or ("{branch}" in said and not branch):
            continue
        since = f" {row['since'][key]} or newer" if key in row.get("since", {}) else ""
        said = said.format(python="3", branch=branch, version=version)
        found.append((whose + since, f"sudo {installs[manager]} {said}"))
    return tuple(found)


_WHOSE = {
    "apt": ("Debian and Ubuntu", "apt"), "ubuntu": ("Ubuntu", "apt"), "debian": ("Debian", "apt"),
    "dnf": ("Fedora and RHEL", "dnf"), "fedora": ("Fedora", "dnf"), "zypper": ("openSUSE", "zypper"),
    "pacman": ("Arch", "pacman"),
}  # fmt: skip


def conda_packages(name: str) -> tuple[str, ...]:
    """conda-forge's packages for the same; () where it has none."""
    row, _ = _package_row(name)
    return tuple(row["names"].get("conda-forge", "").split()) if row else ()


def what_is(name: str) -> str | None:
    """ "libgl1" -> "the OpenGL library"."""
    row, _ = _package_row(name)
    return str(row["what"]) if row else None


def _package_row(name: str) -> tuple[Mapping[str, Any] | None, str]:
    """The row, and the part of the name that is a version: "cuda-toolkit-12-4" is cuda-toolkit, "-12-4"."""
    rows = {row["name"]: row for row in table("system_packages")["packages"]}
    if name in rows:
        return rows[name], ""
    start = name.rstrip("-0123456789")
    return rows.get(start), name[len(start) :]


def _name_for(row: Mapping[str, Any], system: Distribution, manager: str) -> str | None:
    """By the system's own name first, then by its package manager's."""
    names, since = row["names"], row.get("since", {})
    for key in (system.id, system.family):
        if key in names:
            new_enough = key not in since or numbers(system.version or "") >= numbers(since[key])
            return str(names[key]) if new_enough else None
    return str(names[manager]) if manager in names else None


def distribution_driver(
    system: Distribution, capabilities: Sequence[str], minimum: str | None = None, last: int | None = None
) -> DistributionDriver | None:
    """The driver of the distribution that serves GPUs of all these compute capabilities, is at least `minimum`
    ("525.60.13") and of no newer branch than `last`; None where it has none, and without a capability."""
    if not capabilities:
        return None
    for row in table("system_packages")["drivers"]:
        branch = row["branch"]
        if row["system"] != system.family or not _is_version(system.version, row["versions"]):
            continue
        if any(not _serves(row, capability) for capability in capabilities):
            continue
        if branch is None and last is not None:
            continue
        if branch is not None and (branch < (numbers(minimum or "") or (0,))[0] or branch > (last or branch)):
            continue
        commands = tuple(tuple(command.split()) for command in row["commands"])
        return DistributionDriver(branch=branch, commands=commands, before=row["before"])
    return None


def _is_version(version: str | None, known: Sequence[str]) -> bool:
    return not known or any(version == v or (version or "").startswith(v + ".") for v in known)


def _serves(row: Mapping[str, Any], capability: str) -> bool:
    first, last = row["first"], row["last"]
    have = numbers(capability)
    return (first is None or have >= numbers(first)) and (last is None or have <= numbers(last))

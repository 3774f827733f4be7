"""Where an environment keeps what its tools change, and where its snapshots lie. By files alone, nothing is
started."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.model.facts import Interpreter

STORE = ".torchdoctor"  # in the environment: same file system, moves and goes with it, and is on no sys.path
_SITE = ("site-packages", "dist-packages")
_NOT_CONTENT = ("pkgs", "envs", STORE)  # of a conda installation: the package cache and the other environments
PIPX, UV_TOOL = "pipx_metadata.json", "uv-receipt.toml"  # what these tools keep in an application's environment
LOCK_FILES = ("uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "Pipfile.lock")
PROJECT_FILES = ("pyproject.toml", "pixi.toml", "Pipfile", *LOCK_FILES)


@dataclass(frozen=True, kw_only=True)
class Place:
    """`roots`: folders whose whole content is recorded; `files`: single files beside them (a project's), perhaps not
    there yet; `leave`: names directly below a root that are not content. All paths are absolute."""

    prefix: str
    store: str
    roots: tuple[str, ...]
    files: tuple[str, ...] = ()
    leave: tuple[str, ...] = (STORE,)
    by_record: bool = True  # RECORD files say whose each file is; not so in a conda environment


def prefix_of(python: str) -> str | None:
    """The environment's folder that a Python stands in; None for a Python that is no environment's (the system's)."""
    folder = os.path.dirname(os.path.abspath(python))
    for prefix in (os.path.dirname(folder), folder):  # bin/python, Scripts\\python.exe, conda's python.exe on Windows
        if any(os.path.exists(os.path.join(prefix, name)) for name in ("pyvenv.cfg", "conda-meta")):
            return prefix
    return None


def store_of(system: System, python: str) -> str:
    """The folder of the snapshots of the environment that a Python stands in."""
    if prefix := prefix_of(python):
        return os.path.join(prefix, STORE)
    key = hashlib.sha256(os.path.realpath(python).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return os.path.join(state_folder(system), key)


def state_folder(system: System) -> str:
    """Where we keep what belongs to no environment of the user's."""
    home = system.environ.get("HOME") or system.environ.get("USERPROFILE") or os.path.expanduser("~")
    state = system.environ.get("XDG_STATE_HOME") or system.environ.get("LOCALAPPDATA")
    return os.path.join(state or os.path.join(home, ".local", "state"), "torchdoctor")


def place_of(system: System, interpreter: Interpreter) -> Place:
    """The place of the target's environment."""
    python = interpreter.executable or ""
    prefix = prefix_of(python) or interpreter.prefix or os.path.dirname(os.path.dirname(python))
    store = store_of(system, python)
    records = (os.path.join(prefix, name) for name in (PIPX, UV_TOOL))
    files = (*_project_files(interpreter.project), *(file for file in records if os.path.exists(file)))
    if os.path.isdir(os.path.join(prefix, "conda-meta")):
        return Place(prefix=prefix, store=store, roots=(prefix,), files=files, leave=_NOT_CONTENT, by_record=False)
    sites = [path for path in interpreter.sys_path or () if os.path.basename(os.path.normpath(path)) in _SITE]
    if prefix_of(python):  # what such an environment sees of the system's packages, no tool changes through it
        real = os.path.realpath(prefix) + os.sep
        sites = [site for site in sites if os.path.realpath(site).startswith(real)]
        beside = [os.path.join(prefix, name) for name in ("bin", "Scripts", "include", "share", "etc")]
        beside = [folder for folder in beside if os.path.realpath(folder).startswith(real)]
    else:  # the distribution's own folders belong to its package manager
        sites = [site for site in sites if os.access(site, os.W_OK)]
        beside = ["/usr/local/bin"] if os.path.dirname(python) == "/usr/bin" else [os.path.dirname(python)]
    return Place(prefix=prefix, store=store, roots=_distinct([*sites, *beside]), files=files)


def is_within(path: str, folder: str) -> bool:
    """Whether a real path is a folder, or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def store_at(path: str) -> str | None:
    """The store of an environment that is named by its folder, or by a Python in it, be that Python gone."""
    path = os.path.abspath(path)
    stores = (os.path.join(folder, STORE) for folder in (path, os.path.dirname(os.path.dirname(path))))
    return next((store for store in stores if os.path.isdir(store)), None)


def _distinct(folders: Iterable[str]) -> tuple[str, ...]:
    """Those that exist, by their real paths, in order, each once, none inside another: lib64 is often a link."""
    real = list(dict.fromkeys(os.path.realpath(f) for f in folders if os.path.isdir(f)))
    return tuple(f for f in real if not any(f.startswith(other + os.sep) for other in real))


def _project_files(project: str | None) -> tuple[str, ...]:
    if not project:
        return ()
    folder = os.path.dirname(os.path.abspath(project))
    return (os.path.abspath(project), *(os.path.join(folder, name) for name in LOCK_FILES))

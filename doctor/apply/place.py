"""Where an environment keeps what its tools change, and where its snapshots lie. By files alone, nothing is
started."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from doctor.fixes.tools import all_tools
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.model.facts import Interpreter

STORE = ".torchdoctor"  # in the environment: on its file system, moved and removed with it, and not on sys.path
_SITE = ("site-packages", "dist-packages")
_NOT_CONTENT = ("pkgs", "envs", STORE)  # of a conda installation: the package cache and the other environments
LOCK_FILES = tuple(dict.fromkeys(name for tool in all_tools() for name in tool.locks))
# The files of a project that a tool edits.
PROJECT_FILES = (*dict.fromkeys(n for tool in all_tools() if tool.projects for n in tool.manifests), *LOCK_FILES)
_KEPT = [sign.file for tool in all_tools() for sign in tool.signs if sign.file and "/" not in sign.file]
# What an installer may write directly below an environment's folder: the folders of sysconfig's schemes, those that
# wheels use as data (oneAPI's runtimes, Jupyter, man pages), and the files of the tools that make environments.
SCHEME = (
    "bin", "Scripts", "lib", "lib64", "Lib", "libs", "Library", "include", "Include", "share", "etc", "man", "opt",
    "sbin", "libexec", "DLLs", "pyvenv.cfg", ".lock", ".gitignore", "CACHEDIR.TAG", *_KEPT,
)  # fmt: skip


@dataclass(frozen=True)
class Root:
    """A folder that the tools write to, by its real path. `owned`: the paths below it (with /) whose whole content is
    theirs; None: all of it. What else lies in the folder is only compared, and kept where a RECORD names it: it may be
    the user's work. `whole`: an environment's folder, of which everything is compared; else other programs use it, too.
    `home`: where the kept content of its files lies, "" for the snapshot's own folder."""

    path: str
    owned: tuple[str, ...] | None = None
    whole: bool = True
    home: str = ""

    def owns(self, path: str) -> bool:
        """Whether a path below the root belongs to the tools."""
        return not path or self.owned is None or any(path == one or path.startswith(one + "/") for one in self.owned)


@dataclass(frozen=True, kw_only=True)
class Place:
    """`roots`: where the tools write, the environment first; `files`: single files beside them (a project's), perhaps
    not there yet; `leave`: names directly below a root that are not content. All paths are absolute."""

    prefix: str
    store: str
    roots: tuple[Root, ...]
    sites: tuple[str, ...] = ()  # folders with distributions, by their real paths
    files: tuple[str, ...] = ()
    leave: tuple[str, ...] = (STORE,)
    by_record: bool = True  # RECORD files say whose each file is; not so in a conda environment
    away: str | None = None  # a site-packages that a link puts outside: what is beside it there, tools take for `bin`


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
    """The folder for our own files that lie in no environment."""
    home = system.environ.get("HOME") or system.environ.get("USERPROFILE") or os.path.expanduser("~")
    state = system.environ.get("XDG_STATE_HOME") or system.environ.get("LOCALAPPDATA")
    return os.path.join(state or os.path.join(home, ".local", "state"), "torchdoctor")


def place_of(system: System, interpreter: Interpreter, *, edits_project: bool = False) -> Place:
    """The place of the target's environment. `edits_project`: the run edits the files of its project, too."""
    python = interpreter.executable or ""
    prefix = prefix_of(python) or interpreter.prefix or os.path.dirname(os.path.dirname(python))
    store = store_of(system, python)
    files = _project_files(interpreter.project) if edits_project else ()
    real = os.path.realpath(prefix)
    sites = [path for path in interpreter.sys_path or () if os.path.basename(os.path.normpath(path)) in _SITE]
    # No tool changes the system's packages through an environment that sees them.
    inside = [site for site in sites if any(is_within(os.path.normpath(site), one) for one in (prefix, real))]
    away = next((site for site in inside if not is_within(os.path.realpath(site), real)), None)
    if os.path.isdir(os.path.join(prefix, "conda-meta")):
        return Place(
            prefix=prefix, store=store, roots=(Root(real),), sites=(real,), files=files, leave=_NOT_CONTENT,
            by_record=False, away=away,
        )  # fmt: skip
    if not prefix_of(python):  # the distribution's own folders belong to its package manager
        sites = _real_folders(site for site in sites if os.access(site, os.W_OK))
        scripts = "/usr/local/bin" if os.path.dirname(python) == "/usr/bin" else os.path.dirname(python)
        roots = _shared_roots(sites, os.path.realpath(scripts))
        return Place(prefix=prefix, store=store, roots=roots, sites=tuple(sites), files=files)
    sites = _real_folders(inside)
    extra = [os.path.relpath(site, real).replace(os.sep, "/") for site in sites if is_within(site, real)]
    owned = tuple(dict.fromkeys((*SCHEME, *(one for one in extra if one.split("/")[0] not in SCHEME))))
    return Place(
        prefix=prefix, store=store, roots=(Root(real, owned),), sites=tuple(sites), files=files, away=away
    )  # fmt: skip


def _shared_roots(sites: Iterable[str], scripts: str) -> tuple[Root, ...]:
    """Of a Python that is no environment's: the folders that its packages are installed under (/usr/local), of which
    only site-packages and the scripts' folder are the tools' own."""
    owned: dict[str, list[str]] = {}
    for folder in (*sites, scripts):
        above = folder
        while os.path.basename(above).lower() not in ("lib", "lib64", "bin", "scripts") and above != os.sep:
            if os.path.dirname(above) == above:
                break
            above = os.path.dirname(above)
        base = os.path.dirname(above)
        owned.setdefault(base, []).append(os.path.relpath(folder, base).replace(os.sep, "/"))
    return tuple(Root(base, tuple(paths), whole=False) for base, paths in owned.items())


def is_within(path: str, folder: str) -> bool:
    """Whether a real path is a folder, or lies below it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def store_at(path: str) -> str | None:
    """The store of an environment that is named by its folder, or by a Python in it, be that Python gone."""
    path = os.path.abspath(path)
    stores = (os.path.join(folder, STORE) for folder in (path, os.path.dirname(os.path.dirname(path))))
    return next((store for store in stores if os.path.isdir(store)), None)


def _real_folders(folders: Iterable[str]) -> list[str]:
    """Those that exist, by their real paths, in order, each once: lib64 is often a link."""
    return list(dict.fromkeys(os.path.realpath(f) for f in folders if os.path.isdir(f)))


def _project_files(project: str | None) -> tuple[str, ...]:
    if not project:
        return ()
    folder = os.path.dirname(os.path.abspath(project))
    return (os.path.abspath(project), *(os.path.join(folder, name) for name in LOCK_FILES))

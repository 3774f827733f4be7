"""Other Pythons near the target, and whether torch is in them: by files alone. What «wrong-environment» needs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from doctor.facts.kernels import kernelspecs, python_of_script
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.fixes.tools import pip
from doctor.model.facts import ABSENT, Absent, Gap, OtherEnvironment

_LOCAL = (".venv", "venv", "env")


def collect(system: System, notes: Notes) -> None:
    """Write interpreter.others down; called when the target has answered, since it is none of its own neighbours."""
    prefix = notes.get("interpreter.prefix")
    known = {_key(system, path) for path in (prefix, notes.get("interpreter.base_prefix")) if path}
    own = _key(system, system.own_prefix) if system.own_prefix else None
    others = []
    for python, how, kernel in _candidates(system, prefix or ""):
        home = os.path.dirname(os.path.dirname(python))
        if _key(system, home) in known or not system.runnable(python):
            continue
        known.add(_key(system, home))
        version, torch = _torch_in(system, home)
        if torch is None:  # a shim, or a wrapper: nothing is known of what it starts
            continue
        if torch or _key(system, home) != own:  # the doctor's own environment is of interest for its torch only
            others.append(OtherEnvironment(python=python, version=version, torch=torch, how=how, kernel=kernel))
    notes.set("interpreter.others", tuple(others), "PATH, this folder, Jupyter kernels")


def _key(system: System, folder: str) -> str:
    return system.real(folder).rstrip("/\\")


def _candidates(system: System, prefix: str) -> Iterator[tuple[str, str, str | None]]:
    """(python, how it was found, the kernel that it runs, as notebooks name it)."""
    kernels = [(spec.python, spec.display) for spec in kernelspecs(system, (prefix,)) if spec.python]
    by_folder = {os.path.dirname(python): name for python, name in reversed(kernels)}
    for python, how in _near(system):
        yield python, how, by_folder.get(os.path.dirname(python))
    for python, name in kernels:
        yield python, f'the Jupyter kernel "{name}"', name


def _near(system: System) -> Iterator[tuple[str, str]]:
    """Pythons of PATH, of the variables and of this folder."""
    for name in pip.COMMANDS:
        script = system.which(name)
        python = python_of_script(system, script) if script else None
        if python:
            yield python, f"{name} on PATH"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if folder := system.environ.get(variable):
            yield _python_of(system, folder), f"{variable} is set to it"
    for name in _LOCAL:
        yield _python_of(system, os.path.join(system.cwd, name)), f"{name} of this folder"
    for name in ("python3", "python"):
        if python := system.which(name):
            yield python, f"{name} on PATH"


def _python_of(system: System, folder: str) -> str:
    return os.path.join(folder, "Scripts", "python.exe") if system.is_windows else os.path.join(folder, "bin", "python")


def _torch_in(system: System, home: str) -> tuple[str | None, str | Absent | None]:
    """(Python's version as far as folders tell, version of torch): torch is None where no site-packages was found."""
    seen: list[tuple[str, str]] = [("", os.path.join(home, "Lib", "site-packages"))]
    names = system.listdir(os.path.join(home, "lib"))
    for name in () if isinstance(names, Gap) else names:
        if match := re.fullmatch(r"python(3\.\d+t?)", name):
            seen += [(match[1], os.path.join(home, "lib", name, kind)) for kind in ("site-packages", "dist-packages")]
    version, torch = None, None
    for number, folder in seen:
        if not system.is_folder(folder):
            continue
        text = system.read(os.path.join(folder, "torch", "version.py"), 4096)
        match = re.search(r"__version__\s*=\s*['\"]([^'\"]+)", text) if isinstance(text, str) else None
        if match:
            return number or None, match[1]
        version, torch = version or number or None, ABSENT
    return version, torch

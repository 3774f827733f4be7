"""Other Pythons near the target, and whether torch is in them: by files alone. What «wrong-environment» needs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator

from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.model.facts import ABSENT, Absent, Gap, OtherEnvironment

_KERNELS = ("{home}/.local/share/jupyter/kernels", "{home}/Library/Jupyter/kernels", "{appdata}/jupyter/kernels",
            "/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels",
            "{prefix}/share/jupyter/kernels")  # fmt: skip
_LOCAL = (".venv", "venv", "env")


def collect(system: System, notes: Notes) -> None:
    """Write interpreter.others down; called when the target has answered, since it is none of its own neighbours."""
    prefix = notes.get("interpreter.prefix")
    known = {_key(system, path) for path in (prefix, notes.get("interpreter.base_prefix"), system.own_prefix) if path}
    others = []
    for python, how in _candidates(system, prefix or ""):
        home = os.path.dirname(os.path.dirname(python))
        if _key(system, home) in known or not system.runnable(python):
            continue
        known.add(_key(system, home))
        version, torch = _torch_in(system, home)
        if torch is not None:  # a shim, or a wrapper: nothing is known of what it starts
            others.append(OtherEnvironment(python=python, version=version, torch=torch, how=how))
    notes.set("interpreter.others", tuple(others), "PATH, this folder, Jupyter kernels")


def _key(system: System, folder: str) -> str:
    return system.real(folder).rstrip("/\\")


def _candidates(system: System, prefix: str) -> Iterator[tuple[str, str]]:
    """(python, how it was found)."""
    for name in ("pip", "pip3"):
        script = system.which(name)
        python = _shebang(system, script) if script else None
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
    yield from _kernels(system, prefix)


def _python_of(system: System, folder: str) -> str:
    return os.path.join(folder, "Scripts", "python.exe") if system.is_windows else os.path.join(folder, "bin", "python")


def _shebang(system: System, script: str) -> str | None:
    """The Python that a console script starts: its first line, or the exec line of one with a long path."""
    head = system.read_bytes(script, 1024).decode("utf-8", "replace").splitlines()
    if not head or not head[0].startswith("#!"):
        return None
    line = head[1] if head[0].strip() == "#!/bin/sh" and len(head) > 1 else head[0][2:]
    match = re.search(r"(/[^'\"\n]*?python[\d.]*)(?=['\"\s]|$)", line)
    return match[1] if match else None


def _kernels(system: System, prefix: str) -> Iterator[tuple[str, str]]:
    environ = system.environ
    named = {"home": environ.get("HOME", ""), "appdata": environ.get("APPDATA", ""), "prefix": prefix}
    for folder in _KERNELS:
        path = folder.format(**named)
        names = system.listdir(path)
        for name in () if isinstance(names, Gap) else names[:50]:
            text = system.read(f"{path}/{name}/kernel.json", 65536)
            try:
                said = json.loads(text) if isinstance(text, str) else {}
                python = said["argv"][0]
            except (ValueError, KeyError, IndexError, TypeError):
                continue
            if isinstance(python, str) and os.path.dirname(python):
                yield python, f"kernel {said.get('display_name', name)} of Jupyter"


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

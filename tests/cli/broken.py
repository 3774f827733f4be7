"""Environments in which other tools' reports end in a traceback, or never. Each is a folder with a Python to examine
and the variables with which the doctor is started. scripts/bench_ticket.py times a ticket in each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.hostile.doctor import TORCH


@dataclass(frozen=True)
class Broken:
    """`python`: what --python names. `before`: words before the command."""

    python: str
    environ: dict[str, str] = field(default_factory=dict)
    before: tuple[str, ...] = ()


def _program(path: Path, text: str) -> str:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def _with_torch(folder: Path, source: str) -> Broken:
    """This Python with a torch of that source."""
    package = folder / "site-packages" / "torch"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(source)
    (package / "version.py").write_text("__version__ = '9.9.0'\ncuda = None\nhip = None\n")
    return Broken(_program(folder / "python", f"PYTHONPATH='{package.parent}' exec '{sys.executable}' \"$@\""))


def _no_pip(folder: Path) -> Broken:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "env")], check=True, timeout=120)
    return Broken(str(folder / "env"))


def _no_network(folder: Path) -> Broken:
    """Without any interface where that is allowed, else with a proxy that nobody answers at."""
    environ = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    try:
        done = subprocess.run(["unshare", "-n", "true"], capture_output=True, timeout=10, check=False)
    except OSError:
        return Broken(sys.executable, environ)
    return Broken(sys.executable, environ, () if done.returncode else ("unshare", "-n"))


def _hung_driver(folder: Path) -> Broken:
    tools = folder / "tools"
    _program(tools / "nvidia-smi", "trap '' TERM INT HUP; while true; do sleep 1000; done")
    return Broken(sys.executable, {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"})


BROKEN: dict[str, Callable[[Path], Broken]] = {
    "no torch": lambda folder: Broken(sys.executable),
    "torch segfaults on import": lambda folder: _with_torch(folder, "import os; os.kill(os.getpid(), 11)"),
    "torch hangs on import": lambda folder: _with_torch(folder, "import time; time.sleep(1000)"),
    "torch raises on import": lambda folder: _with_torch(folder, "raise ImportError('libcudart.so.12: not found')"),
    "torch fills stderr": lambda folder: _with_torch(folder, "import os\nwhile True: os.write(2, b'x\\n' * 32768)"),
    "no pip": _no_pip,
    "no network": _no_network,
    "read-only home": lambda folder: Broken(sys.executable, {"HOME": "/proc", "TMPDIR": "/proc"}),
    "no home": lambda folder: Broken(sys.executable, {"HOME": str(folder / "gone")}),
    "hung nvidia-smi": _hung_driver,
    "a Python that does not start": lambda folder: Broken(_program(folder / "python", "exit 127")),
    "a Python that crashes": lambda folder: Broken(_program(folder / "python", "kill -SEGV $$")),
    "a Python that hangs": lambda folder: Broken(_program(folder / "python", "sleep 1000")),
    "no Python": lambda folder: Broken(str(folder / "nothing")),
    "a torch that works": lambda folder: _with_torch(folder, TORCH),
}


def ticket(broken: Broken, folder: Path, *arguments: str, limit_s: float = 60.0) -> subprocess.CompletedProcess[str]:
    """`torchdoctor ticket` there."""
    argv = [*broken.before, sys.executable, "-m", "doctor", "ticket", "--python", broken.python, *arguments]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "TORCHDOCTOR"))}
    return subprocess.run(
        argv, capture_output=True, text=True, timeout=limit_s, check=False, cwd=folder, env={**clean, **broken.environ}
    )

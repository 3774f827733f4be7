"""Targets with a torch that is none: a package written for one test, put on the PYTHONPATH of a plain Python."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from doctor.facts.system import System
from doctor.facts.target import Found
from doctor.model.facts import Facts
from doctor.pipeline import Request
from doctor.probes import children

# A torch that imports and has what the probe asks first; what is missing is left out as in a very old version.
LEAST = """
__version__ = "9.9.0"
class Tensor: pass
class version: cuda = hip = None
class cuda:
    is_available = staticmethod(lambda: False)
def get_num_threads(): return 4
"""


def machine(folder: Path, torch: str | None) -> tuple[System, Found]:
    """A machine whose target is this Python, with `torch` as the text of torch/__init__.py (None: no torch)."""
    if torch is not None:
        package = folder / "packages" / "torch"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(torch)
    work = folder / "work"
    work.mkdir(exist_ok=True)
    environ = {**os.environ, "PYTHONPATH": str(folder / "packages")}
    system = System(environ=environ, cwd=str(work))
    return system, Found(python=sys.executable, reason="of the test")


def look(
    system: System, found: Found, *, probe: bool = True, limit_s: float | None = 20.0, facts: Facts | None = None,
    devices: tuple[str, ...] = (), said: list[str] | None = None,
) -> Facts:
    """What the children say of that target."""
    request = Request(probe=probe, limit_s=limit_s, devices=devices)
    first = children.start_first(system, found, probe=probe, request=request)
    heard = said if said is not None else []
    return children.finish(first, system, found, facts or Facts(), request=request, progress=heard.append)


def with_gpus(count: int) -> str:
    """The part of a fake torch that says: a CUDA build, and so many GPUs."""
    return f"""
class version: cuda = "12.4"; hip = None
class cuda:
    is_available = staticmethod(lambda: True)
    init = staticmethod(lambda: None)
    device_count = staticmethod(lambda: {count})
    @staticmethod
    def get_device_properties(i):
        class Properties: name = "Fake GPU"; total_memory = 1 << 30; major, minor = 8, 9
        return Properties
"""

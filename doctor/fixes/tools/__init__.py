"""The commands of the tools that make environments. One file a tool, each with

install(situation, order) -> tuple[Step, ...]
remove(situation, packages) -> tuple[Step, ...]
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

from doctor.fixes.situation import CONDAS


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to install. `requirements` as for pip; `replaces` names installed packages that the tool would
    otherwise take for good enough, or that are broken: they go first. For torch, `backend` says which build."""

    requirements: tuple[str, ...]
    index: str | None = None
    backend: str | None = None
    replaces: tuple[str, ...] = ()
    cuda: str | None = None  # conda-forge: the CUDA version to ask for
    exact: bool = False  # the version is wanted, not only the newest: conda-forge's are not in the tables
    note: str = ""  # what the user should know before running it


def tool(name: str) -> ModuleType:
    """The module of a tool."""
    return importlib.import_module(f"doctor.fixes.tools.{'conda' if name in CONDAS else name}")

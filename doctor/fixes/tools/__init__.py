"""The commands of the tools that make environments. One file a tool, each with

install(situation, order) -> tuple[Step, ...]
remove(situation, packages) -> tuple[Step, ...]

and those of projects, whose file says what is installed,

sync(situation) -> Step | None: the project's own command, which installs what its file asks for
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from types import ModuleType

from doctor.fixes.situation import CONDAS
from doctor.model.values import dataclass


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
    past_cache: bool = False  # what is installed is broken, and the tool's cache may hold the same files
    note: str = ""  # what the user should know before running it


def tool(name: str) -> ModuleType:
    """The module of a tool."""
    return importlib.import_module(f"doctor.fixes.tools.{'conda' if name in CONDAS else name}")


def requirement_name(requirement: str) -> str:
    """ "torch" of "torch[extra]==2.6.0"."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def program_name(argv: Sequence[str]) -> str:
    """The program's bare name: "uv" of "C:\\bin\\uv.exe"."""
    return re.split(r"[/\\]", argv[0])[-1].lower().removesuffix(".exe")


def folder_made_by(argv: Sequence[str]) -> str | None:
    """The folder of the environment that a command makes; None where it makes none."""
    words, program = list(argv), program_name(argv)
    if (program == "uv" and words[1:2] == ["venv"]) or words[1:3] == ["-m", "venv"]:
        return words[-1]
    if program in CONDAS and words[1:2] == ["create"] and "-p" in words:
        return words[words.index("-p") + 1]
    return None

"""The package managers. One file a tool, found by being there: each holds one `tool`, of the kind `_tool.Tool`. Nothing
outside of this folder knows a tool by its name (tests/test_laws.py); it asks here.

pip.py is the one that others may import: a Python's own installer is part of every environment, so steps of any tool
may need it (get a pip, forget a build, list what is there).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from functools import cache

from doctor.fixes.tools._tool import (
    REPORT,
    Asking,
    Change,
    Kind,
    Order,
    Projects,
    Resolution,
    Said,
    Tool,
    Variables,
    normalised,
    of_list,
    table_at,
)
from doctor.modules import names_in

__all__ = [
    "REPORT", "Asking", "Change", "Kind", "Order", "Projects", "Resolution", "Said", "Tool", "Variables", "all_tools",
    "base", "fetcher", "find", "folder_made_by", "kind", "names", "normalised", "of_argv", "of_kind", "of_list",
    "signs", "spellings", "table_at", "tags", "tool", "tool_said", "with_channel",
]  # fmt: skip


@cache
def all_tools() -> tuple[Tool, ...]:
    """Every tool, in the order in which they are listed."""
    tools = (importlib.import_module(f"{__name__}.{name}").tool for name in names_in(__path__))
    return tuple(sorted(tools, key=lambda tool: tool.rank))


@cache
def names() -> tuple[str, ...]:
    """What --tool takes: all programs."""
    return tuple(name for tool in all_tools() for name in tool.programs)


def find(program: str | None) -> Tool | None:
    """The tool with a program of that name."""
    return next((tool for tool in all_tools() if program in tool.programs), None)


def tool(program: str) -> Tool:
    """The same where it is known to be one."""
    found = find(program)
    if found is None:
        raise KeyError(program)
    return found


def base() -> Tool:
    """The tool of an environment of which nothing else is known: the first of all."""
    return all_tools()[0]


def fetcher() -> Tool:
    """The tool that makes a virtual environment of any Python, which it fetches."""
    return next(tool for tool in all_tools() if tool.makes == "of-any-python")


def with_channel() -> Tool:
    """The tool to get for a build that only a channel has."""
    return next(tool for tool in all_tools() if tool.channel)


def of_argv(argv: Sequence[str]) -> Tool | None:
    """Whose command it is."""
    return next((tool for tool in all_tools() if argv and tool.owns(argv)), None)


def of_kind(environment: str | None) -> Tool | None:
    """The tool that alone makes such environments."""
    return next((tool for tool in all_tools() for kind in tool.kinds if kind.name == environment), None)


def kind(environment: str | None) -> Kind | None:
    """What is known of a kind of environment that only one tool makes."""
    return next((kind for tool in all_tools() for kind in tool.kinds if kind.name == environment), None)


def folder_made_by(argv: Sequence[str]) -> str | None:
    """The folder of the environment that a command makes; None where it makes none."""
    made = (tool.made_by(list(argv)) for tool in all_tools() if argv and tool.owns(argv))
    return next((folder for folder in made if folder), None)


def signs() -> list[dict[str, object]]:
    """What inside/collect.py looks for in the target, the surest sign first: a file in the environment, its path, a
    lock file beside it, a key of its pyvenv.cfg."""
    rows = [(tool, sign) for tool in all_tools() for sign in tool.signs]
    rows.sort(key=lambda row: [not row[1].file, not row[1].part, not row[1].lock])
    return [{"manager": tool.name} | {name: getattr(sign, name) for name in _LOOKED_FOR} for tool, sign in rows]


_LOOKED_FOR = ("file", "part", "lock", "key", "kind", "of_conda", "project", "above", "needs", "points")


def spellings(*, words: int = 2) -> str:
    """An expression for a tool's name in a command of a text, of at most so many words."""
    return "|".join(said for tool in all_tools() for said in tool.said if said.count(" ") < words)


def tags() -> str:
    """An expression for the word before a package in PyTorch's collect_env."""
    return "|".join(tool.tagged for tool in all_tools() if tool.tagged)


def tool_said(word: str) -> Tool:
    """The tool that is meant by a name that `spellings` found."""
    return next(tool for tool in all_tools() if any(re.fullmatch(said, word) for said in tool.said))

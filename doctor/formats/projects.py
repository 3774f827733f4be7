"""A project's file (pyproject.toml, pixi.toml, Pipfile) as a whole: whether the plain install command of the project's
tool brings torch. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.fixes.tools import find, of_list, table_at
from doctor.formats.manifests import normalised

_TORCH = "torch"


def asks_for_torch(text: str, tool: str) -> bool | None:
    """Whether the tool's plain install command (`uv sync`, `poetry install`, …) installs torch, whatever the system.
    None where the file is not TOML.

    >>> asks_for_torch('[project]\\ndependencies = ["torch>=2"]', "uv")
    True
    >>> asks_for_torch('[project.optional-dependencies]\\ngpu = ["torch>=2"]', "uv")
    False
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        data = tomlkit.parse(text).unwrap()
    except (TOMLKitError, ValueError, RecursionError):
        return None
    return any(normalised(name) == _TORCH for name in _always(data, tool))


def _always(data: Mapping[str, Any], tool: str) -> Iterator[str]:
    """The names of what is installed unasked."""
    yield from of_list(table_at(data, "project").get("dependencies"))
    if known := find(tool):
        yield from known.unasked(data)

"""A project's file (pyproject.toml, pixi.toml, Pipfile) as a whole: whether the plain install command of the project's
tool brings torch. Pure.

Which groups that command installs: https://docs.astral.sh/uv/concepts/projects/dependencies/#default-groups,
https://python-poetry.org/docs/managing-dependencies/, https://pdm-project.org/latest/usage/dependency/,
https://pixi.prefix.dev/latest/reference/pixi_manifest/, https://pipenv.pypa.io/en/latest/pipfile.html.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.formats.manifests import normalised

_TORCH = "torch"
# A dependency is written as a table where it may be optional, or holds for some systems only.
_ONLY_SOMETIMES = ("optional", "markers", "python", "platform", "sys_platform", "os_name")


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
    yield from _of_list(_at(data, "project", "dependencies"))
    groups = _table(_at(data, "dependency-groups"))
    own = _table(_at(data, "tool", tool))
    if tool == "uv":
        default = own.get("default-groups", ["dev"])
        chosen = groups if default == "all" else [name for name in groups if name in default]
        for name in chosen:
            yield from _of_list(groups[name])
        yield from _of_list(own.get("dev-dependencies"))
    elif tool == "pdm":
        for listed in (*groups.values(), *_table(own.get("dev-dependencies")).values()):
            yield from _of_list(listed)
    elif tool == "poetry":
        yield from _of_table(own.get("dependencies"))
        for group in map(_table, _table(own.get("group")).values()):
            if group.get("optional") is not True:
                yield from _of_table(group.get("dependencies"))
    elif tool == "pixi":
        for manifest in (data, own):
            yield from _of_table(manifest.get("dependencies"))
            yield from _of_table(manifest.get("pypi-dependencies"))
    elif tool == "pipenv":
        yield from _of_table(data.get("packages"))


def _at(data: object, *keys: str) -> object:
    for key in keys:
        data = _table(data).get(key)
    return data


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _of_list(value: object) -> Iterator[str]:
    """Of requirements, those without a marker."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, str) and ";" not in one and (match := re.match(r"\s*([A-Za-z0-9][\w.-]*)", one)):
            yield match[1]


def _of_table(value: object) -> Iterator[str]:
    for name, how in _table(value).items():
        if isinstance(how, str) or (isinstance(how, Mapping) and not any(key in how for key in _ONLY_SOMETIMES)):
            yield name

"""Hatch: its environment's own table of the project gets the index and the newest version that may be, and pip (in an
environment without one, uv) installs the build, as Hatch itself would. No command of Hatch does either.

Hatch brings an environment up to date only where a requirement is not met by version
(https://hatch.pypa.io/latest/environment/), so what is installed stays until the environment is made anew. Then the
index counts, since of equal versions the one with a local label goes first, and `<=` keeps a newer release of the
default index away; unlike `==` it cannot contradict what the project itself asks for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip, uv
from doctor.fixes.tools._tool import Order, Projects, Sign, Tables, Tool, normalised
from doctor.model.fix import Step, TomlEdit

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

_OWN = "hatch.toml"
_FILES = (_OWN, "pyproject.toml")
_ENVIRONMENTS = "/hatch/env/virtual/"  # below the user's data folder: PROJECT/ID/ENVIRONMENT


class Hatch(Tool):
    programs = ("hatch",)
    rank = 55
    signs = (
        Sign(part=_ENVIRONMENTS),
        Sign(part="/.hatch/", project=_FILES, above="/.hatch/"),  # dirs.env.virtual = ".hatch"
    )
    manifests = _FILES
    tables = Tables(lists=r"(?:tool\.hatch\.)?envs\.[\w-]+")
    said = ("hatch",)
    keeps_index = True
    needs_pip = False  # where it is to work with uv
    projects = Projects()

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        by = uv.tool if pip.has_no_pip(situation.facts) else pip.tool
        file = situation.facts.interpreter.project or _FILES[1]
        text = f"Name {'the index of that build' if order.index else 'the packages'} in {situation.path(file).name}"
        edit = TomlEdit(file=file, toml="\n".join(_lines(situation, file, order, by_uv=by is uv.tool)))
        return (Step(text=text, edit=edit), *by.install(situation, order))

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        """What the project names comes back with its next environment: that is the user's to take out."""
        by = uv.tool if pip.has_no_pip(situation.facts) else pip.tool
        return by.remove(situation, packages)

    def names_environment(self, folder: str, real: str, prefix: str) -> bool:
        """…/demo/AbC_12-x/demo. Source: hatch.utils.fs.Path.id."""
        path = real.casefold() if sys.platform in ("win32", "darwin") else real
        known = base64.urlsafe_b64encode(hashlib.sha256(path.encode()).digest()).decode()[:8]
        return prefix.replace("\\", "/").rstrip("/").split("/")[-2:-1] == [known]


def _lines(situation: Situation, file: str, order: Order, *, by_uv: bool) -> tuple[str, ...]:
    """The tables of the environment: what it needs, and the variables that its installer is run with."""
    table = f"{'' if situation.path(file).name == _OWN else 'tool.hatch.'}envs.{_name(situation)}"
    needed = (f"[{table}]", f"dependencies = {json.dumps([_at_most(one) for one in order.requirements])}")
    if order.index is None:
        return needed
    index = json.dumps(order.index)
    # uv would take everything that the index has from there, in whatever version.
    said = (f"UV_INDEX = {index}", 'UV_INDEX_STRATEGY = "unsafe-best-match"') if by_uv else ()
    return (*needed, "", f"[{table}.env-vars]", *(said or (f"PIP_EXTRA_INDEX_URL = {index}",)))


def _at_most(requirement: str) -> str:
    return re.sub(r"===?", "<=", requirement, count=1)


def _name(situation: Situation) -> str:
    """Of the environment. The folder of «default» has the project's name."""
    parts = (situation.prefix or "").replace("\\", "/").rstrip("/").split("/")
    inside = parts[-2:-1] == [".hatch"]
    project = parts[-3:-2] if inside or _ENVIRONMENTS in f"/{'/'.join(parts)}" else []
    own = [normalised(name) for name in project]
    return "default" if not project or [normalised(parts[-1])] == own else parts[-1]


tool = Hatch()

"""Hatch: its environment's own table of the project gets the index and the newest version that may be, and pip (in an
environment without one, uv) installs the build, as Hatch itself would. No command of Hatch does either.

Hatch brings an environment up to date only where a requirement is not met by version
(https://hatch.pypa.io/latest/environment/), so what is installed stays until the environment is made anew. Then the
index counts, since of equal versions the one with a local label goes first, and `<=` keeps a newer release of the
default index away; unlike `==` it cannot contradict what the project itself asks for.
"""

from __future__ import annotations

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
        return (_named(situation, order, by_uv=by is uv.tool), *by.install(situation, order))

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        """What the project names comes back with its next environment: that is the user's to take out."""
        by = uv.tool if pip.has_no_pip(situation.facts) else pip.tool
        return by.remove(situation, packages)

    def names_environment(self, folder: str, real: str, prefix: str) -> bool:
        """…/demo/AbC_12-x/demo. Source: hatch.utils.fs.Path.id."""
        path = real.casefold() if sys.platform in ("win32", "darwin") else real
        import base64
        import hashlib  # loads OpenSSL

        known = base64.urlsafe_b64encode(hashlib.sha256(path.encode()).digest()).decode()[:8]
        return prefix.replace("\\", "/").rstrip("/").split("/")[-2:-1] == [known]


def _named(situation: Situation, order: Order, *, by_uv: bool) -> Step:
    """The tables of the environment say what it needs, and the variables that its installer is run with."""
    file = situation.facts.interpreter.project or _FILES[1]
    name = situation.path(file).name
    needed = f"dependencies = {json.dumps([_at_most(one) for one in order.requirements])}"
    index = json.dumps(order.index)
    # uv would take everything that the index has from there, in whatever version.
    of_uv = (f"UV_INDEX = {index}", 'UV_INDEX_STRATEGY = "unsafe-best-match"')
    variables = () if not order.index else of_uv if by_uv else (f"PIP_EXTRA_INDEX_URL = {index}",)
    text = f"Name {'the index of that build' if order.index else 'the packages'} in {name}"
    own = _environment(situation)
    if own is None:
        env = f"; below its env-vars: {', '.join(variables)}" if variables else ""
        return Step(text=f"{text}, in the table of this environment («hatch env show» lists them): {needed}{env}")
    table = f"{'' if name == _OWN else 'tool.hatch.'}envs.{own}"
    more = ("", f"[{table}.env-vars]", *variables) if variables else ()
    return Step(text=text, edit=TomlEdit(file=file, toml="\n".join((f"[{table}]", needed, *more))))


def _at_most(requirement: str) -> str:
    return re.sub(r"===?", "<=", requirement, count=1)


def _environment(situation: Situation) -> str | None:
    """Its name; None where it is not known. The folder of «default» is called as the project, whose name the path says,
    too. Inside of a project it does not: there, only the name of the project's own folder may show it."""
    parts = [part for part in (situation.prefix or "").replace("\\", "/").split("/") if part]
    folder, above = normalised(parts[-1] if parts else ""), [normalised(part) for part in parts[-3:-1]]
    if parts[-2:-1] in ([".hatch"], ["virtual"]):
        project = situation.project_folder
        return "default" if project and normalised(situation.path(project).name) == folder else None
    if _ENVIRONMENTS not in f"/{'/'.join(parts)}/" or above[:1] == [folder]:
        return "default"
    return parts[-1]


tool = Hatch()

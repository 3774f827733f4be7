"""PDM: a source for torch's packages, then the packages.

No command of PDM writes such a source: `pdm config` stores single words, and `include_packages` is a list
(https://pdm-project.org/latest/usage/config/).
"""

from __future__ import annotations

import json
import re

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order, pip, requirement_name
from doctor.model.fix import Step, TomlEdit

SOURCE = "pytorch"  # one name for all builds: the next choice takes the place of this one
_ONLY_THERE = ("pytorch-triton*", "triton-rocm", "triton-xpu")  # what torch needs and the default index lacks


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    """PDM takes another build of the same version for good, and a broken one, too: what is replaced goes first."""
    steps = []
    if order.index:
        source = _source(situation, order)
        file = re.split(r"[/\\]", source.file)[-1]
        steps.append(Step(text=f"Name the index of that build «{SOURCE}» in {file}", edit=source))
    if order.replaces:
        steps += pip.forget(situation, order.replaces)
    argv = (*_pdm(situation, "add"), *order.requirements)
    return (*steps, Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv))


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=(*_pdm(situation, "remove"), *packages)),)


def sync(situation: Situation) -> Step | None:
    """`pdm install` makes a lock file where there is none, which `pdm sync` does not."""
    return Step(text="Install what the project asks for", argv=_pdm(situation, "install"))


def _source(situation: Situation, order: Order) -> TomlEdit:
    """The names must be whole: PDM looks for a package that a source includes nowhere else, and «torch*» is also
    torchmetrics."""
    named = map(requirement_name, order.requirements)
    names = dict.fromkeys(("torch", *named, *(_ONLY_THERE if _has_own_triton(order.backend) else ())))
    included = json.dumps(list(names))
    lines = ("[[tool.pdm.source]]", f'name = "{SOURCE}"', f'url = "{order.index}"', f"include_packages = {included}")
    return TomlEdit(file=situation.facts.interpreter.project or "pyproject.toml", toml="\n".join(lines))


def _has_own_triton(backend: str | None) -> bool:
    return (backend or "").startswith(("rocm", "xpu"))


def _pdm(situation: Situation, verb: str) -> tuple[str, ...]:
    """pdm, told which project is meant, so that the command runs from anywhere."""
    folder = situation.project_folder
    return ("pdm", verb, "--project", folder) if folder else ("pdm", verb)

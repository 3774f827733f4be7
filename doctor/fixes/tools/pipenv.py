"""Pipenv. Run in the project's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doctor.fixes.tools._tool import Order, Projects, Tables, Tool
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation


class Pipenv(Tool):
    programs = ("pipenv",)
    rank = 60
    manifests = ("Pipfile",)
    locks = ("Pipfile.lock",)
    tables = Tables(packages=r"packages|dev-packages", indexes=r"source")
    keeps_index = True
    quiet = {"PIPENV_YES": "1"}  # noqa: RUF012
    projects = Projects()

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        index = ("--index", order.index) if order.index else ()
        return (Step(text=order.text, argv=("pipenv", "install", *order.requirements, *index)),)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {' '.join(packages)}", argv=("pipenv", "uninstall", *packages)),)


tool = Pipenv()

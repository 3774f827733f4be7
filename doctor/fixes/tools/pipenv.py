"""Pipenv. Run in the project's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.fixes.tools._tool import Order, Projects, Sign, Tables, Tool, of_table
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

_FILES = ("Pipfile",)
_LOCK = "Pipfile.lock"


class Pipenv(Tool):
    programs = ("pipenv",)
    rank = 60
    signs = (Sign(file=".project", points=True, project=_FILES), Sign(lock=_LOCK, project=_FILES))
    manifests = _FILES
    locks = (_LOCK,)
    tables = Tables(packages=r"packages|dev-packages", indexes=r"source")
    keeps_index = True
    quiet = {"PIPENV_YES": "1"}  # noqa: RUF012
    projects = Projects()

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        index = ("--index", order.index) if order.index else ()
        return (Step(text=order.text, argv=("pipenv", "install", *order.requirements, *index)),)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {' '.join(packages)}", argv=("pipenv", "uninstall", *packages)),)

    def sync(self, situation: Situation) -> Step | None:
        return Step(text="In the project's folder: install what its Pipfile asks for", argv=("pipenv", "install"))

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        return of_table(project.get("packages"))


tool = Pipenv()

"""Pipenv. Run in the project's folder."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    index = ("--index", order.index) if order.index else ()
    argv = ("pipenv", "install", *order.requirements, *index)
    return (Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv),)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=("pipenv", "uninstall", *packages)),)


def sync(situation: Situation) -> Step | None:
    return Step(text="In the project's folder: install what its Pipfile asks for", argv=("pipenv", "install"))

"""Poetry: an explicit source for torch's index, then the packages from it. Run in the project's folder."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    steps = []
    source: tuple[str, ...] = ()
    if order.index:
        name = f"pytorch-{order.backend or 'index'}"
        steps.append(
            Step(
                text=f"Name the index of that build «{name}» (in the project's folder)",
                argv=("poetry", "source", "add", "--priority=explicit", name, order.index),
            )
        )
        source = ("--source", name)
    if order.replaces:
        steps.append(
            Step(text="Forget the present build", argv=("poetry", "run", "pip", "uninstall", "-y", *order.replaces))
        )
    argv = ("poetry", "add", *order.requirements, *source)
    return (*steps, Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv))


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=("poetry", "remove", *packages)),)

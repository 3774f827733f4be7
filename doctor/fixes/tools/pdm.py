"""PDM: a source that only torch's packages come from, then the packages. Run in the project's folder."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    steps = []
    if order.index:
        manifest = situation.facts.interpreter.project or "pyproject.toml"
        steps.append(
            Step(
                text=f'Write into {manifest}:\n[[tool.pdm.source]]\nname = "pytorch"\nurl = "{order.index}"\n'
                'include_packages = ["torch*"]'
            )
        )
    steps.append(
        Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=("pdm", "add", *order.requirements))
    )
    return tuple(steps)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=("pdm", "remove", *packages)),)

"""PDM: a source that only torch's packages come from, then the packages."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

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
        Step(
            text=order.note or f"Install {' '.join(order.requirements)}",
            argv=(*_pdm(situation, "add"), *order.requirements),
        )
    )
    return tuple(steps)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=(*_pdm(situation, "remove"), *packages)),)


def _pdm(situation: Situation, verb: str) -> tuple[str, ...]:
    """pdm, told which project is meant, so that the command runs from anywhere."""
    project = situation.facts.interpreter.project
    if not project:
        return ("pdm", verb)
    path = PureWindowsPath(project) if situation.windows else PurePosixPath(project)
    return ("pdm", verb, "--project", str(path.parent))

"""uv, on the target's interpreter. `--torch-backend` where uv knows the backend, else the index itself."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.knowledge import vendors
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    fresh = tuple(word for name in order.replaces for word in ("--reinstall-package", name))
    argv = ("uv", "pip", "install", "--python", situation.python, *fresh, *order.requirements, *_index(order))
    steps = [Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv)]
    project = situation.facts.interpreter.project
    if project and situation.facts.interpreter.manager == "uv":
        steps.append(
            Step(
                text=f"Write the same versions{f' and the index {order.index}' if order.index else ''} into {project} "
                "([tool.uv.sources], [[tool.uv.index]] with explicit = true): the next «uv sync» would undo this"
            )
        )
    return tuple(steps)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    argv = ("uv", "pip", "uninstall", "--python", situation.python, *packages)
    return (Step(text=f"Remove {' '.join(packages)}", argv=argv),)


def _index(order: Order) -> tuple[str, ...]:
    if order.index is None:
        return ()
    if (
        order.backend
        and vendors.uv_knows(order.backend)
        and order.index.startswith("https://download.pytorch.org/whl/")
    ):
        return (f"--torch-backend={order.backend}",)
    return ("--index-url", order.index)

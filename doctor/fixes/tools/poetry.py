"""Poetry: an explicit source for torch's index, then the packages from it."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order, pip
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    """Poetry replaces a build by another one of the same version, for its lock file tells them apart; the same one it
    takes for good, be it broken, so what is replaced goes first."""
    poetry = _poetry(situation)
    steps = []
    source: tuple[str, ...] = ()
    if order.index:
        name = f"pytorch-{order.backend or 'index'}"
        steps.append(
            Step(
                text=f"Name the index of that build «{name}» in the project",
                argv=(*poetry, "source", "add", f"--priority={_priority(order)}", name, order.index),
            )
        )
        source = ("--source", name)
    if order.replaces and not _is_another_build(situation, order):
        steps += pip.forget(situation, order.replaces)
    argv = (*poetry, "add", *order.requirements, *source)
    return (*steps, Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv))


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=(*_poetry(situation), "remove", *packages)),)


def sync(situation: Situation) -> Step | None:
    return Step(text="Install what the project asks for", argv=(*_poetry(situation), "install"))


def _priority(order: Order) -> str:
    """An explicit source gives only the packages that are named with it. What a ROCm or XPU build needs besides lies
    beside it and nowhere else: there it may be asked for what the others lack."""
    return "supplemental" if (order.backend or "").startswith(("rocm", "xpu")) else "explicit"


def _is_another_build(situation: Situation, order: Order) -> bool:
    """Whether the lock file will name another build than the installed one."""
    torch = situation.facts.torch
    local = (torch.version or "").partition("+")[2] if torch else ""
    return bool(order.index and order.backend and local and local != order.backend)


def _poetry(situation: Situation) -> tuple[str, ...]:
    """poetry, told which project is meant, so that the command runs from anywhere."""
    folder = situation.project_folder
    return ("poetry", "--directory", folder) if folder else ("poetry",)

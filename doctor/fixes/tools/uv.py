"""uv, on the target's interpreter: `--torch-backend` where uv knows the backend, else the index itself. In a uv
project `uv add`, which writes the index and the versions into pyproject.toml: the next `uv sync` would undo anything
else."""

from __future__ import annotations

from pathlib import PurePosixPath, PureWindowsPath

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.knowledge import vendors
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    text = order.note or f"Install {' '.join(order.requirements)}"
    fresh = tuple(word for name in order.replaces for word in ("--reinstall-package", name))
    if project := _project(situation):
        index = ("--index", f"pytorch-{order.backend or 'index'}={order.index}") if order.index else ()
        # The lock file would keep the present build of the same version.
        names = (requirement.partition("=")[0] for requirement in order.requirements)
        anew = tuple(word for name in names for word in ("--upgrade-package", name)) if order.index else ()
        return (Step(text=text, argv=("uv", "add", "--project", project, *anew, *fresh, *order.requirements, *index)),)
    argv = ("uv", "pip", "install", "--python", situation.python, *fresh, *order.requirements, *_index(order))
    return (Step(text=text, argv=argv),)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    argv = ("uv", "pip", "uninstall", "--python", situation.python, *packages)
    return (Step(text=f"Remove {' '.join(packages)}", argv=argv),)


def _project(situation: Situation) -> str | None:
    """The folder of the uv project that the environment belongs to."""
    interpreter = situation.facts.interpreter
    if not interpreter.project or interpreter.manager != "uv":
        return None
    path = PureWindowsPath(interpreter.project) if situation.windows else PurePosixPath(interpreter.project)
    return str(path.parent)


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

"""uv, on the target's interpreter: `--torch-backend` where uv knows the backend, else the index itself. In a uv
project `uv add`, which writes the index and the versions into pyproject.toml: the next `uv sync` would undo anything
else. In an environment of `uv tool` the same installation again, with torch: its receipt keeps that, and an upgrade
keeps to it."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order, requirement_name
from doctor.fixes.tools.pip import past_cache
from doctor.knowledge import vendors
from doctor.model.fix import Step

_OF_INDEXES = ("--torch-backend", "--index-strategy")  # the new build has its own


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    text = order.note or f"Install {' '.join(order.requirements)}"
    fresh = tuple(word for name in order.replaces for word in ("--reinstall-package", name))
    if project := _project(situation):
        index = ("--index", f"pytorch-{order.backend or 'index'}={order.index}") if order.index else ()
        # The lock file would keep the present build of the same version.
        names = (requirement.partition("=")[0] for requirement in order.requirements)
        anew = tuple(word for name in names for word in ("--upgrade-package", name)) if order.index else ()
        words = (*anew, *fresh, *order.requirements, *index, *past_cache(order))
        return (Step(text=text, argv=("uv", "add", "--project", project, *words)),)
    if again := _tool_install(situation, order):
        return (Step(text=text, argv=(*again, *fresh, *past_cache(order))),)
    if situation.facts.interpreter.environment == "uv-tool":
        text = f"{text} (until «uv tool» installs its tool anew)"
    words = (*fresh, *order.requirements, *_index(order), *past_cache(order))
    return (Step(text=text, argv=("uv", "pip", "install", "--python", situation.python, *words)),)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    argv = ("uv", "pip", "uninstall", "--python", situation.python, *packages)
    return (Step(text=f"Remove {' '.join(packages)}", argv=argv),)


def sync(situation: Situation) -> Step | None:
    """Without --inexact uv would remove what the lock file does not name. uv means the project's .venv; None for an
    environment of another name."""
    project = _project(situation)
    if project is None or situation.prefix != str(situation.path(project) / ".venv"):
        return None
    return Step(text="Install what the project asks for", argv=("uv", "sync", "--project", project, "--inexact"))


def _project(situation: Situation) -> str | None:
    """The folder of the uv project that the environment belongs to."""
    return situation.project_folder if situation.facts.interpreter.manager == "uv" else None


def _tool_install(situation: Situation, order: Order) -> tuple[str, ...]:
    """The `uv tool install` of the receipt with the order in it; () where the receipt can't be repeated."""
    interpreter = situation.facts.interpreter
    if interpreter.environment != "uv-tool" or not interpreter.receipt:
        return ()
    main, *rest = interpreter.receipt
    names = {requirement_name(requirement) for requirement in order.requirements}
    if requirement_name(main) in names:
        return ()
    options = list(zip(rest[::2], rest[1::2], strict=True))
    kept = [
        word
        for option, value in options
        if not (option == "--with" and requirement_name(value) in names) and not (order.index and option in _OF_INDEXES)
        for word in (option, value)
    ]
    python = () if "--python" in rest else ("--python", _base(situation))  # another one would make a new environment
    wanted = (word for requirement in order.requirements for word in ("--with", requirement))
    index = _index(order)
    if "--index" in index:  # what the application needs besides is not to come from an old copy there
        index += ("--index-strategy", "unsafe-best-match")
    return ("uv", "tool", "install", main, *kept, *python, *wanted, *index)


def _base(situation: Situation) -> str:
    """The Python that the environment was made from."""
    prefix = situation.path(situation.facts.interpreter.base_prefix or "")
    program = ("python.exe",) if situation.windows else ("bin", f"python{situation.python_version or '3'}")
    return str(prefix.joinpath(*program))


def _index(order: Order) -> tuple[str, ...]:
    """--index goes before all that the user's variables and uv.toml name; --index-url would come after UV_DEFAULT_INDEX
    and after every index."""
    if order.index is None:
        return ()
    if (
        order.backend
        and vendors.uv_knows(order.backend)
        and order.index.startswith("https://download.pytorch.org/whl/")
    ):
        return (f"--torch-backend={order.backend}",)
    return ("--index", order.index)

"""pipx, for the environment of an application. What `pipx inject` puts there, pipx remembers: it comes again with
`pipx reinstall`, which forgets what pip alone has put there. https://pipx.pypa.io/stable/explanation/how-pipx-works/"""

from __future__ import annotations

import shlex

from doctor.fixes.situation import Situation, has_no_pip
from doctor.fixes.tools import Order, requirement_name
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    """inject takes a package for good that is there in any version, and its --force would install all that torch needs
    anew, too. So what is there goes first."""
    text = order.note or f"Install {' '.join(order.requirements)}"
    names = dict.fromkeys((*order.replaces, *map(requirement_name, order.requirements)))
    there = tuple(name for name in names if situation.installed(name) or name in order.replaces)
    gone = remove(situation, there) if there else ()
    return (*gone, _step(situation, text, ("inject",), (*order.requirements, *_index(situation, order))))


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (_step(situation, f"Remove {' '.join(packages)}", ("runpip",), ("uninstall", "-y", *packages)),)


def _step(situation: Situation, text: str, verb: tuple[str, ...], words: tuple[str, ...]) -> Step:
    """A pipx command for the application; where its name is not known, words for the user."""
    if app := _app(situation):
        return Step(text=text, argv=("pipx", *verb, app, *words))
    line = shlex.join(("pipx", *verb, "APP", *words))
    return Step(text=f"{text}: {line} where APP is the name that pipx list shows")


def _app(situation: Situation) -> str | None:
    """The application's name, which is that of its environment's folder."""
    if not situation.prefix or situation.facts.interpreter.environment != "pipx":
        return None
    return situation.path(situation.prefix).name


def _index(situation: Situation, order: Order) -> tuple[str, ...]:
    """pipx with uv behind it (such an environment has no pip) hands --index-url on, but the index of UV_DEFAULT_INDEX
    would go before that."""
    if order.index is None:
        return ()
    return (f"--pip-args=--index {order.index}",) if has_no_pip(situation.facts) else ("--index-url", order.index)

"""pipx, for the environment of an application. What `pipx inject` puts there, pipx remembers: it comes again with
`pipx reinstall`, which forgets what pip alone has put there. https://pipx.pypa.io/stable/explanation/how-pipx-works/"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip, uv
from doctor.fixes.tools._tool import Asking, Kind, Order, Resolution, Sign, Tool, Variables, requirement_name
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation
    from doctor.fixes.sources import Sources

_METADATA = "pipx_metadata.json"  # in the environment of an application
_PIP_ARGS = "--pip-args="


class Pipx(Tool):
    programs = ("pipx",)
    rank = 70
    signs = (Sign(file=_METADATA, kind="pipx"), Sign(part="/pipx/venvs/", kind="pipx"))
    kinds = (Kind(name="pipx", words="pipx environment", own_python=False),)
    takes_wheels = True
    needs_pip = False

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        """inject takes a package for good that is there in any version, and its --force would install all that torch
        needs anew, too. So what is there goes first."""
        names = dict.fromkeys((*order.replaces, *map(requirement_name, order.requirements)))
        there = tuple(name for name in names if situation.installed(name) or name in order.replaces)
        gone = self.remove(situation, there) if there else ()
        return (*gone, _step(situation, order.text, ("inject",), (*order.requirements, *_index(situation, order))))

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (_step(situation, f"Remove {' '.join(packages)}", ("runpip",), ("uninstall", "-y", *packages)),)

    def again(self, situation: Situation, python: str, arch: str | None) -> tuple[str, ...] | None:
        name = situation.path(situation.prefix or "").name
        return ("pipx", "reinstall", "--python", f"python{python}", name)

    def redirected(self, words: list[str], sources: Sources) -> list[str]:
        """pipx takes an index, but folders of wheels only in what it hands on to pip."""
        if words[1:2] != ["inject"]:
            return words
        given = [*pip.handed_on(words, _PIP_ARGS)]
        given += pip.folders(given, sources)
        words = [word for word in words if not word.startswith(_PIP_ARGS)]
        if sources.offline:
            words, given = pip.without_indexes(words), pip.without_indexes(given)
        return [*words, _PIP_ARGS + shlex.join(given)] if given else words

    def placed(self, prefix: str, has: Callable[[str], bool]) -> Variables:
        """Its own pip, which all applications share, is not ours to change."""
        venvs = os.path.dirname(prefix)
        if not has(_METADATA) or os.path.basename(venvs) != "venvs":
            return {}
        return {"PIPX_HOME": os.path.dirname(venvs), "PIPX_DISABLE_SHARED_LIBS_AUTO_UPGRADE": "1"}

    def dry_run(self, words: Sequence[str], asking: Asking) -> Resolution | None:
        """It has none: what installs into its environment, pip or uv, is asked the same."""
        if words[1] != "inject":
            return None
        rest = [*(word for word in words[3:] if not word.startswith(_PIP_ARGS)), *pip.handed_on(words, _PIP_ARGS)]
        if asking.has("[Ll]ib/**/pipx_shared.pth"):
            return pip.tool.dry_run([*pip.command(asking.python), "install", *rest], asking)
        return uv.tool.dry_run(uv.pip_install("uv", asking.python, rest), asking)


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
    if pip.has_no_pip(situation.facts):
        return (f"{_PIP_ARGS}--index {order.index}",)
    return ("--index-url", order.index)


tool = Pipx()

"""Torch in an environment that is made for it: by the tool that fetches Pythons where it is there, else by the found
Python's venv."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

from doctor.fixes import interpreter as interpreters
from doctor.fixes import tools
from doctor.fixes.build import use_environment
from doctor.fixes.situation import Situation
from doctor.knowledge.choose import Candidate, choose
from doctor.model.fix import Fix, Step


def new_environment(
    situation: Situation,
    folder: str,
    *,
    python: str | None,
    can_fetch: bool,
    spec: str | None = None,
    backend: str | None = None,
    companions: tuple[str, ...] = (),
) -> tuple[Fix | None, tuple[str, ...]]:
    """The fix that makes the environment in `folder` and installs torch in it, and why it is this one; None where no
    build serves, with the reason.

    `python`: the version wanted ("3.12"); None: the one that most packages have wheels for, or where none can be
    fetched the found one. `can_fetch`: the tool that fetches them is there.
    """
    arch = interpreters.native_arch(situation)
    situation = replace(situation, tool=_tool(situation, can_fetch))
    found = situation.python_version
    if situation.by.makes == "of-this-python":
        fetcher, other = tools.fetcher(), tools.with_channel()
        if arch == "arm64":
            return None, (
                f"this Python runs under Rosetta: get one for arm64 first, with {fetcher.name} ({fetcher.page}) or "
                f"{other.installer} for arm64 ({other.page})",
            )
        if python and python != found:
            return None, (
                f"there is no {fetcher.name} to fetch Python {python}; the Python found is {found or 'unknown'}: name "
                f"one with --python PATH, or get {fetcher.name}: {fetcher.page}",
            )
        python = found
    picked = interpreters.pick(situation, python, arch) if python is None else None
    version = python or (picked[0] if picked else "")
    fresh = _in_folder(interpreters.in_new_environment(situation, version, arch), folder, situation.tool)
    choice = choose(fresh.facts, torch=spec, backend=backend, companions=companions)
    if choice.best is None:
        reasons = tuple(near.text for near in choice.nearest)
        return None, reasons or (f"no torch build serves Python {version} on this machine",)
    make = situation.by.make(replace(fresh, python=situation.python), version, arch)[-1]
    return _fix(fresh, version, make, choice.best, choice.assumes, exact=bool(spec)), choice.best.reasons


def _tool(situation: Situation, can_fetch: bool) -> str:
    """The tool of the found environment, or the one that is wanted, if it makes a kind of its own; else who fetches
    Pythons where it is there, else venv and pip."""
    if situation.by.makes == "own":
        return situation.tool
    return (tools.fetcher() if can_fetch else tools.base()).name


def _in_folder(fresh: Situation, folder: str, tool: str) -> Situation:
    """The same new environment in another folder, with another tool."""
    if fresh.windows:
        python = str(PureWindowsPath(folder, tools.tool(tool).scripts, "python.exe"))
    else:
        python = str(PurePosixPath(folder) / "bin" / "python")
    interpreter = replace(fresh.facts.interpreter, executable=python, prefix=folder)
    return replace(fresh, facts=replace(fresh.facts, interpreter=interpreter), python=python, prefix=folder, tool=tool)


def _fix(fresh: Situation, version: str, make: Step, build: Candidate, assumes: tuple[str, ...], *, exact: bool) -> Fix:
    from doctor.fixes.torch import fix_of_build

    fix = fix_of_build(fresh, "install", "install-torch", build, assumes, exact=exact)
    return replace(
        fix,
        title=f"{fix.title[:-1]} in a new environment with Python {version}.",
        details={"python": version, **fix.details},
        steps=(make, *fix.steps, use_environment(fresh)),
    )

"""Projects whose file says what is installed: the tool itself makes the edit, in a copy of the project first.

That shows the edit as a unified diff and proves that it resolves, before anything of the user's is touched.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.apply import ApplyError, edit
from doctor.apply.commands import program_of
from doctor.apply.place import LOCK_FILES
from doctor.apply.redacted import hide
from doctor.apply.resolve import CONNECT_S, ask, failed
from doctor.fixes.tools import Projects, Resolution, all_tools, of_argv
from doctor.model.fix import Step, TomlEdit
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor import process
    from doctor.facts.system import System

_CHANGES = ("add", "remove")
_BIG_BYTES = 1 << 20
_REASON_LINES = 12
_PYTHON_RANGE = re.compile(r"supported Python range|requires-python|[Pp]ython versions supported")
_LOCKED = re.compile(r'^\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"', re.M)
_OWN_FOLDERS = {sign.above.strip("/") for tool in all_tools() for sign in tool.signs} - {""}
_LEFT_OUT = (".venv", "venv", ".git", "__pypackages__", "node_modules", *_OWN_FOLDERS)


@dataclass(frozen=True)
class Preview:
    """The edit as a unified diff, and whether the project resolves with it."""

    diff: str
    resolution: Resolution


def is_of_project(step: Step) -> bool:
    """Whether a step edits a project's file, or brings the environment to what it says."""
    if step.edit:
        return True
    argv = step.argv or ()
    ways = _projects(argv)
    return ways is not None and (not ways.verbs or argv[1] in ways.verbs)


def _projects(argv: Sequence[str]) -> Projects | None:
    tool = of_argv(argv)
    return tool.projects if tool else None


def preview(system: System, steps: Sequence[Step], files: Sequence[str], environ: dict[str, str]) -> Preview:
    """Run the steps in a copy, without the environment. `files`: the project's file and its lock files."""
    if not files or not all(_names_project(step, files) for step in steps):
        raise ApplyError(
            "nothing was changed: the project that manages this environment is not known, so its file cannot be kept. "
            "Run this in the project's folder, or use --tool pip."
        )
    folder = os.path.dirname(files[0])
    for tool in all_tools():
        for name, value in (tool.projects.limits if tool.projects else ()):
            environ.setdefault(name, value.format(seconds=CONNECT_S))
    with tempfile.TemporaryDirectory(prefix="torchdoctor-") as scratch:
        copy = os.path.join(scratch, os.path.basename(folder) or "project")
        _copy(folder, copy)
        for step in steps:
            if step.edit:
                _edit_copy(step.edit, folder, copy)
                continue
            argv, answered = _in_copy(program_of(system, step.argv or ()), folder, copy)
            result, lines = ask(system, argv, answered, environ)
            if not result.ok:
                said = [line.replace(copy, folder) for line in lines]
                return Preview("", _refused(result, said, files[0], _projects(argv) or Projects()))
        return Preview(_diff(folder, copy, files), Resolution(ok=True))


def _refused(result: process.Result, lines: Sequence[str], file: str, ways: Projects) -> Resolution:
    """Why the tool failed: the lines of its output that give the reason, and the next step."""
    said = [line for line in lines if line.strip()]
    answer = failed(result, said)
    chatter = re.compile(ways.chatter) if ways.chatter else None
    reason = [line for line in ways.reason(said) if not (chatter and chatter.match(line))]
    if result.status == "timed-out" or not reason:
        return answer
    if answer.unreachable:  # the tool's further remarks add nothing
        return replace(answer, message=hide(reason[0].strip().rstrip(".")))
    message = hide("\n".join(line.rstrip() for line in reason[-_REASON_LINES:]))
    if any(_PYTHON_RANGE.search(line) for line in reason):
        message += (
            f"\nThe project supports Pythons that this torch is not built for. Narrow the range in {file} "
            f"({ways.python_range}), and run this again."
        )
    return replace(answer, message=message)


def _names_project(step: Step, files: Sequence[str]) -> bool:
    """Without that, a command would edit the project of the folder that we happen to be in, and an edit a file that no
    snapshot holds."""
    if step.edit:
        return step.edit.file in files
    argv = step.argv or ()
    ways = _projects(argv)
    return ways is not None and any(option in argv for option in ways.folder)


def _edit_copy(wanted: TomlEdit, folder: str, copy: str) -> None:
    try:
        edit.carry_out(wanted, os.path.join(copy, os.path.relpath(wanted.file, folder)))
    except ApplyError as error:
        raise ApplyError(f"nothing was changed: {error}") from error


def _copy(folder: str, copy: str) -> None:
    """The project's own files copied, its folders linked: a build of its metadata may read them."""
    os.makedirs(copy)
    for entry in os.scandir(folder):
        target = os.path.join(copy, entry.name)
        if entry.is_dir():
            if entry.name not in _LEFT_OUT and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
                with contextlib.suppress(OSError):
                    os.symlink(entry.path, target)
        elif entry.is_file() and (entry.stat().st_size < _BIG_BYTES or entry.name in LOCK_FILES):
            shutil.copy2(entry.path, target)


def _in_copy(argv: Sequence[str], folder: str, copy: str) -> tuple[list[str], re.Pattern[str]]:
    """The command for the copy, leaving the environment alone; and the lines that show that an index answered."""
    ways = _projects(argv) or Projects()
    words = [
        copy + word[len(folder) :] if word == folder or word.startswith(folder + os.sep) else word for word in argv
    ]
    if any(word in _CHANGES for word in words[1:4]) and "source" not in words:
        words.append(ways.leave)
    elif ways.sync and ways.sync in words[1:4]:
        words.append("--dry-run")  # of the environment itself, which the variables name
    elif verb := (ways.instead or {}).get(words[1]):  # resolve only: the copy needs no environment
        words[1] = verb
    return [*words, *ways.verbose], re.compile(ways.answered)


def _diff(folder: str, copy: str, files: Sequence[str]) -> str:
    """The edit of the project's file; of lock files only which versions they change."""
    parts = []
    for file in files:
        before, after = _lines(file), _lines(os.path.join(copy, os.path.relpath(file, folder)))
        if before == after:
            continue
        if os.path.basename(file) in LOCK_FILES:
            parts += _lock_changes(file, "".join(before), "".join(after))
        else:
            parts += difflib.unified_diff(before, after, file, file)
    return hide("".join(part if part.endswith("\n") else part + "\n" for part in parts))


def _lock_changes(file: str, before: str, after: str) -> list[str]:
    """ "torch: 2.13.0+cpu -> 2.13.0+cu130". A lock file may hold several versions of a package, by platform."""
    old, new = _locked(before), _locked(after)
    lines = [
        f"  {name}: {', '.join(old.get(name, ())) or 'not there'} -> {', '.join(new.get(name, ())) or 'removed'}\n"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    ]
    return [f"{file}: {'changed' if before else 'new'}\n", *lines]


def _locked(text: str) -> dict[str, tuple[str, ...]]:
    """The versions of each package that a lock file names, in the form that uv, poetry and PDM share."""
    found: dict[str, list[str]] = {}
    for name, version in _LOCKED.findall(text):
        found.setdefault(name, []).append(version)
    return {name: tuple(sorted(versions)) for name, versions in found.items()}


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readlines()
    except OSError:
        return []

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
from doctor.apply.resolve import CONNECT_S, Resolution, ask, failed
from doctor.model.fix import Step, TomlEdit
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor import process
    from doctor.facts.system import System

# tool: (options that name the project's folder, the option that leaves the environment alone, what shows that an index
# answered). A tool that shows nothing is given its own time limits.
_TOOLS = {
    "uv": (("--project", "--directory"), "--no-sync", r"DEBUG (Selecting|Tried)|Resolved "),
    "poetry": (
        ("--directory", "-C"), "--lock", r".*(selecting|conflict|Resolving dependencies\.\.\. \(|from lock file)"
    ),
    "pdm": (
        ("--project", "-p"), "--no-sync",
        r"pdm\.termui: .*(Starting round|new pin|Candidate)|unearth\.|Synchronizing|Packages to add",
    ),
    "pixi": (("--manifest-path",), "--no-install", r""),
    "pipenv": ((), "", r""),  # it cannot be told which project is meant
}  # fmt: skip
_CHANGES = ("add", "remove")
_SYNCS = {"uv": "sync", "poetry": "install", "pdm": "install"}  # what these know a dry run of
_BIG_BYTES = 1 << 20
_REASON_LINES = 12
_CHATTER = re.compile(
    r"\s*(DEBUG|TRACE|WARN) |\s*\d+: |\s*(Requested|Existing): |"  # uv
    r"(Updating|Resolving) dependencies|Using virtualenv|Checking keyring|"  # poetry
    r"INFO: |STATUS: |pdm\.termui: |unearth\.|Set env var |See \S+ for |WARNING: Add '-v'|\[ResolutionError\]|"
    r".*Lock failed|Adding packages to |\S* \d:\d\d:\d\d Resolve for "  # PDM
)
_PYTHON_RANGE = re.compile(r"supported Python range|requires-python|[Pp]ython versions supported")
_LOCKED = re.compile(r'^\[\[package\]\]\nname = "([^"]+)"\nversion = "([^"]+)"', re.M)
_LEFT_OUT = (".venv", "venv", ".git", ".pixi", "__pypackages__", "node_modules")


@dataclass(frozen=True)
class Preview:
    """The edit as a unified diff, and whether it resolves."""

    diff: str
    resolution: Resolution


def is_of_project(step: Step) -> bool:
    """Whether a step edits a project's file, or brings the environment to what it says."""
    if step.edit:
        return True
    argv = step.argv or ()
    tool = _tool(argv)
    return tool in _TOOLS and (tool != "uv" or argv[1] in (*_CHANGES, _SYNCS["uv"]))


def _tool(argv: Sequence[str]) -> str:
    return os.path.basename(argv[0]).lower().removesuffix(".exe")


def preview(system: System, steps: Sequence[Step], files: Sequence[str], environ: dict[str, str]) -> Preview:
    """Run the steps in a copy, without the environment. `files`: the project's file and its lock files."""
    if not files or not all(_names_project(step, files) for step in steps):
        raise ApplyError(
            "nothing was changed: the project that manages this environment is not known, so its file cannot be kept. "
            "Run this in the project's folder, or use --tool pip."
        )
    folder = os.path.dirname(files[0])
    environ.setdefault("UV_HTTP_TIMEOUT", str(CONNECT_S))
    environ.setdefault("UV_HTTP_RETRIES", "1")
    environ.setdefault("PDM_REQUEST_TIMEOUT", str(CONNECT_S))
    environ.setdefault("POETRY_REQUESTS_TIMEOUT", str(CONNECT_S))
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
                return Preview("", _refused(result, said, files[0]))
        return Preview(_diff(folder, copy, files), Resolution(ok=True))


def _refused(result: process.Result, lines: Sequence[str], file: str) -> Resolution:
    """Why the tool could not do it: what it says of it, without what else it says, and the next step."""
    said = [line for line in lines if line.strip()]
    answer = failed(result, said)
    reason = [line for line in _of_pdm(_of_poetry(said)) if not _CHATTER.match(line)]
    if result.status == "timed-out" or not reason:
        return answer
    if answer.unreachable:  # what the tool thinks of it besides is no news
        return replace(answer, message=hide(reason[0].strip().rstrip(".")))
    message = hide("\n".join(line.rstrip() for line in reason[-_REASON_LINES:]))
    if any(_PYTHON_RANGE.search(line) for line in reason):
        message += (
            f"\nThe project promises to run on Pythons that this torch is not made for. Narrow that in {file} "
            "(requires-python, or python below [tool.poetry.dependencies]), and run this again."
        )
    return replace(answer, message=message)


def _of_poetry(lines: Sequence[str]) -> Sequence[str]:
    """Of poetry's account of an error, which it gives with the places in its own source, the words of the last."""
    starts = [number for number, line in enumerate(lines) if re.fullmatch(r"\s+[A-Za-z.]+(Error|Exception)\s*", line)]
    if not starts:
        return lines
    words = lines[starts[-1] + 1 :]
    end = next((number for number, line in enumerate(words) if re.match(r"\s+at .+:\d+ in ", line)), len(words))
    return [line[2:] for line in words[:end] if not line.strip().startswith("https://")]


def _of_pdm(lines: Sequence[str]) -> Sequence[str]:
    """Of PDM's account, which goes on with a traceback, the words of the error."""
    errors = [number for number, line in enumerate(lines) if line.startswith("ERROR: ")]
    words = lines[errors[-1] :] if errors else lines
    end = next((number for number, line in enumerate(words) if line.startswith("Traceback (most recent call")), None)
    return words if end is None else words[:end] if errors else words[-1:]


def _names_project(step: Step, files: Sequence[str]) -> bool:
    """Without that, a command would edit the project of the folder that we happen to be in, and an edit a file that no
    snapshot holds."""
    if step.edit:
        return step.edit.file in files
    argv = step.argv or ()
    return any(option in argv for option in _TOOLS[_tool(argv)][0])


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
    _, leave, answered = _TOOLS[_tool(argv)]
    words = [
        copy + word[len(folder) :] if word == folder or word.startswith(folder + os.sep) else word for word in argv
    ]
    if any(word in _CHANGES for word in words[1:4]) and "source" not in words:
        words.append(leave)
    elif _SYNCS.get(_tool(argv)) in words[1:4]:
        words.append("--dry-run")  # of the environment itself, which the variables name
    elif _tool(argv) == "pixi" and words[1] == "install":
        words[1] = "lock"  # resolve only: the copy needs no environment
    if _tool(argv) == "uv":
        words.append("--verbose")
    elif _tool(argv) == "poetry":
        words.append("-vv")
    elif _tool(argv) == "pdm":
        words.append("-v")
    return words, re.compile(answered)


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

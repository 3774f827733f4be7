"""Running the tool's commands: found on PATH or where their installers put them, in the target's environment, with
every line passed on as it comes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from doctor.apply import ApplyError
from doctor.apply.lock import MARK
from doctor.apply.redacted import hide
from doctor.apply.resolve import SILENCE_LIMIT_S
from doctor.fixes.tools import all_tools

if TYPE_CHECKING:
    from doctor import process
    from doctor.facts.system import System

_TAIL_LINES = 15


def environ_for(system: System, store: str, prefix: str | None) -> dict[str, str]:
    """The user's variables, with the mark of this run and no questions."""
    said: dict[str, str | None] = {
        MARK: store,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",  # a dry run comes before the snapshot, so it must leave nothing behind
    }

    def has(name: str) -> bool:
        return os.path.exists(os.path.join(prefix or "", name))

    if prefix and has("pyvenv.cfg"):
        said["VIRTUAL_ENV"] = prefix
    for tool in all_tools():
        said |= {**tool.quiet, **(tool.placed(prefix, has) if prefix else {})}
    return system.child_environ(**said)


def program_of(system: System, argv: Sequence[str]) -> tuple[str, ...]:
    """The command with its program's path. Raises ApplyError where it is not there."""
    if os.path.dirname(argv[0]):
        return (os.path.join(system.cwd, argv[0]), *argv[1:])
    home = system.environ.get("HOME") or system.environ.get("USERPROFILE") or ""
    also = [os.path.join(home, *parts) for tool in all_tools() for parts in tool.homes] if home else []
    if system.own_python:
        also.append(os.path.dirname(system.own_python))  # uvx torchdoctor, or uv beside it
    found = system.which(argv[0], also)
    if found is None:
        raise ApplyError(
            f"nothing was changed: the plan needs {argv[0]}, which is not on PATH. Install it, or use --tool."
        )
    return (found, *argv[1:])


def run(
    system: System,
    argv: Sequence[str],
    environ: dict[str, str],
    tell: Callable[[str], None],
    hold_fds: Sequence[int] = (),
) -> tuple[process.Result, str]:
    """Run one command to its end, with `hold_fds` (a lock) open until all that came of it is gone; its result and its
    last lines. On Ctrl-C or any exception it is ended first, and
    where `tell` raises OSError, for its pipe or terminal is closed: that is raised then."""
    from doctor.process import DONE

    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    unheard: list[OSError] = []

    def hear(line: str) -> float | str:
        text = hide(line.rstrip("\r\n").rpartition("\r")[2])
        if text.strip():
            tail.append(text)
            try:
                tell(text)
            except OSError as error:
                unheard.append(error)
                return DONE
        return SILENCE_LIMIT_S

    child = system.start(
        argv, limit_s=SILENCE_LIMIT_S, env=environ, on_line=hear, on_error_line=hear, hold_fds=hold_fds,
        flood_limit=None,
    )
    try:
        result = child.result()
        if unheard:
            raise unheard[0]
        return result, "\n".join(tail)
    except BaseException:
        child.kill()
        child.result()
        raise

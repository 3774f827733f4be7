"""The processes that torchdoctor was started by, nearest first: from /proc on Linux, by psutil elsewhere."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from doctor.facts.system import System
from doctor.model.values import dataclass

AT_MOST = 32
_SHELL = re.compile(r"(.*[/\\])?-?((ba|z|da|k|tc|c|fi)?sh|pwsh|powershell|cmd)(\.exe)?\Z", re.I)
_COMMAND = re.compile(r"-([a-z]*c[a-z]*|Command|EncodedCommand|File)\Z")  # what follows is run
_START_FILES = ("--init-file", "--rcfile")  # an editor's terminal brings its own


@dataclass(frozen=True, kw_only=True)
class Process:
    """`executable` is the program's file, links resolved, where it is told; `interactive`: somebody's shell."""

    argv: tuple[str, ...]
    executable: str | None = None
    interactive: bool = False
    pid: int | None = field(default=None, compare=False)


def ancestors(system: System) -> Iterator[Process]:
    """Our parent, its parent, and so on, as far as this user may see. A recorded machine has the processes of its
    /proc."""
    return _by_proc(system) if system.root or system.uname().system == "linux" else _by_psutil(system)


def _by_proc(system: System) -> Iterator[Process]:
    pid = _parent(system, system.pid)
    for _ in range(AT_MOST):
        if pid is None or pid <= 1:
            return
        text = system.read(f"/proc/{pid}/cmdline")
        argv = tuple(text.rstrip("\0").split("\0")) if isinstance(text, str) and text else ()
        on_terminal = (system.link(f"/proc/{pid}/fd/0") or "").startswith(("/dev/pts/", "/dev/tty"))
        yield Process(
            argv=argv,
            executable=system.link(f"/proc/{pid}/exe"),
            interactive=on_terminal and _is_bare_shell(argv),
            pid=pid,
        )
        pid = _parent(system, pid)


def _parent(system: System, pid: int | None) -> int | None:
    text = system.read(f"/proc/{pid}/status", 4096) if pid else ""
    match = re.search(r"^PPid:\s*(\d+)", text, re.M) if isinstance(text, str) else None
    return int(match[1]) if match else None


def _by_psutil(system: System) -> Iterator[Process]:
    try:
        import psutil
    except ImportError:
        return
    with contextlib.suppress(psutil.Error):
        for parent in psutil.Process(system.pid).parents()[:AT_MOST]:
            argv: tuple[str, ...] = ()
            executable, terminal = None, None
            with contextlib.suppress(psutil.Error):  # another user's: its own parents may be ours again
                argv = tuple(parent.cmdline())
                executable = parent.exe() or None
                terminal = True if system.is_windows else parent.terminal()
            shell = bool(terminal) and _is_bare_shell(argv)
            yield Process(argv=argv, executable=executable, interactive=shell, pid=getattr(parent, "pid", None))


def _is_bare_shell(argv: Sequence[str]) -> bool:
    """Whether it is a shell with neither a command nor a script: with a terminal, somebody types there."""
    if not argv or not _SHELL.match(argv[0]):
        return False
    words = list(argv[1:])
    while words:
        word = words.pop(0)
        if word in _START_FILES:
            words = words[1:]
        elif not word.startswith("-") or _COMMAND.match(word):
            return False
    return True

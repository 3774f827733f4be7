"""Who ends what a child leaves behind: on POSIX a guardian, a fork of ours that stands between us and each child.

The guardian starts the program in a session of its own and waits with it. It ends everything that came of it when the
program ends, when we ask for it, or when we are gone, whatever ended us: then the other end of its line is closed. On
Linux it is a subreaper (prctl(2), PR_SET_CHILD_SUBREAPER): daemons and double forks become its children, not init's, so
none is lost; and the program dies with it (PR_SET_PDEATHSIG). macOS has neither: there the guardian finds descendants
by `ps` and by their process group, and a daemon that has left both is found by its mark when the doctor ends
(process.py). Windows needs no guardian: job.py.

What a guardian runs after the fork is plain system calls: it imports nothing, writes to no stream, and never returns.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache

PATIENCE_S = 10.0  # how long the guardian tries to end what does not die
PS = "/bin/ps"
_SUBREAPER, _DEATH_SIGNAL = 36, 1  # options of prctl, <linux/prctl.h>
_LINUX = sys.platform.startswith("linux")


@cache
def _prctl() -> Callable[[int, int], int] | None:
    """prctl(2); None where there is none. Asked for before a fork: afterwards nothing may be loaded."""
    if not _LINUX:
        return None
    try:
        import ctypes

        function = ctypes.CDLL(None).prctl
        function.argtypes = (ctypes.c_int, ctypes.c_ulong)
        return function  # type: ignore[no-any-return]
    except (ImportError, OSError, AttributeError):
        return None


def between(line: int, held: Iterable[int] = ()) -> Callable[[], None]:
    """A `preexec_fn`: the process that runs it becomes the guardian, and a fork of that one goes on to the program.

    `line`: the guardian's end of a socket. It writes the program's pid there, and its wait status at the end; when the
    other end is closed or shut down, it ends everything. `held`: descriptors that it keeps open until all is over, and
    that the program does not get.
    """
    prctl, kept = _prctl(), frozenset((line, *held))

    def fork() -> None:
        gc.disable()
        if prctl:
            prctl(_SUBREAPER, 1)
        guardian = os.getpid()
        pid = os.fork()
        if pid == 0:
            os.setsid()
            if prctl:
                prctl(_DEATH_SIGNAL, signal.SIGKILL)
            if os.getppid() != guardian:  # it died before we could ask to die with it
                os._exit(127)
            return
        try:
            _guard(pid, line, kept)
        finally:
            os._exit(0)

    return fork


def _guard(program: int, line: int, kept: frozenset[int]) -> None:
    """Wait for the program or for the end of the line; then end all, and say how the program ended."""
    for number in (signal.SIGPIPE, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    _close_all_but(kept)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    _say(line, program)
    watch = select.poll()
    watch.register(line, select.POLLIN)
    watch.register(woken, select.POLLIN)
    statuses: dict[int, int] = {}
    _reap(statuses)
    while program not in statuses:
        if any(descriptor == line for descriptor, _ in watch.poll()):
            break
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 4096)
        _reap(statuses)
    _end_all(program, statuses)
    if program in statuses:
        _say(line, statuses[program])


def _say(line: int, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody hears us any more
        os.write(line, b"%d\n" % number)


def _reap(statuses: dict[int, int]) -> bool:
    """Take leave of the children that have ended; False where there is no child left at all."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
            statuses[pid] = status
    except ChildProcessError:
        return False


def _end_all(program: int, statuses: dict[int, int]) -> None:
    """Kill all descendants until there are none. Those that fork meanwhile are found in the next round."""
    deadline, pause = time.monotonic() + PATIENCE_S, 0.001
    while True:
        if not _LINUX:
            with contextlib.suppress(OSError):
                os.killpg(program, signal.SIGKILL)
        if _LINUX and not _reap(statuses):
            return
        for pid in _descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not _reap(statuses) or time.monotonic() > deadline:
            return
        time.sleep(pause)
        pause = min(2 * pause, 0.05)


def _descendants(pid: int) -> list[int]:
    """All processes below one, the nearest first."""
    children = _children_of if os.path.exists(f"/proc/self/task/{os.getpid()}/children") else _by_table().get
    found, known = [pid], {pid}
    for one in found:
        for child in children(one) or ():
            if child not in known:
                known.add(child)
                found.append(child)
    return found[1:]


def _children_of(pid: int) -> list[int]:
    """From /proc/PID/task/TID/children of Linux (CONFIG_PROC_CHILDREN)."""
    found: list[int] = []
    with contextlib.suppress(OSError, ValueError):
        for task in os.listdir(f"/proc/{pid}/task"):
            found += [int(word) for word in _read(f"/proc/{pid}/task/{task}/children").split()]
    return found


def _by_table() -> dict[int, list[int]]:
    """parent -> children, of all processes."""
    pairs = []
    if _LINUX:
        with contextlib.suppress(OSError):
            for name in os.listdir("/proc"):
                words = _read(f"/proc/{name}/stat").rpartition(b")")[2].split() if name.isdigit() else ()
                if len(words) > 1:
                    pairs.append((int(name), int(words[1])))
    else:
        lines = [line.split() for line in _said_by_ps().splitlines()]
        pairs = [(int(words[0]), int(words[1])) for words in lines if len(words) == 2]
    children: dict[int, list[int]] = {}
    for pid, parent in pairs:
        children.setdefault(parent, []).append(pid)
    return children


def _read(path: str) -> bytes:
    """A file of /proc."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        text = b""
        while piece := os.read(file, 65536):
            text += piece
        return text
    except OSError:
        return b""
    finally:
        os.close(file)


def _said_by_ps() -> bytes:
    """PID and parent of all processes."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(writer, 1)
            os.execv(PS, [PS, "-axo", "pid=,ppid="])
        finally:
            os._exit(127)
    os.close(writer)
    text = b""
    while piece := os.read(reader, 65536):
        text += piece
    os.close(reader)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    return text


def _close_all_but(kept: frozenset[int]) -> None:
    """So that no stream, and no line of another guardian, stays open for us."""
    names: list[str] = []
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            names = os.listdir(folder)
            break
    for descriptor in [int(name) for name in names] or range(1024):
        if descriptor not in kept:
            with contextlib.suppress(OSError):
                os.close(descriptor)

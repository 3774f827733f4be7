"""One run an environment. The lock belongs to an open file, so it ends with its holders: the doctor, and the guardian
of the tool that it started (process.py, `hold_fds`), which ends all that came of the tool before it lets go. The tool
itself does not get it: a daemon of a tool would hold it for its whole life. A lock that a killed doctor left is
therefore free as soon as its tool is gone."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from doctor import process
from doctor.apply import ApplyError
from doctor.apply.seal import open_regular

MARK = "TORCHDOCTOR_RUN"  # in the environment of every tool that a run starts: the store
ORPHAN_LIMIT_S = 10.0


@contextlib.contextmanager
def held(store: str) -> Iterator[int]:
    """Hold the lock of a store; gives its descriptor for the guardians of the children. Ends what a killed run left at
    work there.

    Raises ApplyError where a living run holds it, or the store cannot be written.
    """
    try:
        os.makedirs(store, exist_ok=True)
        handle = open_regular(os.path.join(store, "lock"), os.O_RDWR | os.O_CREAT)
        if os.fstat(handle).st_nlink > 1:
            os.close(handle)
            raise OSError("its lock is another file, too")
    except OSError as error:
        raise ApplyError(f"{store} cannot be written ({error.strerror or error}), so nothing was changed.") from error
    try:
        if not _taken(handle):
            _end_orphans(handle, store)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {_started(os.getpid())}\n".encode(), 0) if hasattr(os, "pwrite") else None
        yield handle
    finally:
        os.close(handle)


def _end_orphans(handle: int, store: str) -> None:
    """Wait for the lock of a doctor that is gone: what it started is ended first."""
    pid, _, started = os.pread(handle, 100, 0).decode("ascii", "replace").strip().partition(" ") if hasattr(
        os, "pread"
    ) else ("", "", "")  # fmt: skip
    deadline = time.monotonic() + ORPHAN_LIMIT_S
    while time.monotonic() < deadline:
        if pid.isdigit() and _started(int(pid)) == started:
            break
        process.end_marked(MARK, store)
        if _taken(handle):
            return
        time.sleep(0.1)
    raise ApplyError(f"another torchdoctor (process {pid or '?'}) is at work in this environment; nothing was done.")


def _started(pid: int) -> str:
    """When a process started, as text to compare; "" where there is none."""
    with contextlib.suppress(Exception):
        import psutil

        return f"{psutil.Process(pid).create_time():.2f}"
    return ""


def _taken(handle: int) -> bool:
    """Take the lock if it is free."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True

"""The only place that starts a process.

Every child has a time limit, an output limit and a process group of its own, which ends with it: nothing that it
started stays behind. The parent never waits without a limit, also for a child that cannot be killed (state D).
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Literal

Status = Literal["ok", "failed", "crashed", "timed-out", "not-found", "permission"]

DONE = "done"  # returned by `on_line`: the child has said all we need; end it now
GRACE_S = 3.0  # how long a killed child may take to vanish before it is called stuck
_WINDOWS = sys.platform == "win32"
_alive: set[Child] = set()


@dataclass(frozen=True)
class Result:
    """How a child ended. `ms` from start to end; `stuck`: it did not even die of SIGKILL; `state`: what it did when its
    time was over: "R" computing, "S" waiting, "D" waiting inside the kernel; "" where that is not known."""

    argv: tuple[str, ...]
    status: Status
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    signal: int | None = None
    ms: float = 0.0
    truncated: bool = False
    stuck: bool = False
    limit_s: float = 0.0
    state: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def said(self) -> str:
        """One line that says how it ended, for a Gap."""
        last = (self.stderr.strip() or self.stdout.strip()).splitlines()
        words = {
            "ok": "answered",
            "failed": f"exit {self.exit_code}",
            "crashed": f"ended by signal {self.signal}" if self.signal else f"crashed, exit {self.exit_code}",
            "timed-out": f"no answer after {self.limit_s:g} s" + (", and it cannot be killed" if self.stuck else ""),
            "not-found": "not found",
            "permission": "not permitted to run it",
        }[self.status]
        return f"{words}: {last[-1][:200]}" if last and self.status in ("failed", "crashed") else words


class Child:
    """A running process. Make it with `start`; `result()` waits for it within its limit."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        limit_s: float,
        stdin: str | bytes | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        output_limit: int = 4 << 20,
        on_line: Callable[[str], float | str | None] | None = None,
        on_error_line: Callable[[str], float | str | None] | None = None,
        dump_stacks: bool = False,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.argv = tuple(argv)
        self._limit_s = limit_s
        self._output_limit = output_limit
        self._on_line = on_line
        self._on_error_line = on_error_line
        self._pass_fds = () if _WINDOWS else tuple(pass_fds)
        self._dump_stacks = dump_stacks and not _WINDOWS
        self._started = time.monotonic()
        self._deadline = self._started + limit_s
        self._ended = threading.Event()  # the process is gone, or all is said
        self._done = False
        self._said = bytearray()
        self._errors = bytearray()
        self._truncated = False
        self._result: Result | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        self._open(stdin, env, cwd)

    def _open(self, stdin: str | bytes | None, env: Mapping[str, str] | None, cwd: str | None) -> None:
        feed: IO[bytes] | int = subprocess.DEVNULL
        if stdin is not None:  # a file: a pipe could block us if the child never reads
            feed = tempfile.TemporaryFile()  # noqa: SIM115 - closed below, when the child has it
            feed.write(stdin.encode() if isinstance(stdin, str) else stdin)
            feed.seek(0)
        try:
            self._process = subprocess.Popen(
                self.argv,
                stdin=feed,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=not _WINDOWS,
                pass_fds=self._pass_fds,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) if _WINDOWS else 0,
            )
        except FileNotFoundError as error:
            self._fail("not-found", str(error))
        except PermissionError as error:
            self._fail("permission", str(error))
        except (OSError, ValueError) as error:  # not an executable file, a NUL in the path, no memory
            self._fail("failed", str(error))
        finally:
            if not isinstance(feed, int):
                feed.close()
        if self._process is None:
            return
        _alive.add(self)
        for work in (self._read_stdout, self._read_stderr, self._watch):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self._threads.append(thread)

    def _fail(self, status: Status, message: str) -> None:
        self._result = Result(self.argv, status, stderr=message, limit_s=self._limit_s)
        self._ended.set()

    def _keep(self, kept: bytearray, data: bytes) -> None:
        room = self._output_limit - len(kept)
        kept += data[:room]
        if len(data) > room:
            self._truncated = True

    def _read_stdout(self) -> None:
        assert self._process and self._process.stdout
        self._read(self._process.stdout, self._said, self._on_line)

    def _read_stderr(self) -> None:
        assert self._process and self._process.stderr
        self._read(self._process.stderr, self._errors, self._on_error_line)

    def _read(
        self, stream: IO[bytes], kept: bytearray, on_line: Callable[[str], float | str | None] | None
    ) -> None:
        if on_line is None:
            self._drain(stream, kept)
            return
        with contextlib.suppress(ValueError, OSError):
            while line := stream.readline(self._output_limit):
                self._keep(kept, line)
                answer = on_line(line.decode("utf-8", "replace"))
                if answer == DONE:
                    self._done = True
                    self._ended.set()
                elif isinstance(answer, (int, float)):  # a new stage: its limit counts from now
                    self._limit_s = float(answer)
                    self._deadline = time.monotonic() + answer

    def _drain(self, stream: IO[bytes], kept: bytearray) -> None:
        with contextlib.suppress(ValueError, OSError):
            while data := stream.read1(65536):  # type: ignore[attr-defined]
                self._keep(kept, data)

    def _watch(self) -> None:
        """Wait for the end, and end the group while its leader's pid is still ours."""
        assert self._process is not None
        with contextlib.suppress(OSError):
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
                self._kill_group()
            self._process.wait()
        self._ended.set()

    def _kill_group(self) -> None:
        assert self._process is not None
        if _WINDOWS:
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                command = ["taskkill", "/F", "/T", "/PID", str(self._process.pid)]
                subprocess.run(command, capture_output=True, check=False, timeout=GRACE_S)
            with contextlib.suppress(OSError):
                self._process.kill()
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """End it and all that it started, without waiting."""
        if self._process is not None and self._process.poll() is None:
            self._kill_group()

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def result(self) -> Result:
        """Wait for the end, at most until the limit; then kill it. Asked again, gives the same."""
        with self._lock:
            if self._result is None:
                self._result = self._wait()
                _alive.discard(self)
            return self._result

    def _wait(self) -> Result:
        assert self._process is not None
        while not self._ended.wait(min(0.25, max(0.0, self._deadline - time.monotonic()))):  # on_line may move it,
            if time.monotonic() >= self._deadline:  # in both directions
                break
        timed_out = not self._ended.is_set()
        state = _state_of(self._process.pid) if timed_out else ""
        if timed_out and self._dump_stacks:
            with contextlib.suppress(OSError):
                self._process.send_signal(signal.SIGUSR1)  # faulthandler in the child writes its stacks
            self._ended.wait(0.5)
        ms = (time.monotonic() - self._started) * 1000
        stuck = False
        if timed_out or self._done:
            self._kill_group()
            if not self._done:  # all was said already: no need to see it die
                stuck = not self._ended.wait(GRACE_S)  # the watcher sees it die
        if not stuck:
            for thread in self._threads[:2]:
                thread.join(0.05 if self._done else 1.0)
        stdout = self._said.decode("utf-8", "replace")
        stderr = self._errors.decode("utf-8", "replace")
        code = None if timed_out or self._done else self._process.returncode
        status: Status
        number: int | None = None
        if self._done:
            status = "ok"
        elif timed_out:
            status = "timed-out"
        elif code is None:
            status = "failed"
        elif code < 0:
            status, number, code = "crashed", -code, None
        elif code >= 0xC0000000:  # NTSTATUS of a crash on Windows
            status = "crashed"
        else:
            status = "ok" if code == 0 else "failed"
        return Result(
            self.argv, status, stdout, stderr, code, number, ms, self._truncated, stuck, self._limit_s,
            state,
        )


def _state_of(pid: int) -> str:
    """The letter for what a process does (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def start(argv: Sequence[str], **options: object) -> Child:
    """Start `argv` now. Options as for Child: limit_s (seconds, needed), stdin, env, cwd, output_limit (bytes; what
    comes later is still given to on_line and on_error_line, but not kept), dump_stacks, pass_fds (POSIX). A program
    that is not there is a result (`not-found`), never an exception."""
    return Child(argv, **options)  # type: ignore[arg-type]


def run(argv: Sequence[str], **options: object) -> Result:
    """Start it and wait for its end, within its limit."""
    return start(argv, **options).result()


def end_marked(variable: str, value: str) -> int:
    """Kill the processes of this user that have a variable of that value in their environment, and say how many.

    For what an earlier, killed run of ours started: its children carry the mark, whatever became of them.
    """
    try:
        import psutil
    except ImportError:
        return 0
    marked = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if one.pid != os.getpid() and one.environ().get(variable) == value:
                one.kill()
                marked.append(one)
    psutil.wait_procs(marked, timeout=GRACE_S)
    return len(marked)


@atexit.register
def end_all() -> None:
    """Kill every child that still runs: on exit, on Ctrl-C."""
    for child in list(_alive):
        child.kill()
    _alive.clear()

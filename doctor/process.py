"""The only place that starts a process.

Every child has a time limit, an output limit, and somebody who ends all that came of it, daemons included, when it ends
or when we do (guardian.py; on Windows job.py). The parent never waits without a limit, also for a child that cannot be
killed (state D).

On POSIX a process of our own, inside/guardian.py, starts them for us: it is small and has one thread, so that it can
fork, and it outlives us where we are killed.

A child that runs a script of ours in a foreign Python speaks to us on a channel: a pipe made for it, each line opened
by a secret. Both are told to the script alone, on its stdin: neither is in its arguments, its environment or its
output, so nothing that the Python prints is taken for an answer. Whoever runs inside the same process can still find
them; what is said is therefore checked by the one who hears it, and bounded here: in time, in bytes and in lines.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import marshal
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.job import Job

# flooded: it said more than it may, and was ended; refused: this process may start no more (files, processes, room)
Status = Literal["ok", "failed", "crashed", "timed-out", "not-found", "permission", "flooded", "refused"]
Hear = Callable[[str], "float | str | None"]

DONE = "done"  # returned by `on_line` and its like: the child has said all we need; end it now
GRACE_S = 3.0  # how long a killed child may take to vanish before it is called stuck
OUTPUT_LIMIT = 4 << 20  # bytes kept of each stream
FLOOD_LIMIT = 64 << 20  # bytes that a child may write in all: nothing that we ask says a hundredth of it
LINE_LIMIT = 4 << 20  # bytes of a line on the channel
_WINDOWS = sys.platform == "win32"
_MARK = "TORCHDOCTOR_CHILD"  # in the environment of the children where the system cannot follow daemons (macOS)
_mark = os.urandom(8).hex()
_CHANNEL = 3  # the descriptor of the channel in the child, and of the requests in the guardian
_OUT_OF = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_alive: set[Child] = set()


@dataclass(frozen=True)
class Result:
    """How a child ended. `ms` from start to end; `stuck`: it did not even die of SIGKILL; `state`: what it did when its
    time was over: "R" computing, "S" waiting, "D" waiting inside the kernel; "" where that is not known; `run_over`: it
    was the time of the whole run that was over, not its own."""

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
    run_over: bool = False

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.status == "ok"

    @property
    def said(self) -> str:
        """One line that says how it ended, for a Gap."""
        last = (self.stderr.strip() or self.stdout.strip()).splitlines()
        over = "the time for the whole run is over" if self.run_over else f"no answer after {self.limit_s:g} s"
        words = {
            "ok": "answered",
            "failed": f"exit {self.exit_code}",
            "crashed": f"ended by signal {self.signal}" if self.signal else f"crashed, exit {self.exit_code}",
            "timed-out": over + (", and it cannot be killed" if self.stuck else ""),
            "not-found": "not found",
            "permission": "not permitted to run it",
            "flooded": "it wrote without end, and was ended",
            "refused": "it could not be started",
        }[self.status]
        return f"{words}: {last[-1][:200]}" if last and self.status in ("failed", "crashed", "refused") else words


class Child:
    """A running process. Make it with `start`; `result()` waits for it within its limit."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        limit_s: float,
        until: float | None = None,
        stdin: str | bytes | None = None,
        script: str | None = None,
        on_said: Hear | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
        output_limit: int = OUTPUT_LIMIT,
        flood_limit: int | None = FLOOD_LIMIT,
        on_line: Hear | None = None,
        on_error_line: Hear | None = None,
        dump_stacks: bool = False,
        hold_fds: Sequence[int] = (),
    ) -> None:
        self.argv = tuple(argv)
        self._output_limit = output_limit
        self._flood_limit = flood_limit
        self._on_said = on_said
        self._on_line = on_line
        self._on_error_line = on_error_line
        self._hold_fds = () if _WINDOWS else tuple(hold_fds)
        self._dump_stacks = dump_stacks and not _WINDOWS
        self._started = time.monotonic()
        self._until = until
        self._limit_to(limit_s)
        self._over = threading.Event()  # it is gone, all is said, or it said too much
        self._gone = threading.Event()  # it is gone, and all that came of it
        self._done = False
        self._flooded = False
        self._heard = 0
        self._secret = ""
        self._channel_spoke = False
        self._said = bytearray()
        self._errors = bytearray()
        self._truncated = False
        self._result: Result | None = None
        self._lock = threading.Lock()
        self._line: socket.socket | None = None  # to the guardian
        self._pid: int | None = None  # of the program
        self._status: int | None = None  # its wait status, as the guardian said
        self._process: subprocess.Popen[bytes] | None = None  # Windows
        self._job: Job | None = None
        self._threads: list[threading.Thread] = []
        if until is not None and until <= self._started:
            self._result = Result(self.argv, "timed-out", limit_s=limit_s, run_over=True)
            self._over.set()
            return
        self._open(stdin, script, env, cwd)

    # ---- the start

    def _open(
        self, stdin: str | bytes | None, script: str | None, env: Mapping[str, str] | None, cwd: str | None
    ) -> None:
        if env is not None:
            env = {**env, _MARK: _mark} if sys.platform == "darwin" else env
        with contextlib.ExitStack() as undo:  # of what was begun, where it does not start
            try:
                streams = self._windows_streams if _WINDOWS else self._guarded_streams
                self._listen(*streams(undo, stdin, script, env, cwd))
                undo.pop_all()
            except (OSError, ValueError, subprocess.SubprocessError, RuntimeError) as error:
                self._not_started(error, cwd)

    def _guarded_streams(
        self, undo: contextlib.ExitStack, stdin: str | bytes | None, script: str | None, env: Mapping[str, str] | None,
        cwd: str | None,
    ) -> tuple[IO[bytes], ...]:
        """Ask the guardian for it. (stdout, stderr, and the channel where there is one)"""
        with contextlib.ExitStack() as theirs:  # what the guardian gets, and we need no more

            def pipe() -> tuple[IO[bytes], int]:
                reader, writer = os.pipe()
                theirs.callback(os.close, writer)
                return undo.enter_context(os.fdopen(reader, "rb")), writer

            self._line, line = socket.socketpair()
            undo.callback(self._line.close)
            theirs.enter_context(line)
            (stdout, out), (stderr, err) = pipe(), pipe()
            streams, channel = [stdout, stderr], []
            if script is not None:
                heard, writer = pipe()
                streams.append(heard)
                channel.append(writer)
                stdin = self._introduction(_CHANNEL, os.fstat(writer).st_ino) + script
            feed = theirs.enter_context(_file_of(stdin or b""))
            argv = [os.fsdecode(word) for word in self.argv]
            if any("\0" in word for word in argv):
                raise ValueError("embedded null byte")
            request = marshal.dumps((argv, dict(env) if env is not None else None, cwd))
            descriptors = [line.fileno(), feed.fileno(), out, err, *channel, *self._hold_fds]
            _guardian.ask(b"c" if channel else b"-", descriptors)
            self._line.sendall(len(request).to_bytes(8, "big") + request)
            return tuple(streams)

    def _windows_streams(
        self, undo: contextlib.ExitStack, stdin: str | bytes | None, script: str | None, env: Mapping[str, str] | None,
        cwd: str | None,
    ) -> tuple[IO[bytes], ...]:
        """Start it in a job. A script has no channel there but stdout."""
        from doctor.job import SUSPENDED, Job

        if script is not None:
            stdin = self._introduction(None, 0) + script
        flags = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | SUSPENDED
        with contextlib.ExitStack() as theirs:
            feed = subprocess.DEVNULL if stdin is None else theirs.enter_context(_file_of(stdin))
            self._job = Job()
            self._process = subprocess.Popen(
                self.argv, stdin=feed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd,
                creationflags=flags,
            )  # fmt: skip
        if not self._job.take(int(self._process._handle)):  # type: ignore[attr-defined]
            self._job = None
        assert self._process.stdout and self._process.stderr
        return self._process.stdout, self._process.stderr

    def _introduction(self, descriptor: int | None, inode: int) -> str:
        """The first line of a script: where to speak, and the secret that opens each line. Where a wrapper did not pass
        the pipe on, which the inode tells, and on Windows, which passes none, the script speaks on stdout."""
        self._secret = os.urandom(16).hex()
        return f"CHANNEL = ({descriptor!r}, {inode}, {self._secret!r})\n"

    def _listen(self, stdout: IO[bytes], stderr: IO[bytes], channel: IO[bytes] | None = None) -> None:
        _alive.add(self)
        works: list[tuple[Callable[..., None], tuple[object, ...]]] = [
            (self._read, (stdout, self._said, self._hear_either if self._on_said else self._on_line)),
            (self._read, (stderr, self._errors, self._on_error_line)),
        ]
        if channel:
            works.append((self._read_channel, (channel,)))
        for work, arguments in (*works, (self._watch, ())):
            thread = threading.Thread(target=work, args=arguments, daemon=True)
            thread.start()  # RuntimeError where there may be no more threads
            self._threads.append(thread)

    def _not_started(self, error: Exception, cwd: str | None = None) -> None:
        """What kept it from starting: the program, or the limits of our own process, which say nothing about it."""
        self.kill()  # where it runs all the same, and we have no thread to hear it
        _alive.discard(self)
        status: Status = "failed"
        if not isinstance(error, OSError):
            status = "failed" if isinstance(error, ValueError) else "refused"
        elif error.errno in _OUT_OF or (cwd is not None and error.filename == cwd):
            status = "refused"
        elif isinstance(error, FileNotFoundError):
            status = "not-found" if error.filename else "refused"  # no folder for temporary files
        elif isinstance(error, PermissionError):
            status = "permission"
        self._result = Result(self.argv, status, stderr=str(error), limit_s=self._limit_s)
        self._gone.set()
        self._over.set()

    # ---- what it says

    def _limit_to(self, seconds: float) -> None:
        """A new stage: its limit counts from now, within that of the whole run."""
        now = time.monotonic()
        self._limit_s = seconds
        self._deadline = now + seconds if self._until is None else min(now + seconds, self._until)

    def _keep(self, kept: bytearray, data: bytes) -> None:
        """Of stdout what comes first, of stderr what comes last: there a crash is told."""
        if kept is self._errors:
            kept += data
            if len(kept) > 2 * self._output_limit:
                self._truncated = True
                del kept[: -self._output_limit]
            return
        room = self._output_limit - len(kept)
        kept += data[:room]
        if len(data) > room:
            self._truncated = True

    def _count(self, data: bytes) -> bool:
        """Whether it may still go on."""
        self._heard += len(data)
        if self._flood_limit is not None and self._heard > self._flood_limit:
            self._end_flood()
        return not self._flooded

    def _end_flood(self) -> None:
        self._flooded = True
        self.kill()
        self._over.set()

    def _hear_either(self, line: str) -> float | str | None:
        """Where the channel did not come through, the answers stand among what else is on stdout."""
        said = self._unsealed(line)
        if said is None:
            return self._on_line(line) if self._on_line else None
        return self._on_said(said) if self._on_said and not self._channel_spoke else None

    def _unsealed(self, line: str) -> str | None:
        """What follows the secret."""
        secret, _, said = line.partition(" ")
        from secrets import compare_digest  # loads OpenSSL: while the child works, not before it starts

        return said if self._secret and compare_digest(secret.encode(), self._secret.encode()) else None

    def _read(self, stream: IO[bytes], kept: bytearray, on_line: Hear | None) -> None:
        with contextlib.suppress(ValueError, OSError), stream:
            if on_line is None:
                while (data := stream.read1(65536)) and self._count(data):  # type: ignore[attr-defined]
                    self._keep(kept, data)
                return
            while (line := stream.readline(self._output_limit)) and self._count(line):
                self._keep(kept, line)
                self._answer(on_line(line.decode("utf-8", "replace")))

    def _read_channel(self, channel: IO[bytes]) -> None:
        with contextlib.suppress(ValueError, OSError), channel:
            while (line := channel.readline(LINE_LIMIT)) and self._count(line):
                if len(line) == LINE_LIMIT:
                    self._end_flood()
                    return
                said = self._unsealed(line.decode("ascii", "replace"))
                if said is not None and self._on_said:
                    self._channel_spoke = True
                    self._answer(self._on_said(said))

    def _answer(self, answer: float | str | None) -> None:
        if answer == DONE:
            self._done = True
            self._over.set()
        elif isinstance(answer, (int, float)):
            self._limit_to(float(answer))

    # ---- its end

    def _watch(self) -> None:
        """Wait until it is gone, and all that came of it."""
        if self._line is not None:
            self._hear_guardian(self._line)
        elif self._process is not None:
            with contextlib.suppress(OSError):
                self._process.wait()
        if self._job is not None:
            self._job.close()
        if not self._gone.is_set():
            self._gone.set()
            self._over.set()

    def _hear_guardian(self, line: socket.socket) -> None:
        """The program's pid, then its wait status; or why it could not be started."""
        text = b""
        with contextlib.suppress(OSError), line:
            while piece := line.recv(64):
                text += piece
                words = text.decode("ascii", "replace").split("\n")[:-1]
                failed = next((word[1:] for word in words if word.startswith("!")), None)
                if failed is not None:
                    self._not_started(self._error_of(failed))
                    return
                numbers = [int(word) for word in words if word.isdecimal()]
                self._pid = numbers[0] if numbers else None
                self._status = numbers[1] if len(numbers) > 1 else None

    def _error_of(self, said: str) -> OSError:
        """ERRNO WORD of the guardian: only one of the program itself is one of the program."""
        number, _, what = said.partition(" ")
        code = int(number) if number.isdecimal() else 0
        if what == "program" or code in _OUT_OF:
            return OSError(code, os.strerror(code), self.argv[0])
        return OSError(errno.EAGAIN, f"{what}: {os.strerror(code)}")

    def kill(self) -> None:
        """End it and all that it started, without waiting."""
        if self._gone.is_set():
            return
        if self._line is not None:
            with contextlib.suppress(OSError):  # the guardian is gone already
                self._line.shutdown(socket.SHUT_WR)
        elif self._process is not None and (self._job is None or not self._job.end()):
            with contextlib.suppress(OSError, subprocess.SubprocessError):
                command = ["taskkill", "/F", "/T", "/PID", str(self._process.pid)]
                subprocess.run(command, capture_output=True, check=False, timeout=GRACE_S)
            with contextlib.suppress(OSError):
                self._process.kill()

    @property
    def pid(self) -> int | None:
        """Of the program; None where it is not known yet, or where it could not be started."""
        return self._process.pid if self._process is not None else self._pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._over.is_set()

    @property
    def started(self) -> float:
        """time.monotonic() of its start."""
        return self._started

    def hurry(self, seconds: float, *, at_least: float = 0.0) -> None:
        """It has so many seconds more, and `at_least` so many from its start: nothing else is waited for."""
        deadline = max(time.monotonic() + seconds, self._started + at_least)
        if deadline < self._deadline:
            self._deadline = deadline
            self._limit_s = round(deadline - self._started, 1)

    def result(self) -> Result:
        """Wait for the end, at most until the limit; then kill it. Asked again, gives the same."""
        with self._lock:
            if self._result is None:
                self._result = self._wait()
                _alive.discard(self)
            return self._result

    def _wait(self) -> Result:
        while not self._over.wait(min(0.25, max(0.0, self._deadline - time.monotonic()))):  # on_line may move it,
            if time.monotonic() >= self._deadline:  # in both directions
                break
        timed_out = not self._over.is_set()
        run_over = timed_out and self._until is not None and time.monotonic() >= self._until
        state = _state_of(self.pid) if timed_out and self.pid else ""
        if timed_out and self._dump_stacks and self._pid:
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGUSR1)  # faulthandler in the child writes its stacks
            self._over.wait(0.5)
        ms = (time.monotonic() - self._started) * 1000
        stuck = False
        if timed_out or self._done or self._flooded:
            self.kill()
            if not self._done:  # all was said already: no need to see it die
                _guardian.wake()
                stuck = not self._gone.wait(GRACE_S)
        if not stuck:
            for thread in self._threads[:-1]:
                thread.join(0.05 if self._done else 1.0)
        if self._result is not None:  # it could not be started, as we hear now
            return self._result
        status, code, number = self._ending(timed_out)
        return Result(
            self.argv, status, self._said.decode("utf-8", "replace"), self._errors.decode("utf-8", "replace"), code,
            number, ms, self._truncated, stuck, self._limit_s, state, run_over,
        )  # fmt: skip

    def _ending(self, timed_out: bool) -> tuple[Status, int | None, int | None]:
        """(status, exit code, signal)"""
        if self._done:
            return "ok", None, None
        if self._flooded:
            return "flooded", None, None
        if timed_out:
            return "timed-out", None, None
        if self._process is not None:
            code = self._process.returncode
        else:  # a guardian that was killed says nothing, and its program dies with it
            code = -signal.SIGKILL if self._status is None else os.waitstatus_to_exitcode(self._status)
        if code is None:
            return "failed", None, None
        if code < 0:
            return "crashed", None, -code
        if code >= 0xC0000000:  # NTSTATUS of a crash on Windows
            return "crashed", code, None
        return ("ok" if code == 0 else "failed"), code, None


class _Guardian:
    """Our process that starts the children (inside/guardian.py): made when the first one is wanted."""

    def __init__(self) -> None:
        self._requests: socket.socket | None = None
        self._pid: int | None = None
        self._lock = threading.Lock()

    @property
    def used(self) -> bool:
        return self._requests is not None

    def ask(self, word: bytes, descriptors: list[int]) -> None:
        """Start a child. OSError where that cannot be asked."""
        with self._lock:
            for last in (False, True):
                requests = self._requests = self._requests or self._begun()
                try:
                    socket.send_fds(requests, [word], descriptors)
                    return
                except OSError:
                    self.leave()
                    if last:
                        raise

    def begin(self) -> None:
        """Start it, so that it is ready when the first child is wanted. What keeps it from starting is met then."""
        with self._lock, contextlib.suppress(OSError):
            self._requests = self._requests or self._begun()

    def wake(self) -> None:
        """A child may have stopped it."""
        if self._pid is not None:
            with contextlib.suppress(OSError):
                os.kill(self._pid, signal.SIGCONT)

    def _begun(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
                (os.POSIX_SPAWN_DUP2, theirs.fileno(), _CHANNEL),
                *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)),
            ]
            if theirs.fileno() == _CHANNEL:  # dup2 would leave it to be closed
                os.set_inheritable(_CHANNEL, True)
            argv = [sys.executable, "-I", "-S", "-B", str(Path(__file__).parent / "inside" / "guardian.py")]
            try:
                self._pid = os.posix_spawn(sys.executable, argv, os.environ, file_actions=actions)
            except OSError as error:
                ours.close()
                raise OSError(errno.EAGAIN, f"torchdoctor's own Python cannot be started: {error}") from error
        return ours

    def leave(self) -> None:
        """It ends what still runs, and itself."""
        self.wake()
        if self._requests is not None:
            self._requests.close()
            self._requests = None


_guardian = _Guardian()


def _file_of(content: str | bytes) -> IO[bytes]:
    """A file for stdin, open at its start: a pipe could block us if the child never reads. In memory where that can
    be, for the disk may be full."""
    data = content.encode() if isinstance(content, str) else content
    file: IO[bytes]
    if hasattr(os, "memfd_create"):
        try:
            file = os.fdopen(os.memfd_create("torchdoctor"), "w+b")
        except OSError as error:
            if error.errno in _OUT_OF:
                raise
            file = tempfile.TemporaryFile()  # noqa: SIM115 - an old kernel, or one that forbids it
    else:
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        file.write(data)
        file.seek(0)
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        with contextlib.suppress(OSError):
            file.close()  # what it holds can't be written out either
        return _full_pipe(data)
    return file


def _full_pipe(data: bytes) -> IO[bytes]:
    """The same where no file may grow (RLIMIT_FSIZE): a pipe that has room for all of it."""
    import fcntl

    reader, writer = os.pipe()
    try:
        with contextlib.suppress(OSError, AttributeError):  # not Linux, or more than this user may have
            fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, len(data))
        os.set_blocking(writer, False)
        written = os.write(writer, data)
    except OSError:
        written = -1
    finally:
        os.close(writer)
    if written < len(data):
        os.close(reader)
        raise OSError(errno.EFBIG, "File too large")
    return os.fdopen(reader, "rb")


def _state_of(pid: int) -> str:
    """The letter for what a process does (Linux)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def start(argv: Sequence[str], **options: object) -> Child:
    """Start `argv` now. Options as for Child:

    limit_s       seconds, needed: of the whole child, or of a stage where `on_line` moves it
    until         time.monotonic() at which the whole run is over
    stdin         what it reads
    script        the text of a Python script that it reads on stdin, which can speak on a channel; `on_said` hears what
                  it says there, without the secret
    env, cwd      of the child
    output_limit  bytes kept of each stream; what comes later is still given to on_line and on_error_line
    flood_limit   bytes in all, after which it is ended; None: none
    on_line, on_error_line   hear the lines of stdout and stderr
    dump_stacks   ask its faulthandler by SIGUSR1 before it is killed (POSIX)
    hold_fds      descriptors that stay open until the child and all that came of it is gone, and that it does not get
                  (POSIX): a lock

    What a hearer returns: seconds, for a new limit from now; DONE; or None. A program that is not there is a result
    (`not-found`), never an exception.
    """
    return Child(argv, **options)  # type: ignore[arg-type]


def get_ready() -> None:
    """Children will be started soon: on POSIX, start the process that starts them."""
    if not _WINDOWS:
        _guardian.begin()


def in_background(work: Callable[[], object]) -> bool:
    """Do it in a thread of its own; False where there may be no more threads, and nothing was done."""
    try:
        threading.Thread(target=work, daemon=True).start()
    except RuntimeError:
        return False
    return True


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
    if sys.platform == "darwin" and _guardian.used:  # daemons that have left their group
        end_marked(_MARK, _mark)
    _guardian.leave()

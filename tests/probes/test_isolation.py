"""A device's child that dies or hangs in every way that Linux allows: named stage, named cause, no orphan, no waiting.

The fake torch imports well and sees one GPU; what is wrong happens when its device is opened. The D state is real (a
frozen control group), and so is the out-of-memory killer, where this machine lets us make control groups.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.model.facts import Facts, ProbeResult
from doctor.pipeline import Request
from doctor.probes import children, run
from tests.probes.fakes import look, machine, with_gpus

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, /proc and control groups of Linux")

GPU = """
__version__ = "9.9.0"
class Tensor: pass
""" + with_gpus(1) + """def get_num_threads(): return 1
def device(name):
    if name != "cuda:0": raise RuntimeError("not this one")
    import ctypes, mmap, os, resource, signal, subprocess, sys, tempfile, threading, time
    open(os.environ["PID_FILE"], "w").write(str(os.getpid()))
%s
"""


def probed(folder: Path, body: str, limit_s: float = 15.0) -> ProbeResult:
    """The result of the GPU whose opening does `body`."""
    text = GPU % "\n".join("    " + line for line in body.strip().splitlines())
    system, found = machine(folder, text)
    system.environ["PID_FILE"] = str(folder / "pid")  # type: ignore[index]
    facts: Facts = look(system, found, limit_s=limit_s, devices=("cuda",))
    assert facts.probes, "\n".join(map(str, (facts.torch and facts.torch.devices, *facts.gaps)))
    (result,) = facts.probes
    return result


def test_a_first_child_that_has_ended_already_still_names_the_devices(tmp_path: Path) -> None:
    """On a busy machine it may be done before anybody waits for it."""
    system, found = machine(tmp_path, GPU % "    os._exit(3)")
    system.environ["PID_FILE"] = str(tmp_path / "pid")  # type: ignore[index]
    request = Request(limit_s=60.0, devices=("cuda",))
    first = children.start_first(system, found, probe=True, request=request)
    assert first.run
    with first.changed:
        assert first.changed.wait_for(lambda: first.run.result is not None, timeout=60)
    facts = children.finish(first, system, found, Facts(), request=request, progress=lambda _: None)
    assert [(probe.device, probe.status, probe.exit_code) for probe in facts.probes or ()] == [("cuda:0", "crashed", 3)]


def gone(folder: Path) -> bool:
    pid = int((folder / "pid").read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.05)
    return False


BUS_ERROR = """
file = tempfile.TemporaryFile()
file.truncate(4096)
view = mmap.mmap(file.fileno(), 4096)
file.truncate(0)
view[0]
"""
CPU_TIME = """
resource.setrlimit(resource.RLIMIT_CPU, (1, 5))
while True: pass
"""
DEATHS = {
    "segfault": ("ctypes.string_at(0)", signal.SIGSEGV, "Segmentation fault"),
    "illegal instruction": ("os.kill(os.getpid(), signal.SIGILL)", signal.SIGILL, "Illegal instruction"),
    "abort": ("os.abort()", signal.SIGABRT, "Aborted"),
    "bus error": (BUS_ERROR, signal.SIGBUS, "Bus error"),
    "floating point": ("os.kill(os.getpid(), signal.SIGFPE)", signal.SIGFPE, "Floating"),
    "killed": ("os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL, "SIGKILL"),
    "CPU time limit": (CPU_TIME, signal.SIGXCPU, "SIGXCPU"),
}


@pytest.mark.parametrize("name", DEATHS)
def test_death_by_signal(tmp_path: Path, name: str) -> None:
    body, number, words = DEATHS[name]
    result = probed(tmp_path, body)
    assert (result.status, result.stage, result.signal, result.exit_code) == ("crashed", "open", number, None)
    assert words in result.reason
    assert result.reason.startswith("opening the device: ")
    assert gone(tmp_path)


def test_an_exit_code_of_a_shell_is_no_signal(tmp_path: Path) -> None:
    result = probed(tmp_path, "os._exit(139)")
    assert (result.status, result.stage, result.signal, result.exit_code) == ("crashed", "open", None, 139)
    assert result.reason == "opening the device: the process ended with exit code 139"


def test_a_missing_library(tmp_path: Path) -> None:
    result = probed(tmp_path, "ctypes.CDLL('libnowhere.so.9')")
    assert (result.status, result.stage, result.signal) == ("failed", "open", None)
    assert result.reason.startswith("OSError: libnowhere.so.9: cannot open shared object file")


def test_an_address_space_limit(tmp_path: Path) -> None:
    body = "resource.setrlimit(resource.RLIMIT_AS, (1 << 28, 1 << 28))\nbytearray(1 << 30)"
    result = probed(tmp_path, body)
    assert (result.status, result.stage) == ("failed", "open")
    assert result.reason.startswith("MemoryError")


@pytest.mark.parametrize(("body", "state"), [
    ("lock = threading.Lock(); lock.acquire(); lock.acquire()", "waiting"),
    ("while True: pass", "computing"),
], ids=["S", "R"])  # fmt: skip
def test_a_hang_is_named_by_what_it_does(tmp_path: Path, body: str, state: str) -> None:
    started = time.monotonic()
    result = probed(tmp_path, body, limit_s=1.5)
    assert time.monotonic() - started < 10
    assert (result.status, result.stage, result.stuck) == ("timed-out", "open", False)
    assert result.reason.startswith(f"opening the device took longer than 1.5 s, {state} (--timeout")
    assert "in device" in result.stderr_tail
    assert gone(tmp_path)


def test_what_the_child_started_ends_with_it(tmp_path: Path) -> None:
    body = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open(os.environ["PID_FILE"], "w").write(str(child.pid))
os.kill(os.getpid(), signal.SIGSEGV)
"""
    assert probed(tmp_path, body).signal == signal.SIGSEGV
    assert gone(tmp_path)


# --- control groups -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def group(controller: str) -> Iterator[Path]:
    """A control group (version 1) of our own, or a skip."""
    folder = Path(f"/sys/fs/cgroup/{controller}/torchdoctor-test-{os.getpid()}")
    try:
        folder.mkdir()
    except OSError:
        pytest.skip(f"no right to make a control group of {controller}")
    try:
        yield folder
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)


def test_a_process_in_state_d_that_does_not_die(tmp_path: Path) -> None:
    """Frozen by the kernel it ignores SIGKILL until it is thawed: we say so, and go on."""
    with group("freezer") as folder:

        def freeze() -> None:
            for _ in range(200):
                with contextlib.suppress(OSError, ValueError):
                    pid = int((tmp_path / "pid").read_text())
                    (folder / "tasks").write_text(str(pid))
                    (folder / "freezer.state").write_text("FROZEN")
                    return
                time.sleep(0.02)

        thread = threading.Thread(target=freeze)
        thread.start()
        started = time.monotonic()
        try:
            result = probed(tmp_path, "time.sleep(60)", limit_s=3.0)
            took = time.monotonic() - started
        finally:
            thread.join()
            (folder / "freezer.state").write_text("THAWED")
        assert took < 15
        assert (result.status, result.stage, result.stuck) == ("timed-out", "open", True)
        assert "waiting inside the kernel" in result.reason
        assert "cannot be killed" in result.reason
        assert gone(tmp_path)


def test_vfork_leaves_a_process_in_state_d_that_dies(tmp_path: Path) -> None:
    """The parent of vfork waits inside the kernel until its child execs."""
    body = """
libc = ctypes.CDLL(None)
if libc.vfork() == 0:
    libc.sleep(60)
    libc._exit(0)
"""
    result = probed(tmp_path, body, limit_s=1.5)
    assert (result.status, result.stage, result.stuck) == ("timed-out", "open", False)
    assert gone(tmp_path)


def test_the_out_of_memory_killer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with group("memory") as folder:
        (folder / "memory.limit_in_bytes").write_text(str(96 << 20))
        with contextlib.suppress(OSError):
            (folder / "memory.memsw.limit_in_bytes").write_text(str(96 << 20))
        own = run.oom_kills

        def counted(system: object) -> int:
            """The doctor would be in the same group as its child; here only the child may be."""
            text = (folder / "memory.oom_control").read_text()
            return own(system) + int(text.rpartition("oom_kill ")[2])  # type: ignore[arg-type]

        monkeypatch.setattr(run, "oom_kills", counted)
        body = f"""
open("{folder}/tasks", "w").write(str(os.getpid()))
kept = bytearray(1 << 29)
for i in range(0, len(kept), 4096): kept[i] = 1
"""
        result = probed(tmp_path, body)
    assert (result.status, result.stage, result.signal) == ("crashed", "open", signal.SIGKILL)
    assert "out-of-memory killer" in result.reason


@pytest.mark.parametrize(
    ("cgroup", "file", "text"),
    [
        ("0::/user.slice/a\n", "sys/fs/cgroup/user.slice/a/memory.events", "low 0\noom 3\noom_kill 2\n"),
        ("0::/a\n", "sys/fs/cgroup/memory.events", "oom_kill 2\n"),
        ("6:cpu:/b\n4:memory:/b\n", "sys/fs/cgroup/memory/b/memory.oom_control", "under_oom 0\noom_kill 2\n"),
    ],
    ids=["version 2", "version 2 in a namespace", "version 1"],
)
def test_oom_kills_are_counted(tmp_path: Path, cgroup: str, file: str, text: str) -> None:
    from doctor.facts.system import System
    from doctor.probes.run import oom_kills

    for name, content in (("proc/self/cgroup", cgroup), (file, text)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert oom_kills(System(root=str(tmp_path), environ={}, cwd=str(tmp_path))) == 2

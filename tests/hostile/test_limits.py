"""What holds when the doctor's own limits are tight, when it is killed, and when a tool leaves a daemon behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from pathlib import Path

import pytest

from doctor import process
from doctor.apply import lock
from tests.hostile.doctor import MARK, busyness, in_time, left_behind, run
from tests.sample import only

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and /proc of Linux")
DAEMON = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({file!r}, "w").write(str(os.getpid()))
        time.sleep(300)
    os._exit(0)
while not os.path.exists({file!r}): time.sleep(0.01)
"""


LIMITS = ("-n 8", "-n 12", "-n 16", "-n 24", "-n 40", "-f 0", "-v 400000", "-t 60", "-s 256")


@pytest.mark.parametrize("limit", only(LIMITS, ("-n 8", "-n 16", "-n 24", "-f 0", "-v 400000")))
def test_limits_of_our_own_are_no_fault_of_the_target(tmp_path: Path, limit: str) -> None:
    ran = run(tmp_path, "--timeout", "5", "--time-limit", "10", "--no-probe", "-o", "-", before=f"ulimit {limit}")
    assert in_time(ran.seconds, 10)
    assert ran.left == ()
    if ran.code in (0, 1, 3) and ran.report:
        assert "interpreter-broken" not in ran.found
        assert "torch-missing" not in ran.found or ran.report["facts"]["torch"] == {"absent": True}
    else:  # Python itself could not start, or could not write: not ours to say
        assert ran.code != 70, ran.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGQUIT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_outlives_the_doctor(tmp_path: Path, number: signal.Signals) -> None:
    """Neither the children, nor their daemons, nor the guardian."""
    file, mark = str(tmp_path / "daemon"), uuid.uuid4().hex
    program = DAEMON.format(file=file) + "time.sleep(300)\n"
    script = textwrap.dedent(f"""
        import signal, sys
        from doctor import process
        from doctor.cli import main
        if {int(number)} in (signal.SIGQUIT, signal.SIGHUP):  # a shell or nohup has it ignored
            signal.signal({int(number)}, signal.SIG_DFL)
        with main._ending_children():
            children = [process.start([sys.executable, "-c", {program!r}], limit_s=60) for _ in range(2)]
            print("ready", flush=True)
            children[0].result()
    """)
    environ = {**os.environ, MARK: mark}
    doctor = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    )
    assert doctor.stdout
    doctor.stdout.readline()
    while not os.path.exists(file):
        time.sleep(0.01)
    assert len(left_behind(mark, 0)) >= 4
    doctor.send_signal(number)
    doctor.wait(10 * busyness())
    doctor.stdout.close()
    assert left_behind(mark) == ()


def test_a_daemon_ends_with_the_child_that_started_it(tmp_path: Path) -> None:
    file = str(tmp_path / "daemon")
    assert process.run([sys.executable, "-c", DAEMON.format(file=file)], limit_s=20).ok
    assert not os.path.exists(f"/proc/{Path(file).read_text()}")


def test_a_daemon_of_one_child_spares_the_others(tmp_path: Path) -> None:
    other = process.start([sys.executable, "-c", "import time; time.sleep(1.5); print('whole')"], limit_s=20)
    assert process.run([sys.executable, "-c", DAEMON.format(file=str(tmp_path / "daemon"))], limit_s=20).ok
    assert other.result().stdout == "whole\n"


def test_a_daemon_that_lives_on_does_not_hold_the_lock(tmp_path: Path) -> None:
    """Neither the tool nor its daemon gets the lock: it is free when the run is over, whatever still lives."""
    fds = f"import os; all = os.listdir('/proc/self/fd'); open({str(tmp_path / 'fds')!r}, 'w').write(' '.join(all))"
    with lock.held(str(tmp_path / "store")) as handle:
        assert process.run([sys.executable, "-c", fds], limit_s=20, hold_fds=(handle,)).ok
        assert not lock._taken(os.open(tmp_path / "store" / "lock", os.O_RDWR))
    with lock.held(str(tmp_path / "store")):
        pass
    inherited = [int(fd) for fd in (tmp_path / "fds").read_text().split() if int(fd) > 3]  # which is that of the list
    assert inherited == []


def test_the_lock_stays_until_the_tool_of_a_killed_doctor_is_gone(tmp_path: Path) -> None:
    """The guardian holds it meanwhile; then it is free at once."""
    store, mark = str(tmp_path / "store"), uuid.uuid4().hex
    script = textwrap.dedent(f"""
        import os, sys
        from doctor import process
        from doctor.apply import lock
        with lock.held({store!r}) as handle:
            child = process.start([sys.executable, "-c", "print(1, flush=True); import time; time.sleep(300)"],
                                  limit_s=60, hold_fds=(handle,), on_line=lambda line: print(line, flush=True))
            child.result()
    """)
    doctor = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, env={**os.environ, MARK: mark})
    assert doctor.stdout
    doctor.stdout.readline()
    doctor.kill()
    doctor.wait(10 * busyness())
    doctor.stdout.close()
    started = time.monotonic()
    with lock.held(store):
        assert time.monotonic() - started < 2
    assert left_behind(mark) == ()


TOOLS = {
    "it floods": "while :; do printf 'GPU 0: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\\n'; done",
    "it writes without end": "exec cat /dev/zero",
    "it hangs": "sleep 300",
    "it leaves daemons": "for i in 1 2 3 4 5; do (setsid sleep 300 &) ; done; echo NVIDIA-SMI has failed",
    "it kills its parent": "kill -9 $PPID; sleep 300",
    "it says binary": "head -c 100000 /dev/urandom",
    "it says it is all": "printf '%s' '| NVIDIA-SMI 9.9 Driver Version: 99999999999999999999.1 CUDA Version: 9e999 |'",
}  # fmt: skip


@pytest.mark.parametrize("name", only(TOOLS, ("it floods", "it hangs", "it leaves daemons", "it kills its parent")))
def test_tools_that_mean_harm(tmp_path: Path, name: str) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("nvidia-smi", "nvcc", "rocminfo", "xpu-smi", "dmesg", "lspci"):
        (tools / tool).write_text(f"#!/bin/sh\n{TOOLS[name]}\n")
        (tools / tool).chmod(0o755)
    path = os.pathsep.join((str(tools), os.environ["PATH"]))
    ran = run(tmp_path, "--timeout", "3", "--time-limit", "4", "--no-probe", PATH=path)
    assert in_time(ran.seconds, 4), ran.seconds
    assert ran.memory_mb <= 300
    assert ran.left == ()
    assert ran.code in (0, 1, 3), ran.stderr

"""process.py on real children: limits, groups, output, how an end is named."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from doctor import process

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX shells and signals")


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True


def test_output_and_exit_code() -> None:
    result = process.run(["sh", "-c", "echo out; echo err >&2; exit 3"], limit_s=10)
    assert (result.status, result.exit_code, result.stdout, result.stderr) == ("failed", 3, "out\n", "err\n")
    assert result.said == "exit 3: err"


def test_what_starts_children_can_be_started_before_them(monkeypatch: pytest.MonkeyPatch) -> None:
    guardian = process._Guardian()
    monkeypatch.setattr(process, "_guardian", guardian)
    process.get_ready()
    begun = guardian._pid
    try:
        assert begun
        assert process.run(["true"], limit_s=10).ok
        assert guardian._pid == begun
    finally:
        guardian.leave()


def test_what_starts_children_and_cannot_start_is_met_with_the_first_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_guardian", process._Guardian())
    monkeypatch.setattr(process.sys, "executable", "/nowhere/python")
    process.get_ready()
    assert process.run(["true"], limit_s=10).status == "refused"


def test_a_missing_program_is_a_result() -> None:
    assert process.run(["no-such-program-here"], limit_s=1).status == "not-found"
    assert process.run(["/etc"], limit_s=1).status == "permission"


def test_a_file_that_is_no_program_is_a_result(tmp_path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    text.chmod(0o755)
    assert process.run([str(text)], limit_s=1).status == "failed"


def test_a_program_gets_its_input_where_no_file_may_grow() -> None:
    """RLIMIT_FSIZE holds for files in memory, too."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from doctor import process\n"
        "result = process.run(['cat'], limit_s=10, stdin='word ' * 20_000)\n"
        "assert result.stdout == 'word ' * 20_000, (result.status, result.said)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


def test_a_signal_is_told_from_the_same_positive_exit_code() -> None:
    assert process.run(["sh", "-c", "kill -SEGV $$"], limit_s=10).signal == signal.SIGSEGV
    shell = process.run(["sh", "-c", "exit 139"], limit_s=10)
    assert (shell.status, shell.exit_code, shell.signal) == ("failed", 139, None)


def test_a_hang_ends_at_its_limit_with_all_that_it_started(tmp_path) -> None:
    pids = tmp_path / "pids"
    began = time.monotonic()
    result = process.run(["sh", "-c", f"sleep 300 & echo $! > {pids}; sleep 300"], limit_s=0.5)
    assert result.status == "timed-out"
    assert time.monotonic() - began < 3
    time.sleep(0.1)
    assert gone(int(pids.read_text()))


def test_children_left_behind_by_a_normal_end_are_ended(tmp_path) -> None:
    pids = tmp_path / "pids"
    result = process.run(["sh", "-c", f"sleep 300 & echo $! > {pids}"], limit_s=10)
    assert result.ok
    time.sleep(0.1)
    assert gone(int(pids.read_text()))


def test_a_child_that_ignores_its_input_does_not_block_us() -> None:
    assert process.run(["sh", "-c", "exit 0"], stdin="x" * (1 << 21), limit_s=10).ok


def test_endless_output_is_cut() -> None:
    result = process.run(["yes"], limit_s=0.5, output_limit=1 << 16)
    assert result.truncated
    assert len(result.stdout) == 1 << 16


def test_a_new_stage_moves_the_limit_and_done_ends_the_child() -> None:
    script = "for i in 1 2 3; do echo $i; sleep 0.4; done; echo end; sleep 300"
    result = process.run(["sh", "-c", script], limit_s=0.7, on_line=lambda line: process.DONE if "end" in line else 0.7)
    assert result.ok
    assert result.stdout == "1\n2\n3\nend\n"


def test_a_process_that_ignores_polite_signals_ends_too() -> None:
    result = process.run(["sh", "-c", "trap '' TERM INT USR1; sleep 300"], limit_s=0.3, dump_stacks=True)
    assert result.status == "timed-out"
    assert not result.stuck


def test_stacks_are_dumped_before_the_kill() -> None:
    code = (
        "import faulthandler, signal, time; faulthandler.register(signal.SIGUSR1)\n"
        "def waits(): time.sleep(300)\n"
        "waits()"
    )
    result = process.run([sys.executable, "-c", code], limit_s=1.5, dump_stacks=True)
    assert "waits" in result.stderr


def test_end_all_kills_what_still_runs() -> None:
    child = process.start(["sleep", "300"], limit_s=300)
    process.end_all()
    assert child.result().signal == signal.SIGKILL


def test_who_writes_without_end_is_ended(tmp_path) -> None:
    began = time.monotonic()
    result = process.run(["yes"], limit_s=20, flood_limit=1 << 20, output_limit=1 << 16)
    assert time.monotonic() - began < 5
    assert (result.status, result.exit_code, result.signal) == ("flooded", None, None)
    assert len(result.stdout) == 1 << 16
    assert result.said == "it wrote without end, and was ended"


def test_of_stderr_the_end_is_kept() -> None:
    text = "i=0; while [ $i -lt 3000 ]; do echo noise >&2; i=$((i+1)); done; echo 'Fatal Python error: x' >&2; exit 1"
    result = process.run(["sh", "-c", text], limit_s=20, output_limit=4096)
    assert result.said == "exit 1: Fatal Python error: x"
    assert result.truncated
    assert len(result.stderr) <= 2 * 4096


def test_a_run_that_is_over_starts_nothing(tmp_path) -> None:
    mark = tmp_path / "mark"
    result = process.run(["touch", str(mark)], limit_s=20, until=time.monotonic())
    assert (result.status, result.run_over) == ("timed-out", True)
    assert result.said == "the time for the whole run is over"
    assert not mark.exists()


def test_the_run_ends_a_child_that_has_time_left_and_renews_it() -> None:
    began = time.monotonic()
    script = "while :; do echo x; sleep 0.1; done"
    result = process.run(["sh", "-c", script], limit_s=20, until=began + 1, on_line=lambda line: 20.0)
    assert time.monotonic() - began < 3
    assert (result.status, result.run_over) == ("timed-out", True)


def test_a_folder_that_is_gone_is_no_fault_of_the_program(tmp_path) -> None:
    result = process.run(["sh", "-c", "exit 0"], limit_s=5, cwd=str(tmp_path / "gone"))
    assert result.status == "refused"
    assert result.said.startswith("it could not be started: ")


def test_a_nul_in_an_argument_is_a_result() -> None:
    assert process.run(["sh", "-c", "a\0b"], limit_s=5).status == "failed"


SCRIPT = """
import os
descriptor, inode, secret = CHANNEL
there = os.fstat(descriptor).st_ino == inode if descriptor is not None and os.path.exists("/dev/fd/3") else False
os.write(1, b"secret hello from nobody\\n")
os.write(descriptor if there else 1, (secret + " hello\\n").encode())
import time; time.sleep(0.3)
os.write(1, (secret + " too late\\n").encode() if there else b"")
"""


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_script_speaks_on_its_channel_or_where_that_is_lost_on_stdout(tmp_path, wrapped: bool) -> None:
    python = sys.executable
    if wrapped:
        shim = tmp_path / "python"
        shim.write_text(f'#!/bin/sh\nexec 3>&-\nexec "{python}" "$@"\n')
        shim.chmod(0o755)
        python = str(shim)
    heard: list[str] = []
    said: list[str] = []
    argv = [python, "-I", "-"]
    result = process.run(argv, limit_s=20, script=SCRIPT, on_said=heard.append, on_line=said.append)
    assert result.ok, result.stderr
    assert [text.strip() for text in heard] == ["hello"]
    assert "secret hello from nobody\n" in said


def test_the_secret_is_in_neither_arguments_nor_environment() -> None:
    script = "import os, sys; print(sys.argv, dict(os.environ), open('/proc/self/cmdline').read())"
    child = process.start([sys.executable, "-I", "-"], limit_s=20, script=script, on_said=lambda text: None)
    result = child.result()
    assert result.ok
    assert child._secret
    assert child._secret not in result.stdout


def test_exit_codes_of_a_shell_that_is_ended_by_a_signal_of_its_own() -> None:
    assert process.run(["sh", "-c", "kill -9 $$"], limit_s=5).signal == signal.SIGKILL


def test_the_structures_of_windows_have_their_sizes() -> None:
    """As in winnt.h for 64 bits: what is wrong there is only seen on Windows."""
    import ctypes

    from doctor import job

    if ctypes.sizeof(ctypes.c_void_p) == 8:
        assert ctypes.sizeof(job._Basic) == 64
        assert ctypes.sizeof(job._Extended) == 144
    assert job.Job().end() is False

"""process.py on real children: limits, groups, output, how an end is named."""

from __future__ import annotations

import signal
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


def test_a_missing_program_is_a_result() -> None:
    assert process.run(["no-such-program-here"], limit_s=1).status == "not-found"
    assert process.run(["/etc"], limit_s=1).status == "permission"


def test_a_file_that_is_no_program_is_a_result(tmp_path) -> None:
    text = tmp_path / "text"
    text.write_text("hello")
    text.chmod(0o755)
    assert process.run([str(text)], limit_s=1).status == "failed"


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

"""The lazy group, exit codes, bugs, pipes, signals: in a process of its own where that matters."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import textwrap

import click
import pytest

from doctor import __version__
from doctor.cli import main as main_module
from doctor.cli.main import COMMANDS, cli, run

COMMAND = [sys.executable, "-m", "doctor"]


def command(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch):
    """A function that makes `torchdoctor check` raise."""

    def make(error: BaseException) -> None:
        @click.command()
        @click.option("-v", "--verbose", is_flag=True)
        def fails(verbose: bool) -> None:
            raise error

        monkeypatch.setattr(main_module.LazyGroup, "get_command", lambda self, context, name: fails)

    return make


def test_help_lists_every_command(capsys) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    for name, _, summary in COMMANDS:
        assert f"  {name}" in out
        assert summary in out


def test_version(capsys) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"torchdoctor {__version__}\n"


@pytest.mark.parametrize("name", [name for name, _, _ in COMMANDS])
def test_every_command_has_help_that_fits_its_summary(name: str, capsys) -> None:
    assert run([name, "--help"]) == 0
    assert "Usage: torchdoctor " + name in capsys.readouterr().out


def test_module_and_entry_point() -> None:
    assert command("--version").stdout == f"torchdoctor {__version__}\n"


def test_wrong_command_names_the_nearest(capsys) -> None:
    assert run(["chekc"]) == 2
    assert "Did you mean 'check'?" in capsys.readouterr().err


def test_wrong_option_is_usage(capsys) -> None:
    assert run(["check", "--nonsense"]) == 2


def test_no_command_shows_help(capsys) -> None:
    assert run([]) in (0, 2)
    captured = capsys.readouterr()
    assert "Commands:" in captured.out + captured.err


def test_a_bug_is_one_line_and_70(broken, capsys) -> None:
    broken(KeyError("x\x1b[31m"))
    assert run(["check"]) == 70
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "KeyError" in err
    assert "bug in torchdoctor" in err
    assert "\x1b" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [["check", "-v"], ["check"]])
def test_a_bug_shows_its_traceback_on_request(broken, capsys, monkeypatch, arguments: list[str]) -> None:
    if "-v" not in arguments:
        monkeypatch.setenv("TORCHDOCTOR_DEBUG", "1")
    broken(KeyError("x"))
    assert run(arguments) == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (click.UsageError("no"), 2),
        (MemoryError(), 3),
        (RecursionError(), 70),
    ],
)
def test_exit_codes(broken, error: BaseException, code: int) -> None:
    broken(error)
    assert run(["check"]) == code


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
def test_a_closed_pipe_is_141_and_silent() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [*COMMAND, "explain", "--list"], stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert done.returncode == 141
    assert done.stderr == b""


def test_at_the_end_no_object_is_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector's last round over a hundred thousand objects took longer than all else after the report."""
    monkeypatch.setattr(main_module, "run", lambda argv: 7)
    gc.unfreeze()
    try:
        with pytest.raises(SystemExit) as ended:
            main_module.main(["check"])
        assert ended.value.code == 7
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_children(tmp_path, number: signal.Signals, code: int) -> None:
    """The command's child would sleep for an hour; it ends with its parent."""
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent("""
            import sys, time, click
            from doctor import process
            from doctor.cli import main

            @click.command()
            def waits():
                child = process.start([sys.executable, "-c", "import time; time.sleep(3600)"], limit_s=3600)
                while child.pid is None:
                    time.sleep(0.01)
                print(child.pid, flush=True)
                child.result()

            main.LazyGroup.get_command = lambda self, context, name: waits
            main.main(["check"])
        """)
    )
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        child = int(parent.stdout.readline())
        parent.send_signal(number)
        assert parent.wait(20) == code
    finally:
        parent.kill()
        parent.stdout.close()
    for _ in range(100):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        if _is_zombie(child):
            return
        import time

        time.sleep(0.05)
    pytest.fail("the child still runs")


def _is_zombie(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_commands_are_found_by_click() -> None:
    with click.Context(cli) as context:
        assert cli.list_commands(context) == [name for name, _, _ in COMMANDS]
        assert cli.get_command(context, "nonsense") is None


@pytest.mark.skipif(sys.platform == "win32", reason="locale of POSIX")
def test_a_terminal_without_unicode() -> None:
    done = command(
        "explain", "--list", env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    )
    assert done.returncode == 0


def test_what_was_typed_is_quoted_without_control_characters(capsys) -> None:
    assert run(["check", "--only", "a\x07b"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("Error: Invalid value for '--only': there is no diagnosis 'a?b'")


@pytest.mark.skipif(sys.platform == "win32", reason="no such shell")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("check --from - <&-", 3),
        ("fix --from - <&-", 3),
        ("fix --from /dev/null >&-", 3),
        ("schema >&-", 0),
        ("schema >&- 2>&- <&-", 0),
    ],
)
def test_a_stream_that_is_closed(arguments: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m doctor {arguments}'],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert "failed" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device")
@pytest.mark.parametrize("arguments", [["schema"], ["--help"], ["explain", "--list"]])
def test_a_full_disk_is_named(arguments: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=-1, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "torchdoctor: the output cannot be written: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a current folder cannot be removed there")
def test_a_folder_that_is_gone_is_named(tmp_path) -> None:
    (tmp_path / "gone").mkdir()
    remove = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
    argv = [*COMMAND, "check", "-o", "x"]
    environ = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        ["sh", "-c", remove, "sh", str(tmp_path / "gone"), *argv],
        capture_output=True,
        text=True,
        env=environ,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "torchdoctor: the current folder is not there any more\n"


def test_undo_where_there_is_nothing(tmp_path, capsys) -> None:
    assert run(["fix", "--undo", "--python", str(tmp_path / "none")]) == 3
    assert capsys.readouterr().err == f"{tmp_path / 'none'} does not exist.\n"


def test_a_finding_of_a_fleet_is_explained(capsys) -> None:
    from doctor.fleet.judge.catalogue import OWN

    for id, own in OWN.items():
        assert run(["explain", id]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert all(text in said for text in (id, own.title, own.found, own.remedy))
    assert run(["explain", "fleet-link-slow", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["id"], entry["layer"]) == ("fleet-link-slow", "fleet")
    assert run(["explain", "fleet-link-slow", "--format", "markdown"]) == 0
    assert "**What to do**" in capsys.readouterr().out
    assert run(["explain", "fleet-link-slowly"]) == 2
    assert "Did you mean fleet-link-slow?" in capsys.readouterr().err

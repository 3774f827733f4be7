"""torchdoctor in a notebook's cell: it has a terminal there, but nobody who types."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.cli import applying, output, progress
from doctor.cli.main import run
from tests.facts.test_kernels import CELL, KERNEL, SERVER, machine

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX layouts")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)


@pytest.mark.parametrize(("chain", "typed"), [((CELL, KERNEL, SERVER), False), ((("bash",), SERVER), True)])
def test_questions_and_moving_lines_are_for_terminals(
    chain: tuple[tuple[str, ...], ...], typed: bool, terminal: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine(tmp_path, *chain)
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(tmp_path))
    assert output.somebody_types() is typed
    assert applying._can_ask() is typed
    with progress.watching() as tell:
        assert hasattr(tell, "__self__") is typed, "the method of a line, or silence"


def test_without_a_terminal_nobody_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    assert output.somebody_types() is False


@pytest.mark.parametrize(
    "words", ["check", "fix", "fix --run", "fix --undo", "probe", "install", "install --run", "check --json"]
)
def test_a_kernel_that_is_not_there(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine(tmp_path, HOME="/home/u")
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(tmp_path))
    code = run([*words.split(), "--python", "kernel:none"])
    assert (code, "there is no Jupyter kernel none, nor any other" in capsys.readouterr().err) == (3, True)

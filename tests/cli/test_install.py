"""`torchdoctor install` without --run: what it says and prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run

MACHINES = Path(__file__).parent.parent / "machines"


def installed(monkeypatch: pytest.MonkeyPatch, machine: str, *arguments: str) -> int:
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(MACHINES / machine))
    return run(["install", *arguments])


def test_a_machine_that_has_the_best_build_needs_nothing(capsys, monkeypatch) -> None:
    assert installed(monkeypatch, "macos-intel") == 0
    said = capsys.readouterr().out
    assert said.startswith("torch 2.2.2 (cpu) serves this machine best, and is installed: there is nothing to do\n")
    assert "pip install" not in said
    assert installed(monkeypatch, "macos-intel", "--print-commands") == 0
    assert all(line.startswith("# ") for line in capsys.readouterr().out.splitlines())


def test_a_companion_that_is_not_there_is_installed(capsys, monkeypatch) -> None:
    assert installed(monkeypatch, "macos-intel", "--with", "torchvision", "--print-commands") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.endswith("pip install torch==2.2.2 torchvision==0.17.2"), "torch is not removed for it"


def test_another_build_is_installed(capsys, monkeypatch) -> None:
    assert installed(monkeypatch, "windows-rtx3060-cpu-build", "--torch", "2.6.0", "--print-commands") == 0
    assert "whl/cu124" in capsys.readouterr().out

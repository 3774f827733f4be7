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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--env", ""], "no name for a folder"),
        (["--env", "a\nb"], "no name for a folder"),
        (["--env", "new", "--tool", "poetry"], "not with poetry"),
        (["--torch", "2.6.0+cu124", "--backend", "cpu"], "exclude each other"),
        (["--yes"], "--yes is for --run"),
        (["--allow", "system-python"], "--allow is for --run"),
        (["--pytorch-index", "https://"], "is not an address"),
        (["--pytorch-index", "https://a b"], "is not an address"),
        (["--find-links", ""], "names no folder"),
        (["--torch", "9.9"], "the tables know no torch 9.9: the nearest is 2.15.0."),
        (["--torch", ">=99"], "the tables know no torch >=99: the nearest is 2.15.0."),
        (["--torch", "2.6.9"], "the tables know no torch 2.6.9: the nearest is 2.6.0."),
        (["--backend", "cu999"], "there is no backend cu999: the nearest is cu132."),
        (["--backend", "rocm9.9"], "there is no backend rocm9.9: the nearest is rocm7.14."),
        (["--torch", "2.6.0", "--backend", "cu130"], "torch 2.6.0 was not made for cu130: the nearest is cu126."),
    ],
)
def test_wrong_usage(capsys, monkeypatch, arguments: list[str], said: str) -> None:
    assert installed(monkeypatch, "windows-rtx3060-cpu-build", *arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


def test_a_version_with_its_build(capsys, monkeypatch) -> None:
    assert installed(monkeypatch, "windows-rtx3060-cpu-build", "--torch", "2.6.0+cu118", "--print-commands") == 0
    assert "torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("wish", "installs"), [(("--torch", "1.8.0"), {"torch==1.8.0"}), (("--backend", "rocm7.2"), set())]
)
def test_no_other_torch_than_the_one_asked_for(
    capsys, monkeypatch, wish: tuple[str, str], installs: set[str]
) -> None:
    assert installed(monkeypatch, "windows-rtx3060-cpu-build", *wish) == 1
    said = capsys.readouterr().out
    assert said.startswith("no torch build serves this machine")
    assert {word for line in said.splitlines() if "pip install" in line for word in line.split() if "==" in word} == (
        installs
    )


def test_the_tool_for_a_new_environment_is_the_one_named(capsys, monkeypatch, tmp_path) -> None:
    env = str(tmp_path / "new")
    assert installed(monkeypatch, "linux-two-gpus", "--env", env, "--tool", "pip", "--print-commands") == 0
    assert f" -m venv {env}\n" in capsys.readouterr().out
    assert installed(monkeypatch, "linux-two-gpus", "--env", env, "--tool", "uv", "--print-commands") == 0
    assert f"uv venv --python 3.11 {env}\n" in capsys.readouterr().out


def test_of_conda_forges_torch_no_version_is_promised(capsys, monkeypatch, tmp_path) -> None:
    env = str(tmp_path / "new")
    assert installed(monkeypatch, "linux-two-gpus", "--env", env, "--tool", "conda") == 0
    said = capsys.readouterr().out
    assert said.startswith("Install conda-forge's torch (cu")
    assert "publi" not in said


def test_a_text_that_says_nothing_is_not_a_machine_without_faults(capsys, tmp_path) -> None:
    (tmp_path / "text").write_text("hello")
    assert run(["fix", "--from", str(tmp_path / "text")]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "torchdoctor: No verdict: nothing in this text was recognised.\n"


def test_a_reason_for_no_fix_is_no_plan(tmp_path: Path, capsys) -> None:
    """There may be a GPU after all: without a verdict nobody is told that a machine without one needs no cure."""
    (tmp_path / "text").write_text("torch 2.6.0+cu124\ntorch.cuda.is_available() is False\n")
    assert run(["check", "--json", "--from", str(tmp_path / "text")]) == 3
    assert "no-accelerator" in capsys.readouterr().out
    assert run(["fix", "--from", str(tmp_path / "text")]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("torchdoctor: No verdict")

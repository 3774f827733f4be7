"""scripts/new.py writes pieces that run at once; the shell scripts parse; the README begins as it should."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project's code and the tests that new pieces need, without the cases."""
    ignored = shutil.ignore_patterns("__pycache__", "cases", "machines", "__snapshots__")
    shutil.copytree(ROOT / "doctor", tmp_path / "doctor", ignore=ignored)
    shutil.copytree(ROOT / "tests", tmp_path / "tests", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "tests"),
    [
        (["check", "run", "just-invented"], ["tests/test_examples.py", "tests/test_laws.py", "-k", "just"]),
        (["fact", "just-invented"], ["tests/facts/test_just_invented.py"]),
        (["probe", "just-invented"], ["tests/probes/test_just_invented.py"]),
        (["format", "just-invented"], ["tests/reports/test_just_invented.py"]),
        (["tool", "just-invented"], ["tests/fixes/test_tool_just_invented.py", "tests/fixes/test_tool_suite.py",
                                     "tests/test_laws.py::test_a_package_manager_is_one_file"]),
    ],
    ids=lambda value: value[0],
)
def test_a_new_piece_runs_at_once(copy: Path, arguments: list[str], tests: list[str], capsys) -> None:
    new = load("new")
    assert new.main(arguments, root=copy) == 0
    assert "next:" in capsys.readouterr().out
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    done = subprocess.run(argv, cwd=copy, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "passed" in done.stdout
    files = [str(p) for p in copy.rglob("*just_invented.py")]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *files], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert new.main(arguments, root=copy) == 2, "never overwrites"


def test_a_new_message_is_known_at_once(copy: Path, capsys) -> None:
    new, line = load("new"), "RuntimeError: the flux compensator (v2.1) [hip] is not aligned with cuda:0"
    assert new.main(["message", "just-invented", "torch-cpu-only", line], root=copy) == 0
    assert "next:" in capsys.readouterr().out
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    argv.append("tests/knowledge/test_messages.py")
    done = subprocess.run(argv, cwd=copy, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    argv = [sys.executable, "-m", "doctor", "check", "--from", "-", "--json"]
    said = subprocess.run(argv, cwd=copy, input=line, capture_output=True, text=True, timeout=60, check=False)
    assert '"just-invented"' in said.stdout, said.stderr
    assert new.main(["message", "just-invented", "torch-cpu-only", line], root=copy) == 2, "never twice"
    assert new.main(["message", "other", "no-such-check", line], root=copy) == 2


@pytest.mark.parametrize(
    "arguments",
    [[], ["check"], ["check", "nowhere", "x"], ["check", "run", "Bad_Id"], ["thing", "x"], ["tool", "Bad"],
     ["message", "x", "torch-cpu-only"]],
)  # fmt: skip
def test_new_wrong_usage(tmp_path: Path, arguments: list[str], capsys) -> None:
    assert load("new").main(arguments, root=tmp_path) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("name", ["scripts/test", ".ci/run"])
def test_shell_scripts_parse(name: str) -> None:
    assert subprocess.run(["bash", "-n", str(ROOT / name)], check=False).returncode == 0


def test_the_readme_begins_with_the_two_commands() -> None:
    """How to run it within the first screen, how to test it within the second."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert any("torchdoctor check" in line for line in lines[:12])
    assert any(line.startswith("scripts/test") for line in lines[:34])

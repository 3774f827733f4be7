"""The installed command on real interpreters: with torch, without, and on what is no Python at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from doctor.reports.json import schema

posix = pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")


def check(python: object, *arguments: str) -> tuple[int, dict, str]:
    """Exit code, the JSON report (valid by the schema), and stderr."""
    argv = [sys.executable, "-m", "doctor", "check", "--python", str(python), "--json", *arguments]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=180, check=False)
    report = json.loads(done.stdout)
    jsonschema.validate(report, schema())
    return done.returncode, report, done.stderr


def faults(report: dict) -> list[str]:
    return [f["id"] for f in report["findings"] if f["severity"] == "fault"]


def program(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.real_torch
@pytest.mark.slow
def test_a_healthy_cpu_environment(torch_python: str) -> None:
    code, report, stderr = check(torch_python)
    assert (code, report["verdict"], faults(report)) == (0, "healthy", [])
    assert [line for line in stderr.splitlines() if not line.startswith("torchdoctor: redacted: ")] == []
    assert "secret" not in stderr
    (probe,) = report["facts"]["probes"]
    assert (probe["id"], probe["status"]) == ("cpu", "ok")
    assert [o["id"] for o in report["outcomes"] if o["status"] == "crashed"] == []


@pytest.mark.real_torch
@pytest.mark.slow
def test_no_probe(torch_python: str) -> None:
    code, report, _ = check(torch_python, "--no-probe")
    assert (code, report["verdict"], report["limits"], report["unproven"]) == (0, "unknown", ["--no-probe"], [])
    assert not [p for p in report["facts"]["probes"] or [] if p["status"] != "skipped"]


def test_without_torch(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env")], check=True, timeout=120)
    code, report, _ = check(tmp_path / "env")
    assert (code, report["verdict"]) == (1, "faulty")
    assert faults(report)[0] == "torch-missing"


@posix
@pytest.mark.parametrize("kind", ["nothing", "empty-folder", "text-file"])
def test_no_python_at_all_is_3_with_one_line(tmp_path: Path, kind: str) -> None:
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "text-file").write_text("hello\n")
    code, report, stderr = check(tmp_path / kind)
    assert (code, report["verdict"]) == (3, "unknown")
    assert stderr.count("\n") == 1
    assert kind in stderr


@posix
def test_broken_interpreters_are_a_diagnosis(tmp_path: Path) -> None:
    os.symlink(tmp_path / "gone", tmp_path / "dead-link")
    shim = program(tmp_path / "shim", "echo 'pyenv: python: command not found' >&2; exit 127")
    crashing = program(tmp_path / "crashing", "kill -SEGV $$")
    for python in (tmp_path / "dead-link", shim, crashing):
        code, report, _ = check(python)
        assert (code, faults(report)[:1]) == (1, ["interpreter-broken"]), python

"""The root prefix, size limits, and gaps instead of exceptions."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from doctor.facts.system import ROOT_VARIABLE, System, architecture
from doctor.model.facts import Gap


def recorded(tmp_path: Path, **said: object) -> System:
    (tmp_path / "machine.json").write_text(json.dumps(said))
    return System.of_folder(str(tmp_path))


def test_the_variable_makes_a_folder_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux", "machine": "x86_64"}, "cwd": "/w"}))
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    system = System.of_this_process()
    assert (system.root, system.cwd, system.environ) == (str(tmp_path), "/w", {})
    assert system.uname().machine == "x86_64"
    assert system.path == ("/bin",)
    assert system.own_python is None


def test_reads_below_the_root_with_a_limit(tmp_path: Path) -> None:
    system = recorded(tmp_path, denied=["/etc/secret"])
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/text").write_bytes(b"abc\xff" * 100)
    assert system.read("/etc/text", 4) == "abc\ufffd"
    assert system.listdir("/etc") == ("text",)
    for path, reason in (("/etc/nothing", "not-installed"), ("/etc/secret", "permission"), ("/etc", "unreadable")):
        gap = system.read(path)
        assert isinstance(gap, Gap)
        assert gap.reason == reason
        assert path in gap.detail
    assert isinstance(system.listdir("/nowhere"), Gap)


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
def test_programs_of_a_recorded_machine(tmp_path: Path) -> None:
    system = recorded(tmp_path, environ={"GREETING": "hello"}, uname={"system": "linux"})
    (tmp_path / "bin").mkdir()
    tool = tmp_path / "bin/tool"
    tool.write_text('#!/bin/sh\necho "$GREETING $*"\n')
    tool.chmod(0o755)
    assert system.which("tool") == "/bin/tool"
    assert system.start(["tool", "x"], limit_s=5).result().stdout == "hello x\n"
    assert system.start(["/bin/tool", "y"], limit_s=5).result().stdout == "hello y\n"
    assert system.which("sh") is None
    assert system.start(["sh", "-c", "echo no"], limit_s=5).result().status == "not-found"


def test_colons_in_names(tmp_path: Path) -> None:
    system = recorded(tmp_path)
    (tmp_path / "sys/0000%3A01%3A00.0").mkdir(parents=True)
    assert system.listdir("/sys") == ("0000:01:00.0",)
    assert system.exists("/sys/0000:01:00.0")


def test_a_child_is_not_told_to_be_another_python() -> None:
    system = System(environ={"__PYVENV_LAUNCHER__": "/x", "A": "1", "B": "2"})
    assert system.child_environ(B=None, C="3") == {"A": "1", "C": "3"}


def test_the_live_machine() -> None:
    system = System.of_this_process()
    assert system.uname().system in ("linux", "darwin", "windows")
    assert system.cpus()[0] == os.cpu_count()
    assert not isinstance(system.disk(system.cwd), Gap)
    assert system.own_python == sys.executable


@pytest.mark.parametrize(("word", "expected"), [("AMD64", "x86_64"), ("aarch64", "arm64"), ("i686", "x86"), ("", None)])
def test_architecture(word: str, expected: str | None) -> None:
    assert architecture(word) == expected


def test_children_do_not_colour_what_we_read() -> None:
    """A notebook sets these; Python 3.13 colours tracebacks by them, uv and pip their lists."""
    environ = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1", "__PYVENV_LAUNCHER__": "/x", "TERM": "xterm"}
    assert System(environ=environ).child_environ() == {"TERM": "xterm"}


def test_memory_is_not_known_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    psutil = pytest.importorskip("psutil")

    def without_proc() -> None:
        raise FileNotFoundError(2, "No such file or directory", "/proc/meminfo")

    monkeypatch.setattr(psutil, "virtual_memory", without_proc)
    said = System(environ={}).memory()
    assert isinstance(said, Gap)
    assert said.reason == "unreadable"

"""Which Python is chosen, and what the files alone say against it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from doctor.facts.system import System
from doctor.facts.target import find_target

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX layouts")


def environment(folder: Path, *, torch: bool = False) -> Path:
    """An environment's folder with a program as its Python."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (folder / "bin" / "python3").symlink_to("python")
    if torch:
        package = folder / "lib" / "torch"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
    return folder


def system(tmp_path: Path, own: Path | None = None, path: tuple[Path, ...] = (), **environ: str) -> System:
    cwd = tmp_path / "here"
    cwd.mkdir(exist_ok=True)
    return System(
        environ={"PATH": os.pathsep.join(str(p / "bin") for p in path), **environ},
        cwd=str(cwd),
        own_python=str(own / "bin" / "python") if own else None,
        own_prefix=str(own) if own else None,
        own_path=(str(own / "lib"),) if own else (),
    )


def test_the_order(tmp_path: Path) -> None:
    named, variable, venv, conda, own, local, on_path = (
        environment(tmp_path / name, torch=name == "own")
        for name in ("named", "variable", "venv", "conda", "own", "here/.venv", "path")
    )
    environ = {"TORCHDOCTOR_PYTHON": str(variable), "VIRTUAL_ENV": str(venv), "CONDA_PREFIX": str(conda)}
    machine = system(tmp_path, own, (on_path,), **environ)
    assert find_target(machine, str(named)).python == str(named / "bin/python")
    for expected in (variable, venv, conda):
        assert find_target(system(tmp_path, own, (on_path,), **environ)).python == str(expected / "bin/python")
        environ.pop(next(iter(environ)))
    assert find_target(system(tmp_path, own, (on_path,))).python == str(own / "bin/python")
    (own / "lib/torch/__init__.py").unlink()
    assert find_target(system(tmp_path, own, (on_path,))).python == str(local / "bin/python")
    local.rename(tmp_path / "moved")
    assert find_target(system(tmp_path, own, (on_path,))).python == str(on_path / "bin/python3")
    assert find_target(system(tmp_path, own)).python == str(own / "bin/python")


def test_the_doctors_own_environment_without_torch_is_never_chosen_implicitly(tmp_path: Path) -> None:
    own, other = environment(tmp_path / "here/.venv"), environment(tmp_path / "other")
    machine = system(tmp_path, own, (own, other), VIRTUAL_ENV=str(own))
    assert find_target(machine).python == str(other / "bin/python3")
    assert find_target(machine, str(own)).python == str(own / "bin/python"), "but it may be named"


def test_an_environment_made_for_the_doctor_is_left_out_when_uvx_runs_it(tmp_path: Path) -> None:
    throwaway, other = environment(tmp_path / "uvx"), environment(tmp_path / "other")
    packages = environment(tmp_path / "here/.venv") / "lib/python3.12/site-packages"
    (packages / "torchdoctor-1.0.dist-info").mkdir(parents=True)
    machine = system(tmp_path, throwaway, (throwaway, other))
    assert find_target(machine).python == str(other / "bin/python3")
    (packages / "torch").mkdir()
    assert find_target(machine).python == str(tmp_path / "here/.venv/bin/python")


def test_reasons_name_the_way(tmp_path: Path) -> None:
    venv = environment(tmp_path / "venv")
    assert find_target(system(tmp_path, VIRTUAL_ENV=str(venv))).reason == "active environment"
    found = find_target(system(tmp_path), str(venv))
    assert (found.reason, found.explicit) == ("--python", True)
    assert found.as_report().python == str(venv / "bin/python")


def kind(machine: System, python: str) -> str | None:
    failure = find_target(machine, python).failure
    assert failure is None or (failure.message and "\n" not in failure.message)
    return failure and failure.kind


def test_what_files_say_against_it(tmp_path: Path) -> None:
    machine = system(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("hello\n")
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "dead").symlink_to(tmp_path / "gone")
    assert kind(machine, str(tmp_path / "nothing")) == "not-found"
    assert kind(machine, "no-such-python") == "not-found"
    assert kind(machine, str(tmp_path / "empty")) == "not-python"
    assert kind(machine, str(tmp_path / "notes.txt")) == "not-python"
    assert kind(machine, str(tmp_path / "script")) == "permission"
    assert kind(machine, str(tmp_path / "dead")) == "dead-link"
    assert kind(machine, sys.executable) is None


def test_a_venv_whose_base_is_gone(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(tmp_path / "base/bin/python3.12")
    (venv / "pyvenv.cfg").write_text(f"home = {tmp_path}/base/bin\nversion = 3.12.1\n")
    assert kind(system(tmp_path), str(venv)) == "missing-base"
    (tmp_path / "base/bin").mkdir(parents=True)  # the base was upgraded: its folder is there, its python3.12 is not
    assert kind(system(tmp_path), str(venv)) == "dead-link"


def test_relative_names_and_home(tmp_path: Path) -> None:
    environment(tmp_path / "here/env")
    machine = system(tmp_path, HOME=str(tmp_path / "here"))
    expected = str(tmp_path / "here/env/bin/python")
    assert find_target(machine, "env").python == expected
    assert find_target(machine, "./env/bin/python").python == expected
    assert find_target(machine, "~/env").python == expected
    assert "~nobody" in find_target(machine, "~nobody/env").failure.message


def test_apples_stub_is_not_started_without_the_command_line_tools(tmp_path: Path) -> None:
    machine = System(root=str(tmp_path), recorded={"uname": {"system": "darwin", "machine": "arm64"}})
    from doctor.facts import target

    assert target._would_open_dialogue(machine, "/usr/bin/python3")
    (tmp_path / "Applications/Xcode.app").mkdir(parents=True)
    assert not target._would_open_dialogue(machine, "/usr/bin/python3")

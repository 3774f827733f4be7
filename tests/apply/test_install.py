"""`install --run`: torch into an environment that is there, or into one that is made for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import Patient
from tests.index.server import Index

Make = Callable[..., Patient]
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"


def install(patient: Patient, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "doctor", "install", *arguments]
    return subprocess.run(
        argv,
        env=patient.variables(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def version_in(env: Path) -> str:
    argv = [str(env / "bin" / "python"), "-c", "import torch; print(torch.__version__)"]
    return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=30).stdout.strip()


def test_into_nothing_with_uv(patient: Make) -> None:
    sick = patient()
    env = sick.root / "a new one's $env"
    done = install(sick, "--env", str(env), "--python", VERSION, "--with", "torchvision", "--run", "--yes")
    assert done.returncode == 0, done.stderr
    assert "the environment is healthy" in done.stderr
    assert version_in(env) == "2.15.0+cu130"


def test_into_nothing_without_uv(patient: Make) -> None:
    sick = patient(pip=True)
    (sick.root / "bin" / "uv").unlink()
    env = sick.root / "new"
    argv = ("--env", str(env), "--python", str(sick.env), "--run", "--yes")
    done = install(sick, *argv)
    assert done.returncode == 0, done.stderr
    assert version_in(env) == "2.15.0+cu130"
    done = install(sick, *argv)
    assert (done.returncode, "is there already" in done.stderr) == (2, True)


def test_what_cannot_be_installed_leaves_no_environment(patient: Make, index: Index) -> None:
    sick = patient()
    env = sick.root / "new"
    nowhere = f"{index.url}/empty"
    sick.set(UV_DEFAULT_INDEX=nowhere)
    done = install(sick, "--env", str(env), "--python", VERSION, "--run", "--yes")
    assert done.returncode == 1
    assert not env.exists()
    assert f"removing {env}" in done.stderr


def test_another_python_without_uv_is_refused_with_the_way_to_it(patient: Make) -> None:
    sick = patient(pip=True)
    (sick.root / "bin" / "uv").unlink()
    done = install(sick, "--env", str(sick.root / "new"), "--python", "3.13" if VERSION != "3.13" else "3.12")
    assert done.returncode == 1
    assert "there is no uv to fetch Python" in done.stdout


def test_into_an_environment_that_is_there(patient: Make) -> None:
    sick = patient()
    before = sick.content()
    done = install(sick, "--python", str(sick.env), "--run", "--yes")
    assert done.returncode == 0, done.stderr
    assert sick.torch() == "2.15.0+cu130"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert sick.content() == before


@pytest.mark.parametrize("shell", ["bash", "dash", "zsh"])
def test_the_printed_commands_make_the_same(patient: Make, shell: str) -> None:
    """Spaces, both quotes, a dollar and a letter that is not ASCII, in the environment's path."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    sick = patient()
    env = sick.root / 'it\'s "my $HOME" é'
    done = install(sick, "--env", str(env), "--python", VERSION, "--print-commands")
    assert done.returncode == 0, done.stderr
    said = {**sick.variables(), "UV_DEFAULT_INDEX": f"{sick.url}/whl/cu130", "PATH": f"{sick.root}/bin:/usr/bin:/bin"}
    subprocess.run([program, "-e"], input=done.stdout, text=True, env=said, check=True, timeout=60)
    assert version_in(env) == "2.15.0+cu130"

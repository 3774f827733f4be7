"""`install --run`: torch into an environment that is there, or into one that is made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import Patient, make_patient
from tests.index.server import Index
from tests.sample import drawn, only

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
    assert "cured; the rest of the environment was not judged (--no-probe)." in done.stderr
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
    env = sick.root / "not" / "there" / "new"
    nowhere = f"{index.url}/empty"
    sick.set(UV_DEFAULT_INDEX=nowhere)
    done = install(sick, "--env", str(env), "--python", VERSION, "--run", "--yes")
    assert done.returncode == 1
    assert not (sick.root / "not").exists()
    assert f"removing {env}" in done.stderr


def test_an_index_that_cannot_be_reached_is_named_with_what_helps(patient: Make) -> None:
    sick = patient()
    env = sick.root / "new"
    sick.set(UV_DEFAULT_INDEX="http://127.0.0.1:9/simple")
    done = install(sick, "--env", str(env), "--python", VERSION, "--run", "--yes")
    assert done.returncode == 1
    assert "the package index could not be reached" in done.stderr
    assert "--pytorch-index URL" in done.stderr
    assert not env.exists()


def test_the_folders_above_go_with_what_a_killed_install_left(patient: Make, index: Index) -> None:
    sick = patient()
    env = sick.root / "not" / "there" / "new"
    killed(sick, env, index)
    (sick.root / "not" / "mine").touch()
    argv = [sys.executable, "-m", "doctor", "fix", "--undo", "--python", str(env)]
    subprocess.run(argv, env=sick.variables(), capture_output=True, check=True)
    assert [path.name for path in (sick.root / "not").iterdir()] == ["mine"]


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


SHELLS = ("bash", "dash", "zsh", "fish")
HOSTILE = 'it\'s "my $HOME" `id`; é\\'


def run_by(shell: str, script: str, patient: Patient) -> None:
    """Have a shell carry out what was printed, from its standard input."""
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell}")
    index = f"{patient.url}/whl/cu130"
    said = {"UV_DEFAULT_INDEX": index, "PIP_INDEX_URL": index, "PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": ""}
    said = {**patient.variables(), **said, "PATH": f"{patient.root}/bin:/usr/bin:/bin"}
    options = [] if shell == "fish" else ["-e"]
    done = subprocess.run(
        [program, *options], input=script, text=True, env=said, timeout=60, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("shell", drawn(1, SHELLS, "printed"))
def test_the_printed_commands_make_the_same(patient: Make, shell: str) -> None:
    """Spaces, both quotes, a dollar, a backslash and a letter that is not ASCII, in the environment's path."""
    sick = patient()
    env = sick.root / (HOSTILE if shell != "fish" else HOSTILE.rstrip("\\"))  # uv's activate.fish can't have that end
    named = ("--shell", "fish") if shell == "fish" else ()
    done = install(sick, "--env", str(env), "--python", VERSION, "--print-commands", *named)
    assert done.returncode == 0, done.stderr
    run_by(shell, done.stdout, sick)
    assert version_in(env) == "2.15.0+cu130"


@pytest.mark.slow
@pytest.mark.parametrize(("by", "shell"), drawn(2, only(
    [(by, shell) for by in ("pip", "uv") for shell in SHELLS],
    [("pip", "bash"), ("pip", "fish"), *(("uv", shell) for shell in SHELLS)],
), "cure"))  # fmt: skip
def test_the_printed_cure_cures(tmp_path: Path, wheelhouse: Path, index: Index, by: str, shell: str) -> None:
    """Everything lies in a folder with a hostile name."""
    place = tmp_path / HOSTILE
    place.mkdir()
    (place / "wheels").symlink_to(wheelhouse)
    sick = make_patient(place, index.url, pip=by == "pip")
    sick.install("torch==2.13.0", "torchvision", backend="cpu")
    done = sick.doctor("fix", "--no-probe", "--print-commands", *(("--shell", "fish") if shell == "fish" else ()))
    assert done.returncode == 0, done.stderr
    run_by(shell, done.stdout, sick)
    assert sick.torch() == "2.13.0+cu130"
    assert sick.doctor("check", "--no-probe").returncode == 0


def test_what_no_line_can_hold_is_a_comment(patient: Make, index: Index) -> None:
    sick = patient()
    sick.install("torch==2.13.0", backend="cpu")
    odd = sick.env.parent / "two\nlines"
    odd.symlink_to(sick.env)
    argv = [sys.executable, "-m", "doctor", "fix", "--no-probe", "--print-commands", "--python", str(odd)]
    done = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout
    assert all(line.startswith("# ") for line in done.stdout.splitlines()), done.stdout


def test_a_shell_is_only_for_a_script(patient: Make) -> None:
    sick = patient()
    assert "--shell is for --print-commands" in sick.doctor("fix", "--shell", "cmd").stderr
    assert "--shell is for --print-commands" in install(sick, "--shell", "cmd").stderr


def started(patient: Patient, env: Path, index: Index, *, delay_s: float = 2.0) -> subprocess.Popen[str]:
    """An install at work in the middle: the environment is there, and its torch is being fetched."""
    index.delay_s = delay_s
    argv = [sys.executable, "-m", "doctor", "install", "--env", str(env), "--python", VERSION, "--run", "--yes"]
    process = subprocess.Popen(
        argv, env=patient.variables(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (env / ".torchdoctor").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return process


def killed(patient: Patient, env: Path, index: Index) -> None:
    process = started(patient, env, index)
    process.kill()
    process.communicate(timeout=30)
    index.delay_s = 0
    assert (env / "pyvenv.cfg").exists()


def stores(patient: Patient) -> list[Path]:
    return sorted((patient.root / "home").rglob("journal.jsonl"))


@pytest.mark.parametrize("named", [True, False], ids=["named", "not named"])
def test_undo_removes_what_a_killed_install_left(patient: Make, index: Index, named: bool) -> None:
    sick = patient()
    env = sick.root / "new one"
    killed(sick, env, index)
    options = ["--python", str(env)] if named else []
    argv = [sys.executable, "-m", "doctor", "fix", "--undo", *options]
    listed = subprocess.run(
        [*argv[:5], "list", *options], env=sick.variables(), capture_output=True, text=True, check=False
    )
    assert f": {env}" in listed.stderr
    done = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{env}, which the run of" in done.stderr
    assert not env.exists()
    assert stores(sick) == []
    again = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, check=False)
    assert again.returncode != 0


def test_a_second_install_removes_what_the_first_left(patient: Make, index: Index) -> None:
    sick = patient()
    env = sick.root / "new"
    killed(sick, env, index)
    argv = ("--env", str(env), "--python", VERSION)
    refused = install(sick, *argv)
    assert (refused.returncode, "left it half-made" in refused.stderr) == (2, True)
    done = install(sick, *argv, "--run", "--yes")
    assert done.returncode == 0, done.stderr
    assert f"{env} was left half-made by an interrupted run, and is removed first" in done.stderr
    assert version_in(env) == "2.15.0+cu130"
    assert stores(sick) == []
    assert not (env / ".torchdoctor").exists()


@pytest.mark.parametrize("way", ["undo", "install"])
def test_what_is_not_ours_is_never_removed(patient: Make, index: Index, way: str) -> None:
    sick = patient()
    env = sick.root / "new"

    def refuse(reason: str) -> None:
        if way == "undo":
            argv = [sys.executable, "-m", "doctor", "fix", "--undo", "--python", str(env)]
            done = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, check=False)
        else:
            done = install(sick, "--env", str(env), "--python", VERSION, "--run", "--yes")
        assert done.returncode == 1
        assert reason in done.stderr

    killed(sick, env, index)
    (env / "notes.txt").write_text("the user's")
    refuse("notes.txt in it was put there by somebody else")
    assert (env / "notes.txt").exists()
    (env / "notes.txt").unlink()
    real = sick.root / "precious"
    env.rename(real)
    env.symlink_to(real)
    refuse("it is no folder, or another one now")
    assert (real / "pyvenv.cfg").exists()
    env.unlink()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True, timeout=60)
    refuse("it is not the folder that the interrupted run made")
    assert (env / "pyvenv.cfg").exists()


def test_a_living_install_is_not_disturbed(patient: Make, index: Index) -> None:
    sick = patient()
    env = sick.root / "new"
    process = started(sick, env, index)
    argv = [sys.executable, "-m", "doctor", "fix", "--undo", "--python", str(env)]
    done = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, check=False)
    second = install(sick, "--env", str(env), "--python", VERSION, "--run", "--yes")
    index.delay_s = 0
    stderr = process.communicate(timeout=60)[1]
    assert "another torchdoctor" in done.stderr
    assert "another torchdoctor" in second.stderr
    assert process.returncode == 0, stderr
    assert version_in(env) == "2.15.0+cu130"


def test_how_to_use_it_is_said_once(patient: Make) -> None:
    sick = patient()
    done = install(sick, "--env", str(sick.root / "new"), "--python", VERSION, "--run", "--yes")
    assert done.stderr.count("bin/activate") == 2, done.stderr  # in the plan, and at the end
    assert f"Left to you: . {sick.root}/new/bin/activate" in done.stderr

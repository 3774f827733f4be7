"""Files of the machine that hang, are huge, or are no files: each is a gap with its reason, never a hang or a fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.facts import declared, kernels
from doctor.facts.notes import Notes
from doctor.facts.system import System, read_regular
from doctor.facts.target import find_target
from doctor.model.facts import Gap
from tests.hostile.doctor import TORCH, in_time, run
from tests.inside.test_collect import NONCE, read_answer
from tests.inside.test_collect import run as collect

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes of POSIX")


def fifo(path: Path) -> None:
    os.mkfifo(path)


def folder(path: Path) -> None:
    path.mkdir()


def huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(100 << 20)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path)


def garbage(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 300)


def empty(path: Path) -> None:
    path.touch()


def unreadable(path: Path) -> None:
    path.write_text("x = 1\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("root reads everything")


KINDS: dict[str, Callable[[Path], None]] = {
    "fifo": fifo, "folder": folder, "huge": huge, "device": device, "loop": loop, "garbage": garbage,
    "empty": empty, "unreadable": unreadable,
}  # fmt: skip


UNREAD = ("fifo", "folder", "device", "loop", "unreadable")


@pytest.mark.parametrize("kind", KINDS)
def test_reading_is_bounded(tmp_path: Path, kind: str) -> None:
    KINDS[kind](tmp_path / "x")
    started = time.monotonic()
    text = System(cwd="/").read(str(tmp_path / "x"), 4096)
    assert time.monotonic() - started < 1
    if kind in ("fifo", "folder", "device"):
        assert isinstance(text, Gap)
        assert text.detail == f"{tmp_path}/x: not a regular file"
    elif kind not in ("loop", "unreadable"):
        assert isinstance(text, str)
        assert len(text) <= 4096
    else:
        assert isinstance(text, Gap)


def test_what_is_read_is_never_more_than_the_limit(tmp_path: Path) -> None:
    huge(tmp_path / "x")
    assert len(read_regular(str(tmp_path / "x"), 1000)) == 1000


@pytest.mark.parametrize("kind", KINDS)
def test_a_kernelspec_that_is_none(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "kernels" / "odd"
    place.mkdir(parents=True)
    KINDS[kind](place / "kernel.json")
    system = System(environ={"JUPYTER_PATH": str(tmp_path)}, cwd=str(tmp_path))
    found = find_target(system, "kernel:odd")
    assert found.failure
    assert found.python is None


@pytest.mark.parametrize("text", [
    "[" * 100000, '{"argv": ' + "[" * 900 + "]" * 900 + "}", '{"argv": "python"}', '{"argv": []}', '{"argv": [5]}',
    '{"argv": ["/x/python\\u0000", "-m", "x"]}', '{"argv": ["/x/python"], "env": {"A=B": "c"}}', "5", "null", "",
    '{"argv": ["/x/python"], "env": {"A": "\\u0000"}, "display_name": []}', '{"argv": ["/x/python"], "env": 7}',
    '{"argv": ["/x/python"], "env": {"": "x", "B": "${A}"}}',
])  # fmt: skip
def test_a_kernelspec_that_says_odd_things(tmp_path: Path, text: str) -> None:
    place = tmp_path / "kernels" / "odd"
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(text)
    system = System(environ={"JUPYTER_PATH": str(tmp_path)}, cwd=str(tmp_path))
    (spec,) = [s for s in kernels.kernelspecs(system) if s.name == "odd"]
    assert spec.python or spec.problem
    assert all("\0" not in value and name and "=" not in name for name, value in spec.environ.items())
    assert "\0" not in (spec.python or "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["METADATA", "RECORD", "WHEEL", "INSTALLER", "version.py"])
def test_odd_files_of_an_installed_torch(tmp_path: Path, kind: str, name: str) -> None:
    """The version is in the folder's name, the rest is not known; nothing hangs, and what was not read is told."""
    site = tmp_path / "site-packages"
    info = site / "torch-2.6.0.dist-info"
    (site / "torch").mkdir(parents=True)
    (site / "torch" / "__init__.py").touch()
    info.mkdir()
    KINDS[kind]((site / "torch" if name == "version.py" else info) / name)
    started = time.monotonic()
    answer = read_answer(collect(sys.executable, tmp_path, PYTHONPATH=str(site)).stdout, NONCE)
    assert time.monotonic() - started < 5
    assert answer
    assert answer["torch"]["version"] == "2.6.0"
    assert (name in answer["gaps"].get("torch", "")) == (kind in UNREAD)


def test_a_folder_that_cannot_be_listed_is_no_absence(tmp_path: Path) -> None:
    """Without descriptors nothing can be listed: then nobody knows whether torch is there."""
    text = """
import os, json, re, sysconfig
def listdir(path="."): raise OSError(24, "Too many open files")
os.listdir = listdir
"""
    answer = read_answer(collect(sys.executable, tmp_path, before=text).stdout, NONCE)
    assert answer
    assert "torch" in answer["gaps"]


@pytest.mark.parametrize("receipt", [
    '[tool]\nrequirements = [{ name = "a\\U0001F600" }]\n', '[tool]\nrequirements = [{ name = "\\q" }]\n',
    '[tool]\nrequirements = [{ name = "\\UFFFFFFFF" }]\n', "[[[[[[[", '[tool]\npython = 3\n', "\\U", '[tool]\nx = "',
])  # fmt: skip
def test_odd_receipts_of_uv(tmp_path: Path, receipt: str) -> None:
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    (tmp_path / "pyvenv.cfg").write_text("home = /x\n")
    before = f"import sys; sys.prefix = {str(tmp_path)!r}"
    answer = read_answer(collect(sys.executable, tmp_path, before=before).stdout, NONCE)
    assert answer
    assert answer["environment"] == "uv-tool"
    assert answer["receipt"] is None or isinstance(answer["receipt"], list)


@pytest.mark.parametrize("kind", KINDS)
def test_a_receipt_of_uv_that_is_none(tmp_path: Path, kind: str) -> None:
    """Its packages are not known then; that uv made the environment is told by where the file stands."""
    KINDS[kind](tmp_path / "uv-receipt.toml")
    (tmp_path / "pyvenv.cfg").write_text("home = /x\n")
    before = f"import sys; sys.prefix = {str(tmp_path)!r}"
    started = time.monotonic()
    answer = read_answer(collect(sys.executable, tmp_path, before=before).stdout, NONCE)
    assert time.monotonic() - started < 5
    assert answer
    assert not answer["receipt"]
    assert answer["environment"] in ("uv-tool", "venv")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.txt"])
def test_a_project_file_that_is_none(tmp_path: Path, kind: str, name: str) -> None:
    """Nothing is declared by it, nothing hangs, and a file that could not be read is a gap."""
    KINDS[kind](tmp_path / name)
    notes, system = Notes(), System(environ={}, cwd=str(tmp_path))
    started = time.monotonic()
    declared.collect(system, notes)
    assert time.monotonic() - started < 5
    assert notes.get(declared.FACT) == (None if kind in UNREAD else ())
    assert [gap.fact for gap in notes.gaps] == ([declared.FACT] if kind in UNREAD else [])


def environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=60)
    return folder


def test_a_pipe_in_the_place_of_pyvenv_cfg(tmp_path: Path) -> None:
    """The target's own Python hangs then: that is said, within the limit."""
    venv = environment(tmp_path / "env")
    (venv / "pyvenv.cfg").unlink()
    fifo(venv / "pyvenv.cfg")
    ran = run(tmp_path, "--timeout", "2", "--time-limit", "4", python=str(venv / "bin" / "python"))
    assert in_time(ran.seconds, 4)
    assert ran.code in (1, 3)
    assert ran.left == ()


def test_a_pipe_in_the_place_of_metadata_breaks_nothing(tmp_path: Path) -> None:
    venv = environment(tmp_path / "env")
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text(TORCH)
    (site / "torch-9.9.0.dist-info").mkdir()
    fifo(site / "torch-9.9.0.dist-info" / "METADATA")
    ran = run(tmp_path, "--timeout", "5", "--no-probe", python=str(venv / "bin" / "python"))
    assert ran.code in (0, 1, 3)
    assert ran.report
    assert "interpreter-broken" not in ran.found
    assert ran.report["facts"]["torch"]["version"] == "9.9.0"
    assert "not a regular file" in json.dumps(ran.gaps)

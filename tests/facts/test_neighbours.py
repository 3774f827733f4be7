"""Other environments near the target."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from doctor.facts import neighbours
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.model.facts import ABSENT, OtherEnvironment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX layouts")


def environment(folder: Path, torch: str | None = None) -> Path:
    python = folder / "bin" / "python"
    site = folder / "lib" / "python3.11" / "site-packages"
    python.parent.mkdir(parents=True)
    site.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    if torch:
        (site / "torch").mkdir()
        (site / "torch" / "version.py").write_text(f"__version__ = '{torch}'\n")
    return folder


def others(
    tmp_path: Path, target: Path, own_prefix: Path | None = None, **environ: str
) -> tuple[OtherEnvironment, ...]:
    notes = Notes()
    notes.set("interpreter.prefix", str(target))
    (tmp_path / "work").mkdir(exist_ok=True)
    own = str(own_prefix) if own_prefix else None
    neighbours.collect(System(environ=environ, cwd=str(tmp_path / "work"), own_prefix=own), notes)
    return notes.get("interpreter.others")


def test_pip_of_another_python(tmp_path: Path) -> None:
    target, other = environment(tmp_path / "target"), environment(tmp_path / "other", "2.6.0")
    pip = other / "bin" / "pip"
    pip.write_text(f"#!{other}/bin/python\nimport sys\n")
    pip.chmod(0o755)
    (one,) = others(tmp_path, target, PATH=str(other / "bin"))
    assert (one.python, one.torch, one.version, one.how) == (str(other / "bin/python"), "2.6.0", "3.11", "pip on PATH")


def test_a_long_shebang(tmp_path: Path) -> None:
    target, other = environment(tmp_path / "target"), environment(tmp_path / "other")
    pip = other / "bin" / "pip3"
    pip.write_text(f"#!/bin/sh\n'''exec' \"{other}/bin/python\" \"$0\" \"$@\"\n' '''\n")
    pip.chmod(0o755)
    (one,) = others(tmp_path, target, PATH=str(other / "bin"))
    assert (one.python, one.torch) == (str(other / "bin/python"), ABSENT)


def test_the_local_environment_and_a_kernel(tmp_path: Path) -> None:
    target = environment(tmp_path / "target", "2.5.0")
    environment(tmp_path / "work/.venv", "2.4.0")
    kernel = environment(tmp_path / "kernel", "2.3.0")
    folder = tmp_path / ".local/share/jupyter/kernels/ml"
    folder.mkdir(parents=True)
    said = {"argv": [str(kernel / "bin/python"), "-m", "ipykernel"], "display_name": "ML"}
    (folder / "kernel.json").write_text(json.dumps(said))
    found = others(tmp_path, target, HOME=str(tmp_path), VIRTUAL_ENV=str(target))
    assert [(one.torch, one.how) for one in found] == [
        ("2.4.0", ".venv of this folder"),
        ("2.3.0", 'the Jupyter kernel "ML"'),
    ]
    assert [one.kernel for one in found] == [None, "ML"]


def test_a_kernel_that_another_way_finds_first(tmp_path: Path) -> None:
    target, other = environment(tmp_path / "target"), environment(tmp_path / "other", "2.6.0")
    folder = tmp_path / "jupyter/kernels/ml"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps({"argv": [f"{other}/bin/python3", "-m", "ipykernel"]}))
    environ = {"VIRTUAL_ENV": str(other), "JUPYTER_PATH": str(tmp_path / "jupyter")}
    (one,) = others(tmp_path, target, **environ)
    assert (one.how, one.kernel) == ("VIRTUAL_ENV is set to it", "ml")


def test_the_doctors_own_environment_is_a_neighbour_if_it_has_torch(tmp_path: Path) -> None:
    target, own = environment(tmp_path / "target"), environment(tmp_path / "own", "2.6.0")
    assert [one.torch for one in others(tmp_path, target, own_prefix=own, PATH=str(own / "bin"))] == ["2.6.0"]
    (own / "lib/python3.11/site-packages/torch/version.py").unlink()
    assert others(tmp_path, target, own_prefix=own, PATH=str(own / "bin")) == ()


def test_a_broken_kernel_file_is_passed_over(tmp_path: Path) -> None:
    target = environment(tmp_path / "target")
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"argv": []}'), ("d", '{"argv": ["python"]}')):
        folder = tmp_path / ".local/share/jupyter/kernels" / name
        folder.mkdir(parents=True)
        (folder / "kernel.json").write_text(text)
    assert others(tmp_path, target, HOME=str(tmp_path)) == ()

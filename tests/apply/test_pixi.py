"""pixi's workspace, in the copy that shows the edit.

pixi is in none of the registries that the tests use: a script stands for it, which writes down how it was called. What
real pixi does with the edited manifest is not tested here.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.apply.project import preview
from doctor.apply.run import select
from doctor.facts.system import System
from doctor.fixes.plan import plan
from doctor.fixes.situation import situation_of
from doctor.fixes.torch import nearest_fix
from doctor.knowledge.choose import Nearest
from doctor.model.facts import Facts
from doctor.model.fix import Plan
from tests.examples import linux, with_amd, with_nvidia, with_torch
from tests.fixes.situations import finding

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a shell script stands for pixi")

PIXI = """#!/bin/sh
echo "$@" >> {calls}
"""
WORKSPACE = """[workspace]
name = "ml"  # a comment that stays
channels = ["conda-forge"]
platforms = ["linux-64"]

[dependencies]
python = "3.12.*"
"""


def planned(folder: Path, facts: Facts) -> Plan:
    (folder / "pixi.toml").write_text(WORKSPACE)
    project = str(folder / "pixi.toml")
    interpreter = replace(facts.interpreter, environment="pixi", manager="pixi", project=project)
    made = plan([finding("torch-cpu-only", "reinstall-torch")], replace(facts, interpreter=interpreter))
    assert select(made).run == made, "nothing of it is left to the user"
    return made


def previewed(folder: Path, made: Plan) -> tuple[str, list[str]]:
    """The diff, and how pixi was called."""
    bin = folder / "bin"
    bin.mkdir()
    (bin / "pixi").write_text(PIXI.format(calls=folder / "calls"))
    (bin / "pixi").chmod(0o755)
    environ = {"PATH": f"{bin}:/usr/bin:/bin"}
    files = (str(folder / "pixi.toml"), str(folder / "pixi.lock"))
    shown = preview(System(environ=environ, cwd="/"), select(made).steps, files, environ)
    assert shown.resolution.ok
    assert (folder / "pixi.toml").read_text() == WORKSPACE, "only the copy was edited"
    return shown.diff, (folder / "calls").read_text().splitlines()


def test_cuda_from_conda_forge(tmp_path: Path) -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="580.95.05"), "2.9.1", installer="conda")
    diff, calls = previewed(tmp_path, planned(tmp_path, facts))
    assert '+[system-requirements]\n+cuda = "13"\n' in diff
    assert len(calls) == 1
    assert calls[0].startswith("add --manifest-path /")
    assert re.search(r"/pixi\.toml pytorch-gpu cuda-version=13\.\d+ --no-install$", calls[0])
    assert not calls[0].startswith(f"add --manifest-path {tmp_path}")


def test_rocm_from_its_own_index(tmp_path: Path) -> None:
    facts = with_torch(with_amd(linux(), "AMD Instinct MI300X"), "2.9.1", installer="conda")
    diff, calls = previewed(tmp_path, planned(tmp_path, facts))
    assert "+[pypi-dependencies]\n+torch = { version = " in diff
    assert 'index = "https://download.pytorch.org/whl/rocm' in diff
    assert [call.split()[0] for call in calls] == ["lock"], "an environment in the copy would be downloaded"


def test_conda_forges_build_alone(tmp_path: Path) -> None:
    """For what wheels do not serve: the workspace is named, or the command would be for that of the working folder."""
    facts = linux()
    interpreter = replace(facts.interpreter, manager="pixi", project=str(tmp_path / "pixi.toml"))
    situation = situation_of(replace(facts, interpreter=interpreter))
    near = Nearest(kind="conda-forge", text="x", details={"package": "pytorch-gpu", "cuda": "12.9"})
    made = nearest_fix(situation, "x", near)
    assert made is not None
    argv = ("pixi", "add", "--manifest-path", str(tmp_path / "pixi.toml"), "pytorch-gpu", "cuda-version=12.9")
    assert [step.argv for step in made.steps] == [argv]


def test_in_a_pyproject_the_tables_are_pixis_own(tmp_path: Path) -> None:
    facts = with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="580.95.05")
    interpreter = replace(
        facts.interpreter, environment="pixi", manager="pixi", project="/home/u/ml/pyproject.toml", prefix="/home/u/e"
    )
    made = plan([finding("torch-missing", "install-torch")], replace(facts, interpreter=interpreter))
    edits = [step.edit for fix in made.fixes for step in fix.steps if step.edit]
    assert [edit.toml for edit in edits] == ['[tool.pixi.system-requirements]\ncuda = "13"']

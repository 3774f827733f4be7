"""Environments that lie outside of their projects. The names are those that poetry 2.5, PDM 2.29, Hatch 1.18 gave."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.projects import project_of
from doctor.facts.system import System
from doctor.fixes.tools import tool

# `poetry env info --path` and `pdm venv list` in /home/u/ml/demo.
POETRY = "/home/u/.cache/pypoetry/virtualenvs/demo-jGLQC8Bt-py3.12"
HATCH = "/home/u/.local/share/hatch/env/virtual/demo/jGLQC8Bt/demo"  # `hatch env find`, of Hatch 1.18
PDM = "/home/u/.local/share/pdm/venvs/demo-laEpuGV6-3.12"


def standing_in(root: Path, folder: str) -> System:
    project = root / "home/u/ml/demo"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").write_text("[project]\n")
    return System(root=str(root), environ={}, cwd=folder)


@pytest.mark.parametrize(("manager", "prefix"), [("poetry", POETRY), ("pdm", PDM), ("hatch", HATCH)])
@pytest.mark.parametrize("folder", ["/home/u/ml/demo", "/home/u/ml/demo/src"])
def test_the_project_that_we_stand_in(tmp_path: Path, manager: str, prefix: str, folder: str) -> None:
    assert project_of(standing_in(tmp_path, folder), prefix, tool(manager)) == "/home/u/ml/demo/pyproject.toml"


@pytest.mark.parametrize(("manager", "prefix"), [("poetry", POETRY), ("pdm", PDM), ("hatch", HATCH)])
def test_another_project_is_not_taken_for_it(tmp_path: Path, manager: str, prefix: str) -> None:
    system = standing_in(tmp_path, "/home/u/other")
    (tmp_path / "home/u/other").mkdir()
    (tmp_path / "home/u/other/pyproject.toml").write_text("[project]\n")
    assert project_of(system, prefix, tool(manager)) is None

"""Environments that a project's file manages: the tool edits the file, which is shown before and put back with the
rest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import UV, Patient, tool
from tests.index.server import Index

Make = Callable[..., Patient]


def needs(name: str) -> pytest.MarkDecorator:
    reason = f"{name} is not there: scripts/test makes an environment with it (TORCHDOCTOR_TEST_TOOLS names its bin)"
    return pytest.mark.skipif(tool(name) is None, reason=reason)


needs_poetry, needs_pdm = needs("poetry"), needs("pdm")

PYPROJECT = """[project]
name = "demo"  # a comment that stays
version = "0.1.0"
requires-python = ">=3.10,<4"
dependencies = ["torch==2.13.0"]

[[tool.uv.index]]
name = "mirror"
url = "{url}/whl/cpu"
default = true
"""


def uv_project(patient: Make, index: Index) -> Patient:
    sick = patient(machine="linux-two-gpus")
    project = sick.env.parent
    (project / "pyproject.toml").write_text(PYPROJECT.format(url=index.url))
    sick.set(UV_DEFAULT_INDEX=f"{index.url}/whl/cpu", UV_NO_CONFIG="0", STUB_CAPABILITY="6.1")
    variables = {**sick.variables(), "UV_CACHE_DIR": str(sick.root.parent / "cache")}
    assert UV is not None
    subprocess.run([UV, "sync", "-q", "--project", str(project)], env=variables, check=True, timeout=60)
    assert sick.torch() == "2.13.0+cpu"
    return sick


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_uv_project(patient: Make, index: Index) -> None:
    sick = uv_project(patient, index)
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert f'+url = "{index.url}/whl/cu126"' in done.stderr
    assert "uv.lock: changed" in done.stderr
    edited = files_of(sick.env.parent)
    assert "# a comment that stays" in edited["pyproject.toml"]
    assert edited["uv.lock"] != files["uv.lock"]
    assert sick.torch() == "2.13.0+cu126"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


def test_a_uv_project_that_is_not_cured_gets_its_files_back(patient: Make, index: Index) -> None:
    sick = uv_project(patient, index)
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix("--pytorch-index", f"{index.url}/empty")
    assert done.returncode == 1
    assert "not cured: torch-cpu-only is still found" in done.stderr
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


def test_a_uv_project_whose_index_is_gone_is_not_touched(patient: Make, index: Index) -> None:
    sick = uv_project(patient, index)
    before, files = sick.content(), files_of(sick.env.parent)
    index.close()
    done = sick.fix()
    assert done.returncode == 1
    assert "nothing was changed: the package index could not be reached" in done.stderr
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


POETRY = """[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.10,<4"
dependencies = ["torch (==2.13.0)"]

[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "mirror"
url = "{url}/whl/cpu"
priority = "primary"

[[tool.poetry.source]]
name = "rest"
url = "{url}/whl/cu126"
priority = "supplemental"
"""


def of_poetry(patient: Make, pyproject: str, **options: str) -> Patient:
    sick = patient(**options)
    sick.make_project("poetry", pyproject)
    return sick


@needs_poetry
def test_a_poetry_project(patient: Make, index: Index) -> None:
    sick = of_poetry(patient, POETRY.format(url=index.url), machine="linux-two-gpus")
    sick.set(STUB_CAPABILITY="6.1")
    assert sick.torch() == "2.13.0+cpu"
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert '+priority = "explicit"' in done.stderr
    assert sick.torch() == "2.13.0+cu126"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


PDM = """[project]
name = "demo"  # a comment that stays
version = "0.1.0"
requires-python = ">=3.10"
dependencies = [{dependencies}]

[tool.pdm]
distribution = false

[[tool.pdm.source]]
name = "pypi"
url = "{url}/whl/{backend}"

[tool.other]
left = "alone"
"""


def of_pdm(patient: Make, index: Index, dependencies: str, backend: str, **options: str) -> Patient:
    sick = patient(**options)
    sick.make_project("pdm", PDM.format(url=index.url, dependencies=dependencies, backend=backend))
    return sick


@needs_pdm
def test_a_pdm_project(patient: Make, index: Index) -> None:
    sick = of_pdm(patient, index, '"torch==2.13.0"', "cpu", machine="linux-two-gpus")
    sick.set(STUB_CAPABILITY="6.1")
    assert sick.torch() == "2.13.0+cpu"
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert "+[[tool.pdm.source]]" in done.stderr
    assert "pdm.lock: changed" in done.stderr
    edited = files_of(sick.env.parent)["pyproject.toml"]
    assert "# a comment that stays" in edited
    assert f'url = "{index.url}/whl/cu126"\ninclude_packages = ["torch"]\n\n[tool.other]' in edited
    assert sick.torch() == "2.13.0+cu126"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


@needs_pdm
def test_a_pdm_project_whose_source_lacks_torch_is_not_touched(patient: Make, index: Index) -> None:
    sick = of_pdm(patient, index, '"torch==2.13.0"', "cpu", machine="linux-two-gpus")
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix("--pytorch-index", f"{index.url}/empty")
    assert done.returncode == 1
    assert "nothing was changed: the plan does not resolve" in done.stderr
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)

"""Environments that a project's file manages: the tool edits the file, which is shown before and put back with the
rest."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import UV, Patient, tool
from tests.index.scenarios import POETRY, SCENARIOS
from tests.index.server import Index
from tests.sample import drawn

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


def without_torch(sick: Patient) -> Patient:
    assert UV is not None
    subprocess.run([UV, "pip", "uninstall", "-q", "--python", str(sick.env), "torch"], check=True, timeout=60)
    return sick


def test_a_uv_project_that_was_not_synchronised(patient: Make, index: Index) -> None:
    pyproject = PYPROJECT.format(url=index.url).replace("/whl/cpu", "/whl/cu130")
    sick = without_torch(of_uv(patient, pyproject))
    before, files = sick.content(), files_of(sick.env.parent)
    assert "pyproject.toml asks for it" in " ".join(sick.doctor("check", "--no-probe").stdout.split())
    sync = f"uv sync --project {sick.env.parent} --inexact\n"
    assert sync in sick.doctor("fix", "--print-commands").stdout
    done = sick.fix()
    assert (done.returncode, sick.torch()) == (0, "2.13.0+cu130"), done.stderr
    assert files_of(sick.env.parent) == files
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


def test_a_uv_project_that_asks_for_a_build_that_is_wrong_here(patient: Make, index: Index) -> None:
    sick = without_torch(uv_project(patient, index))
    before = sick.content()
    done = sick.fix()
    assert done.returncode == 1
    assert "worse: torch-cpu-only is found now" in done.stderr
    assert sick.content() == before


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


def of_poetry(patient: Make, pyproject: str, **options: str) -> Patient:
    sick = patient(**options)
    sick.make_project("poetry", pyproject)
    return sick


@needs_poetry
def test_a_poetry_project(patient: Make, index: Index) -> None:
    project = POETRY.format(dependencies='"torch (==2.13.0)"', url=index.url, backend="cpu", rest="cu126")
    sick = of_poetry(patient, project, machine="linux-two-gpus")
    sick.set(STUB_CAPABILITY="6.1")
    assert sick.torch() == "2.13.0+cpu"
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert '+priority = "explicit"' in done.stderr
    assert sick.torch() == "2.13.0+cu126"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


OLD_POETRY = """[tool.poetry]
name = "demo"
version = "0.1.0"
description = ""
authors = []
package-mode = false

[tool.poetry.dependencies]
python = "{python}"
{torch}

[[tool.poetry.source]]
name = "mirror"
url = "{url}/whl/cu130"
priority = "primary"

[[tool.poetry.source]]
name = "pytorch-cpu"
url = "{url}/whl/cpu"
priority = "explicit"
"""
CPU_TORCH = 'torch = {version = "2.13.0", source = "pytorch-cpu"}'


@needs_poetry
def test_an_old_poetry_project_with_a_stale_lock_file(patient: Make, index: Index) -> None:
    """Without a [project] table; its file was changed since it was locked. The source of the CPU build stays in it."""
    sick = of_poetry(patient, OLD_POETRY.format(url=index.url, python="^3.10", torch=CPU_TORCH))
    file = sick.env.parent / "pyproject.toml"
    file.write_text(file.read_text().replace('"2.13.0", source', '">=2.12", source'))
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert '+torch = {version = "2.13.0", source = "pytorch-cu130"}' in done.stderr
    assert "  torch: 2.13.0+cpu -> 2.13.0+cu130\n" in done.stderr
    assert sick.torch() == "2.13.0+cu130"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


@needs_poetry
def test_a_poetry_environment_outside_of_its_project(patient: Make, index: Index) -> None:
    """In poetry's own folder, whose name has the project's path in it: known where we stand in the project."""
    sick = patient()
    pyproject = OLD_POETRY.format(url=index.url, python="^3.10", torch=CPU_TORCH)
    sick.make_project("poetry", pyproject, in_project=False)
    assert "/pypoetry/virtualenvs/" in str(sick.env)
    project = sick.root / "work"
    sick.stand_in(sick.root)
    elsewhere = sick.fix()
    assert elsewhere.returncode == 1
    assert "Run this in the project's folder, or use --tool pip" in elsewhere.stderr
    sick.stand_in(project)
    before, files = sick.content(), files_of(project)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert sick.torch() == "2.13.0+cu130"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(project)) == (before, files)


@pytest.mark.parametrize("manager", drawn(1, ["poetry", "pdm"], "gone"))
def test_a_project_whose_index_is_gone(patient: Make, index: Index, manager: str) -> None:
    if tool(manager) is None:
        pytest.skip(f"{manager} is not there")
    sick = patient()
    SCENARIOS[0].make(sick, manager)
    before, files = sick.content(), files_of(sick.env.parent)
    index.close()
    done = sick.fix()
    assert done.returncode == 1
    said = done.stderr.partition("nothing was changed: the package index could not be reached (")[2]
    assert "onnect" in said.partition("). Check the network and the proxy")[0]
    assert len(said.splitlines()) == 1
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)


@needs_pdm
@pytest.mark.slow
def test_pdm_waits_no_longer_for_an_index_that_says_nothing(patient: Make, index: Index) -> None:
    """By itself it waits as long as the connection stands."""
    sick = patient()
    SCENARIOS[0].make(sick, "pdm")
    index.silent = True
    started = time.monotonic()
    done = sick.fix()
    index.over.set()
    assert "the package index could not be reached (no answer after 13 s)" in done.stderr
    assert time.monotonic() - started < 40  # the index lets go after 60 s


def test_pipenv_is_left_to_the_user(patient: Make) -> None:
    """It cannot be told which project is meant, so no snapshot would hold its Pipfile."""
    sick = patient()
    (sick.root / "bin" / "pipenv").write_text("#!/bin/sh\nexit 0\n")
    (sick.root / "bin" / "pipenv").chmod(0o755)
    done = sick.fix("--tool", "pipenv")
    assert done.returncode == 1
    assert "nothing was changed: the project that manages this environment is not known" in done.stderr


WIDE_UV = """[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.8"
dependencies = []

[[tool.uv.index]]
name = "mirror"
url = "{url}/whl/cu130"
default = true
"""


def of_uv(patient: Make, pyproject: str) -> Patient:
    sick = patient()
    (sick.env.parent / "pyproject.toml").write_text(pyproject)
    sick.set(UV_NO_CONFIG="0")
    assert UV is not None
    argv = [UV, "sync", "-q", "--project", str(sick.env.parent)]
    subprocess.run(argv, env=sick.variables(), check=True, timeout=60)
    return sick


@pytest.mark.parametrize("manager", drawn(1, ["uv", "poetry", "pdm"], "no Python"))
def test_a_project_for_pythons_that_torch_is_not_made_for(patient: Make, index: Index, manager: str) -> None:
    if manager != "uv" and tool(manager) is None:
        pytest.skip(f"{manager} is not there")
    if manager == "uv":
        sick = of_uv(patient, WIDE_UV.format(url=index.url))
    elif manager == "poetry":
        sick = of_poetry(patient, OLD_POETRY.format(url=index.url, python=">=3.8", torch=""))
    else:
        pyproject = PDM.format(url=index.url, dependencies="", backend="cu130")
        sick = patient()
        sick.make_project("pdm", pyproject.replace(">=3.10", ">=3.8"))
    before, files = sick.content(), files_of(sick.env.parent)
    done = sick.fix()
    assert done.returncode == 1
    said = done.stderr.partition("nothing was changed: the plan does not resolve.\n")[2]
    assert ">=3.10" in said or "cp38" in said, "the tool's own reason"
    assert f"Narrow the range in {sick.env.parent / 'pyproject.toml'}" in said
    assert "site-packages" not in said, "not the tool's own source"
    assert len(said.splitlines()) < 15
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


HATCH = """[project]
name = "demo"
version = "0.1.0"
dependencies = ["torch>=2.13"]  # a comment that stays

[tool.hatch.envs.default]
installer = "{installer}"
skip-install = true
dependencies = ["torchvision"]
"""


@needs("hatch")
@pytest.mark.parametrize("installer", drawn(1, ["pip", "uv"], "hatch"))
def test_an_environment_of_hatch(patient: Make, index: Index, installer: str) -> None:
    """Its table gets the index and the version; Hatch finds nothing to do after that, and makes the same again."""
    sick = patient()
    project, data = sick.env.parent, sick.root / "hatch"
    (project / "pyproject.toml").write_text(HATCH.format(installer=installer))
    sick.environ["HATCH_DATA_DIR"] = str(data)
    sick.stand_in(project)
    variables = {**os.environ, **sick.environ, "PIP_CONFIG_FILE": os.devnull, "HATCH_ENV_TYPE_VIRTUAL_UV_PATH": "",
                 "UV_CACHE_DIR": str(data / "cache"), "UV_NO_CONFIG": "1", "HOME": str(data)}  # fmt: skip
    variables |= dict.fromkeys(("PIP_INDEX_URL", "UV_DEFAULT_INDEX"), f"{index.url}/whl/cpu")
    if installer == "uv":
        variables["HATCH_ENV_TYPE_VIRTUAL_UV_PATH"] = str(UV)

    def run(*words: str) -> str:
        argv = [str(tool("hatch")), *words]
        done = subprocess.run(
            argv, cwd=project, env=variables, capture_output=True, text=True, timeout=120, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def seen_by_hatch() -> str:
        return run("run", "python", "-c", "import torch; print(torch.__version__)").splitlines()[-1]

    shutil.rmtree(sick.env)
    run("env", "create")
    sick.env = Path(run("env", "find"))
    assert (sick.env.name, sick.torch()) == ("demo", "2.13.0+cpu")
    before, files = sick.content(), files_of(project)
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert f'+{"UV_INDEX" if installer == "uv" else "PIP_EXTRA_INDEX_URL"} = "{index.url}/whl/cu130"' in done.stderr
    assert "# a comment that stays" in files_of(project)["pyproject.toml"]
    assert sick.torch() == "2.13.0+cu130"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert (sick.content(), files_of(project)) == (before, files)
    assert sick.fix().returncode == 0
    cured = sick.content()
    assert seen_by_hatch() == "2.13.0+cu130"
    assert sick.content() == cured, "Hatch is content with what is there"
    run("env", "remove")
    assert seen_by_hatch() == "2.13.0+cu130"

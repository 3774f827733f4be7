"""The words of each tool for the same order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fixes.plan import plan, script
from doctor.fixes.quoting import comment
from doctor.fixes.situation import situation_of
from doctor.model.facts import ABSENT, Facts
from tests.examples import linux, with_amd, with_nvidia, with_packages, with_torch
from tests.fixes.situations import finding

PY = "/home/u/ml/.venv/bin/python"
WHL = "https://download.pytorch.org/whl/"


def lines(facts: Facts, tool: str | None = None, remedy: object = "reinstall-torch") -> list[str]:
    return script(plan([finding("torch-cpu-only", remedy)], facts, tool)).splitlines()  # type: ignore[arg-type]


def old_card() -> Facts:
    """A GTX 1080: cu126 has an index of its own that uv knows."""
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="580.95.05"), "2.14.1+cpu")
    return with_packages(facts, torchvision="0.29.1")


EXPECTED = {
    "pip": [
        f"{PY} -m pip uninstall -y torch torchvision",
        f"{PY} -m pip install torch==2.14.1 torchvision==0.29.1 --index-url {WHL}cu126",
    ],
    "uv": [
        f"uv pip install --python {PY} --reinstall-package torch --reinstall-package torchvision "
        "torch==2.14.1 torchvision==0.29.1 --torch-backend=cu126",
    ],
    "conda": ["conda install -c conda-forge pytorch-gpu cuda-version=12.9 torchvision"],
    "mamba": ["mamba install -c conda-forge pytorch-gpu cuda-version=12.9 torchvision"],
    "pixi": [
        *comment(
            "Let the workspace count on a driver with CUDA. Write into pixi.toml:\n"
            '[system-requirements]\ncuda = "12"'
        ),
        "pixi add pytorch-gpu cuda-version=12.9 torchvision",
    ],
    "poetry": [
        f"poetry source add --priority=explicit pytorch-cu126 {WHL}cu126",
        f"{PY} -m pip uninstall -y torch torchvision",
        "poetry add torch==2.14.1 torchvision==0.29.1 --source pytorch-cu126",
    ],
    "pdm": [
        *comment(
            "Name the index of that build «pytorch» in the project. Write into pyproject.toml:\n"
            f'[[tool.pdm.source]]\nname = "pytorch"\nurl = "{WHL}cu126"\n'
            'include_packages = ["torch", "torchvision"]'
        ),
        f"{PY} -m pip uninstall -y torch torchvision",
        "pdm add torch==2.14.1 torchvision==0.29.1",
    ],
    "pipenv": [f"pipenv install torch==2.14.1 torchvision==0.29.1 --index {WHL}cu126"],
}


@pytest.mark.parametrize("tool", EXPECTED)
def test_the_same_build_in_every_tool(tool: str) -> None:
    assert lines(old_card(), tool) == EXPECTED[tool]


def test_uv_gets_the_index_itself_where_it_does_not_know_the_backend() -> None:
    facts = with_torch(with_amd(linux(), "AMD Radeon 8060S"), "2.14.1+cpu")
    assert lines(facts, "uv")[-1].endswith(f"torch==2.14.1 --index-url {WHL}rocm7.14")


def test_in_a_uv_project_the_project_gets_it() -> None:
    """What is only installed would be undone by the next `uv sync`."""
    facts = old_card()
    interpreter = replace(facts.interpreter, manager="uv", project="/home/u/ml/pyproject.toml")
    assert lines(replace(facts, interpreter=interpreter)) == [
        "uv add --project /home/u/ml --upgrade-package torch --upgrade-package torchvision "
        "--reinstall-package torch --reinstall-package torchvision "
        f"torch==2.14.1 torchvision==0.29.1 --index pytorch-cu126={WHL}cu126"
    ]


def test_conda_cannot_give_an_exact_version() -> None:
    """conda-forge's versions are not in the tables: what wants one gets it by pip, in that environment."""
    made = lines(old_card(), "conda", ("reinstall-torch", {"torch": "==2.6.*"}))
    assert made[-1] == f"{PY} -m pip install torch==2.6.0 torchvision==0.21.0"


def test_rocm_in_a_conda_environment_comes_by_pip_after_conda_let_go() -> None:
    facts = with_torch(with_amd(linux(), "AMD Instinct MI100"), "2.14.1", installer="conda")
    interpreter = replace(facts.interpreter, manager="conda", environment="conda", prefix="/opt/conda/envs/ml")
    made = lines(replace(facts, interpreter=interpreter))
    assert made[0] == "conda remove -p /opt/conda/envs/ml pytorch"
    assert "rocm7" in made[-1]


@pytest.mark.parametrize(
    ("environment", "manager", "installer", "tool"),
    [
        ("venv", "pip", "pip", "pip"),
        ("venv", "uv", "uv", "uv"),
        ("venv", None, None, "pip"),
        ("conda", "conda", "conda", "conda"),
        ("conda", "conda", "pip", "pip"),
        ("conda", "conda", None, "conda"),
        ("pixi", "pixi", "uv", "pixi"),
        ("venv", "poetry", "pip", "poetry"),
        ("uv-tool", None, None, "uv"),
        ("system", "pipx", "pip", "pip"),
    ],
)
def test_the_tool_is_that_of_the_environment(
    environment: str, manager: str | None, installer: str | None, tool: str
) -> None:
    facts = linux()
    facts = replace(facts, interpreter=replace(facts.interpreter, environment=environment, manager=manager))
    facts = with_torch(facts, "2.6.0", installer=installer) if installer else replace(facts, torch=ABSENT)
    assert situation_of(facts).tool == tool
    assert situation_of(facts, "pixi").tool == "pixi"


def test_a_companion_comes_from_the_index_of_its_torch() -> None:
    facts = with_packages(with_torch(linux(), "2.6.0+cu118"), torchvision="0.20.0")
    made = lines(facts, None, ("reinstall-package", {"package": "torchvision"}))
    assert made[-1] == f"{PY} -m pip install torchvision==0.21.0 --index-url {WHL}cu118"

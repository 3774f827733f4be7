"""Which projects bring torch without being asked for more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.formats.projects import asks_for_torch

ASKS = {
    "uv": [
        '[project]\ndependencies = [\n  "numpy",  # not "torch"\n  "torch>=2,<3",\n]',
        '[dependency-groups]\ndev = ["torch"]',
        '[dependency-groups]\ngpu = ["torch"]\n[tool.uv]\ndefault-groups = "all"',
        '[tool.uv]\ndev-dependencies = ["torch==2.13.0"]',
    ],
    "poetry": [
        '[tool.poetry.dependencies]\ntorch = "^2.6"',
        '[tool.poetry.dependencies]\ntorch = { version = "2.13.0", source = "wheels" }',
        '[tool.poetry.group.ml.dependencies]\ntorch = "*"',
        '[project]\ndependencies = ["torch (==2.13.0)"]',
    ],
    "pdm": ['[dependency-groups]\ntest = ["torch"]', '[tool.pdm.dev-dependencies]\ntest = ["torch"]'],
    "pixi": [
        '[dependencies]\npytorch-gpu = "*"',
        '[pypi-dependencies]\ntorch = { version = "==2.13.0" }',
        '[tool.pixi.dependencies]\npytorch = ">=2"',
    ],
    "pipenv": ['[packages]\ntorch = "*"', '[packages]\ntorch = {version = "*", index = "pytorch"}'],
}
NOT = {
    "uv": [
        '[project.optional-dependencies]\ngpu = ["torch"]',
        "[project]\ndependencies = [\"torch; sys_platform == 'linux'\"]",
        '[dependency-groups]\ngpu = ["torch", {include-group = "dev"}]',
        '[project]\ndependencies = ["torchmetrics", "torch-geometric"]',
        '[tool.uv.sources]\ntorch = { index = "pytorch-cpu" }',
        '# dependencies = ["torch"]',
        "project = 1",
    ],
    "poetry": [
        '[tool.poetry.dependencies]\ntorch = { version = "2.13.0", optional = true }',
        '[tool.poetry.dependencies]\ntorch = { version = "2.13.0", platform = "linux" }',
        '[tool.poetry.group.ml]\noptional = true\n[tool.poetry.group.ml.dependencies]\ntorch = "*"',
    ],
    "pixi": ['[feature.gpu.dependencies]\npytorch = "*"', '[target.linux-64.dependencies]\npytorch = "*"'],
    "pipenv": ['[dev-packages]\ntorch = "*"'],
}


def _rows(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(tool, text) for tool, texts in table.items() for text in texts]


@pytest.mark.parametrize(("tool", "text"), _rows(ASKS))
def test_asks(tool: str, text: str) -> None:
    assert asks_for_torch(text, tool) is True


@pytest.mark.parametrize(("tool", "text"), _rows(NOT))
def test_asks_not_or_not_always(tool: str, text: str) -> None:
    assert asks_for_torch(text, tool) is False


def test_no_toml() -> None:
    assert asks_for_torch("[project\ndependencies = torch", "uv") is None


@given(st.text(max_size=200) | st.text(alphabet='[]{}="\n. torchpjec', max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    assert asks_for_torch(text, "uv") in (True, False, None)

"""The lines of a project's files that bring torch in, and where these files are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.facts import declared
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.formats.manifests import is_manifest, parse

REQUIREMENTS = """\
# torch is pinned
numpy<2
--index-url https://user:token@example.invalid/simple
torch==2.5.0+cu124 ; sys_platform == 'linux'  # as the driver allows
Torch_Geometric
torch @ https://example.invalid/torch.whl
requests
-r more.txt
"""
PYPROJECT = """\
[build-system]
requires = ["setuptools", "torch"]
[project]
name = "torch-thing"
requires-python = ">=3.10"
dependencies = [
  "numpy",
  "torch>=2.5; sys_platform == 'linux'",  # "triton"
  # "torchaudio",
]
[project.optional-dependencies]
vision = ["torchvision[extra]>=0.20", "requests"]
[tool.poetry.dependencies]
torch = { version = "^2.5", source = "pytorch" }
[tool.uv.sources]
torch = [{ index = "pytorch-cu124" }]
[[tool.uv.index]]
name = "pytorch-cu124"
[tool.ruff]
torch = 1
"""
ENVIRONMENT = """\
name: torch
channels:
  - pytorch
dependencies:
  - python=3.11
  - pytorch::pytorch=2.5
  - "pytorch-cuda=12.4"
  - pip:
    - --extra-index-url https://download.pytorch.org/whl/cu124
    - torchaudio==2.5
"""
DOCKERFILE = """\
FROM nvidia/cuda:12.4.1-base-ubuntu22.04 AS base
# RUN pip install torch
RUN echo torch && mkdir /torch
FROM --platform=linux/amd64 alpine AS unused
FROM base
RUN --mount=type=cache pip3 install --no-cache-dir \\
    "torch>=2.5" \\
    numpy==2.1 --index-url https://download.pytorch.org/whl/cu124
COPY torch.py /app/torch
"""
PIXI = """\
[workspace]
name = "torch"
[dependencies]
pytorch-gpu = ">=2.5"
[pypi-dependencies]
torchvision = "*"
[feature.cuda.dependencies]
cuda-version = "12.4"
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("requirements.txt", REQUIREMENTS,
         [(2, "numpy"), (3, "index"), (4, "torch"), (5, "torch-geometric"), (6, "torch")]),
        ("pyproject.toml", PYPROJECT,
         [(5, "python"), (7, "numpy"), (8, "torch"), (12, "torchvision"), (14, "torch"), (16, "torch"),
          (17, "index")]),
        ("environment.yml", ENVIRONMENT,
         [(5, "python"), (6, "torch"), (7, "pytorch-cuda"), (9, "index"), (10, "torchaudio")]),
        ("Dockerfile", DOCKERFILE, [(7, "torch"), (8, "index"), (8, "numpy"), (1, "image")]),
        ("pixi.toml", PIXI, [(4, "torch"), (6, "torchvision"), (8, "cuda-version")]),
        ("README.md", "torch==2.5", []),
    ],
)  # fmt: skip
def test_lines(name: str, text: str, expected: list[tuple[int, str]]) -> None:
    assert [(line.number, line.what) for line in parse(name, text)] == expected
    assert [(line.number, line.what) for line in parse(name, text.replace("\n", "\r\n"))] == expected


@given(
    st.sampled_from(["requirements.txt", "pyproject.toml", "environment.yml", "Dockerfile", "Pipfile"]),
    st.text() | st.text(alphabet="torch[]\"'=:-# \\\nFROMpipinstall.", max_size=300),
)
def test_any_text(name: str, text: str) -> None:
    count = len(text.splitlines())
    assert all(1 <= line.number <= count for line in parse(name, text))


@pytest.mark.parametrize("line", [word * 50_000 for word in ("torch", "- ", "[", "FROM ", "pip install ", '"torch')])
def test_long_lines_are_cut(line: str) -> None:
    for name in ("requirements.txt", "pyproject.toml", "environment.yml", "Dockerfile"):
        parse(name, f"{line}\n" * 50)


@pytest.mark.parametrize("name", ["requirements-gpu.txt", "dev-requirements.in", "Dockerfile.cuda", "gpu.Dockerfile",
                                  "environment-cuda.yaml", "constraints.txt", "Pipfile", "Containerfile"])  # fmt: skip
def test_names(name: str) -> None:
    assert is_manifest(name)


def seen(root: Path, cwd: str) -> list[tuple[str, int, str]]:
    notes = Notes()
    declared.collect(System(root=str(root), cwd=cwd), notes)
    return [(d.file, d.line, d.what) for d in notes.get(declared.FACT)]


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_txt", ".txt")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_repository_is_searched_upwards_and_named_from_its_root(tmp_path: Path) -> None:
    write(tmp_path, home__x__repo__requirements_txt="torch\n", home__x__repo__app__requirements_txt="numpy\ntorch==2\n",
          home__x__repo__app__docker__Dockerfile="FROM python:3.12\n", home__x__requirements_txt="torch\n")  # fmt: skip
    (tmp_path / "home/x/repo/.git").mkdir()
    assert seen(tmp_path, "/home/x/repo/app") == [
        ("app/requirements.txt", 1, "numpy"), ("app/requirements.txt", 2, "torch"),
        ("app/docker/Dockerfile", 1, "image"), ("requirements.txt", 1, "torch"),
    ]  # fmt: skip


def test_without_a_repository_only_this_folder_counts(tmp_path: Path) -> None:
    write(tmp_path, home__requirements_txt="torch\n", home__x__requirements_txt="torch==2\n")
    assert seen(tmp_path, "/home/x") == [("requirements.txt", 1, "torch")]
    assert seen(tmp_path, "/nowhere") == []

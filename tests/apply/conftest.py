"""A session's wheels, and patients made for each test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.index.patient import UV, Patient, make_patient, make_wheels
from tests.index.server import Index, serving


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if sys.platform != "linux":
        pytest.skip("the recorded tools are shell scripts, and the stub wheels are for Linux")
    return make_wheels(tmp_path_factory.mktemp("wheels"))


@pytest.fixture
def index(wheelhouse: Path) -> Iterator[Index]:
    with serving(wheelhouse) as index:
        yield index


@pytest.fixture
def patient(tmp_path: Path, wheelhouse: Path, index: Index) -> Callable[..., Patient]:
    """Makes the test's patient: patient(pip=True) has an environment with pip, else one made by uv."""

    def make(*, pip: bool = False, machine: str = "linux-rtx5090-driver-610") -> Patient:
        if UV is None:
            pytest.skip("uv is not there")
        (tmp_path / "wheels").symlink_to(wheelhouse)
        return make_patient(tmp_path, index.url, machine=machine, pip=pip)

    return make

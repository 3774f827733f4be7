"""The user's own index, beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.index.patient import Patient

Make = Callable[..., Patient]


@pytest.mark.parametrize("variable", ["UV_DEFAULT_INDEX", "UV_INDEX"])
def test_the_index_of_the_build_goes_before_the_users(patient: Make, variable: str) -> None:
    """Either variable goes before uv's --index-url: the build would be the one that is there."""
    sick = patient(machine="linux-two-gpus")
    sick.install("torch==2.13.0", backend="cpu")
    sick.set(STUB_CAPABILITY="6.1", **{variable: f"{sick.url}/whl/cpu"})
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert sick.torch() == "2.13.0+cu126"

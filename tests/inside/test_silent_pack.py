"""The silent-fault pack: each computation passes on a healthy CPU and catches its fault.

One child imports torch once and answers for all: tests/inside/faulty_pack.py.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from doctor.inside import probe
from tests.inside.conftest import Answered

SOURCE = Path(probe.__file__).parent / "stages" / "silent.py"


def declared() -> list[str]:
    """The ids of all computations, read from the source."""
    return [
        node.name.replace("_", "-")
        for node in ast.parse(SOURCE.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]


@pytest.fixture(scope="module")
def said(answered: Answered) -> dict[str, dict[str, list[str] | None]]:
    return json.loads(answered("faulty_pack.py"))


@pytest.mark.real_torch
@pytest.mark.parametrize("name", declared())
def test_it_passes_on_a_healthy_device_and_catches_its_fault(
    said: dict[str, dict[str, list[str] | None]], name: str
) -> None:
    answer = said["answers"][name]
    assert answer is not None, "left out on a CPU"
    healthy, faulty = answer
    assert healthy == ""
    assert faulty


@pytest.mark.real_torch
def test_every_fault_of_the_table_has_its_computation(said: dict[str, dict[str, list[str] | None]]) -> None:
    assert set(said["faults"]) == set(declared())

"""inside/probe.py with a real torch: it finds injected faults, names reduced precision, and raises no false alarm.

One child imports torch once and answers all questions of this file: tests/inside/injected.py.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from doctor.inside import probe
from tests.inside.conftest import Answered
from tests.sample import ALL

pytestmark = pytest.mark.real_torch
SEEDS = 60 if ALL else 20


@pytest.fixture(scope="module")
def answers(answered: Answered) -> dict[str, Any]:
    return json.loads(answered("injected.py", str(SEEDS)))


@pytest.mark.parametrize(
    "fault",
    [
        "one element off by 2^-10", "one element off by 2^-14", "lowest bit of one element", "bit 10 of one element",
        "sign of one element", "one NaN", "all NaN", "one row of zeros", "a result scaled by 1 + 2^-20",
        "rounded to 6 bits", "one element of a gradient", "one bfloat16 element by 2^-5",
        "one float64 element by 2^-40", "a convolution without padding of one corner", "one in seven calls",
    ],
)  # fmt: skip
def test_fault_is_found(answers: dict[str, Any], fault: str) -> None:
    assert answers["faults"][fault]["wrong"]


@pytest.mark.parametrize(
    ("mode", "ladder", "bits"),
    [("tf32", 11, {11}), ("tf32 truncated", 11, {11}), ("bfloat16", 8, {8}), ("bfloat16 x 2", 17, {16, 24})],
)
def test_reduced_precision_is_named_and_not_called_wrong(
    answers: dict[str, Any], mode: str, ladder: int, bits: set[int]
) -> None:
    found = answers["reduced"][mode]
    assert found["wrong"] == []
    assert found["float32_bits_effective"] == ladder
    assert found["float32_mm_bits"] in bits
    assert bool(found["inexact"]) == (ladder < 13)
    assert found["float32_max_error_ratio"] <= 1


def test_a_convolution_by_transform_is_not_wrong(answers: dict[str, Any]) -> None:
    found = answers["reduced"]["transform"]
    assert found["wrong"] == []
    assert found["inexact"]
    assert found["float32_conv2d_bits"] == 24


def test_fault_under_reduced_precision_is_still_found(answers: dict[str, Any]) -> None:
    assert answers["faults"]["tf32 and one element off by 2^-4"]["wrong"]


def test_wrong_reference_is_found(answers: dict[str, Any]) -> None:
    assert answers["reference"] == ["float64 mm on the CPU, which is the reference"]


def test_memory_that_forgets_is_found(answers: dict[str, Any]) -> None:
    assert answers["memory"] == ["memory: addresses did not come back", "memory: inverted addresses did not come back"]


def test_no_false_alarm(answers: dict[str, Any]) -> None:
    """Every type, forward and backward, on 1 and on all threads."""
    assert len(answers["healthy"]) == SEEDS
    for found in answers["healthy"]:
        assert found["wrong"] == []
        assert found["float32_bits_effective"] == 24
        assert found["float32_mm_bits"] == 24
        assert 0 < found["float32_max_error_ratio"] < 0.5
        assert found["float64_mm_bits"] == 53


def test_gradients_are_checked_without_autograd_too(answers: dict[str, Any]) -> None:
    found = answers["without autograd"]
    assert found["wrong"] == found["inexact"] == []
    assert (found["float32_mm_bits"], found["float32_conv2d_bits"], found["float64_conv2d_bits"]) == (24, 24, 53)
    wrong = answers["without autograd, a wrong gradient"]["wrong"]
    assert wrong
    assert all(text.startswith("float32 mm, gradient of y") for text in wrong)


def test_rates_are_plausible(answers: dict[str, Any]) -> None:
    speed = answers["speed"]
    assert 0 < speed["float32_tflops_sustained"] <= speed["float32_tflops_burst"] * 1.001
    assert speed["float32_tflops_burst"] < 100
    assert speed["float32_cpus_used"] > 0
    assert 0 < speed["float32_tflops_one_thread"] < 10
    assert speed["busy"] in (True, False)
    assert speed["float32_measured_ms"] < 2000


def test_the_way_of_accelerators(answers: dict[str, Any]) -> None:
    """Larger data, blocks of calls, the tolerance of tensor cores: run here on the CPU."""
    found = answers["as accelerator"]
    assert "wrong" not in found
    assert found["memory_checked_bytes"] == probe.MEMORY
    assert found["float32_size"] >= 1024
    assert found["bfloat16_mm_bits"] in (7, 8)
    assert found["float64_tflops_burst"] > 0
    assert "float32_cpus_used" not in found


def test_nothing_costly_is_imported(answers: dict[str, Any]) -> None:
    assert answers["imported"] == []

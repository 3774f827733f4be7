"""The stages of the full probe on a CPU with one fault each, and on a healthy one.

One child imports torch once: tests/inside/faulty_stages.py. scripts/prove_probe.py runs the same faults many times.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.inside.conftest import Answered

pytestmark = [pytest.mark.real_torch, pytest.mark.slow]
NAMED = {"TF32": 11, "bfloat16 for float32": 8}  # a reduced precision is no fault: it is named


@pytest.fixture(scope="module")
def said(answered: Answered) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answered("faulty_stages.py", "1").splitlines()]


def test_every_fault_is_found(said: list[dict[str, Any]]) -> None:
    faults = [line for line in said if not line["fault"].startswith("healthy ")]
    assert len(faults) > 25
    unseen = [
        line["fault"]
        for line in faults
        if not line["wrong"] and line["fault"] not in NAMED and line["fault"] != "a quarter of its speed"
    ]
    assert unseen == []


@pytest.mark.parametrize(("fault", "bits"), NAMED.items())
def test_reduced_precision_is_named(said: list[dict[str, Any]], fault: str, bits: int) -> None:
    (line,) = [line for line in said if line["fault"] == fault]
    assert (line["wrong"], line["data"]["bits"]) == ([], bits)


def test_the_healthy_device_is_not_accused(said: list[dict[str, Any]]) -> None:
    healthy = {line["fault"]: line["wrong"] for line in said if line["fault"].startswith("healthy ")}
    assert len(healthy) >= 8
    assert set(map(tuple, healthy.values())) == {()}


def test_training_is_as_close_as_it_should_be(said: list[dict[str, Any]]) -> None:
    (data,) = [line["data"] for line in said if line["fault"] == "healthy training"]
    assert data["training_loss_error"] < 1e-5
    assert 0 < data["training_change_error"] < 0.01
    assert data["vae_loss"][1] < 0.2 * data["vae_loss"][0]


def test_a_quarter_of_the_speed_shows(said: list[dict[str, Any]]) -> None:
    rates = {
        line["fault"]: line["data"]["float32_tflops_one_thread"]
        for line in said
        if "float32_tflops_one_thread" in line["data"]
    }
    assert rates["a quarter of its speed"] < 0.5 * rates["healthy speed"]

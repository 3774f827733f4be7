"""On a machine that others use, a time that does not grow with the work is no proof of anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.bench import limits
from doctor.bench.said import CellSaid, Measured
from doctor.model.bench import BenchDevice, Conditions, Row
from tests.bench.samples import row, timing

GPU = BenchDevice(device="cuda:0", peak_fp32_tflops=1.2)
MEASURED = Measured(first_call_s=1, warmup_s=2, warm=True, blocks_s=(0.1,), rounds_s=(0.1,), steps=1, threads=2)


def judged(conditions: Conditions, *, device: str = "cpu", rounds: tuple[float, ...] = ()) -> Row:
    """A row near the limit of the device, whose doubled work takes hardly longer."""
    once = row("mlp", device, 32, 100.0, flops_per_step=1e11, conditions=conditions, threads=2)
    twice = row("mlp", device, 64, 105.0, flops_per_step=2e11, conditions=conditions, threads=2)
    twice = replace(twice, scale=2, key=f"{once.key}/x2")
    if rounds:
        once = replace(once, timing=timing(100.0, rounds_ms=rounds))
    said = {
        one.key: CellSaid(status="measured", measured=MEASURED, flops=one.flops_per_step, product_rate=1.2e12)
        for one in (once, twice)
    }
    return limits.judged({once.key: once, twice.key: twice}, said, {"cuda:0": GPU})[once.key]


@pytest.mark.parametrize(("conditions", "device", "status"), [
    (Conditions(cpus_used=1.98), "cpu", "IMPOSSIBLE"),
    (Conditions(), "cpu", "IMPOSSIBLE"),
    (Conditions(cpus_used=1.9, cpus_waited=0.01), "cpu", "IMPOSSIBLE"),
    (Conditions(cpus_used=1.9, cpus_waited=0.3), "cpu", "ok"),
    (Conditions(cpus_used=0.9), "cpu", "ok"),
    (Conditions(busy=False), "cuda:0", "IMPOSSIBLE"),
    (Conditions(busy=True), "cuda:0", "ok"),
])  # fmt: skip
def test_only_an_undisturbed_row_is_judged(conditions: Conditions, device: str, status: str) -> None:
    found = judged(conditions, device=device)
    assert found.gate.status == status
    assert (found.timing is None) == (status == "IMPOSSIBLE")
    assert found.scaling is not None


def test_rounds_that_drifted_apart_prove_nothing() -> None:
    assert judged(Conditions(cpus_used=2.0), rounds=(70.0, 160.0)).gate.status == "ok"

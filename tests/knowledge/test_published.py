"""The published numbers: every row is cited and of a known kind, and what is wrong is never compared with."""

from __future__ import annotations

import pytest

from doctor.knowledge import published as numbers
from doctor.knowledge.load import table


def test_every_name_in_a_row_exists() -> None:
    content = table("published")
    assert {row["work"] for row in (*content["rows"], *content["known"])} <= set(numbers.works())
    assert {c for row in content["rows"] for c in row["caveats"]} == set(numbers.caveats()) - {"no-synchronisation",
        "one-cpu-thread", "first-call-included"}  # fmt: skip
    used = {key for group in ("works", "caveats", "known", "rows") for row in content[group] for key in row["sources"]}
    assert used == set(content["sources"])


def test_every_row_gives_a_quantity() -> None:
    for row in numbers.published():
        if row.quantity == "tflops":
            assert row.workload == "matmul"
        elif row.quantity == "epoch_s":
            assert row.samples or row.work.id == "codefyui"
        elif row.quantity != "speedup":
            assert row.samples_per_s


def test_nine_runs_without_accuracy_and_one_of_chance_are_wrong() -> None:
    rows = [r for r in numbers.published() if r.work.id == "raschka-2022" and r.accuracy_percent is not None]
    assert sum(r.accuracy_percent == 0 for r in rows) == 9
    assert sum(r.accuracy_percent == 10 for r in rows) == 1
    assert all(r.wrong for r in rows if r.accuracy_percent in (0, 10))
    assert not any(r.wrong for r in rows if r.accuracy_percent and r.accuracy_percent > 10 and not _wrong_log(r))


def _wrong_log(row: numbers.Published) -> bool:
    return any(c.id == "wrong-log" for c in row.caveats)


def test_no_fp32_row_is_above_the_peak() -> None:
    """TF32 called fp32 is marked so."""
    from doctor.knowledge.gpus import peaks_of

    for row in numbers.published():
        peaks = peaks_of(row.machine) if row.quantity == "tflops" else None
        if peaks and peaks.fp32 and row.really == "fp32":
            assert row.value <= peaks.fp32 * 1.05, (row.machine, row.value, peaks.fp32)


def test_a_step_comes_from_an_epoch() -> None:
    row = next(r for r in numbers.published() if r.machine == "M2 Max")
    assert row.step_ms == pytest.approx(10.37 * 60 * 1000 / 1406, rel=1e-3)
    assert row.loader_included


def test_the_same_gpu_is_nearest() -> None:
    near = numbers.nearest("vgg16", "training", device="cuda", name="NVIDIA GeForce RTX 3090", batch=32, dtype="tf32")
    assert near[0].row.machine == "RTX 3090"
    assert "the loader is in its time" in near[0].differs


def test_nothing_wrong_and_no_other_phase_is_near() -> None:
    near = numbers.nearest("vgg16", "training", device="mps", name="Apple M1 Pro", batch=32, dtype="fp32", most=99)
    assert near
    assert not any(n.row.wrong for n in near)
    assert numbers.nearest("vgg16", "generation", device="mps", name=None, batch=32, dtype="fp32") == ()


@pytest.mark.parametrize(
    ("machine", "name", "same"),
    [
        ("RTX 4090", "NVIDIA GeForce RTX 4090", True),
        ("RTX 4090 24G", "NVIDIA GeForce RTX 4090 Laptop GPU", False),
        ("3090", "NVIDIA GeForce RTX 3090 Ti", False),
        ("M1", "Apple M1 Ultra", False),
        ("MacBook Air M1 2020", "Apple M1", True),
        ("M3 Pro", "Apple M3", False),
        ("NVIDIA H200", "NVIDIA H200", True),
        ("anything", None, False),
        ("2 vCPU AMD EPYC Zen 4", "AMD EPYC", False),
    ],
)
def test_models_are_told_apart(machine: str, name: str | None, same: bool) -> None:
    assert numbers.same_model(machine, name) is same


def test_what_is_known_to_be_wrong_comes_first_and_has_a_source() -> None:
    kinds = [k.kind for k in numbers.known()]
    assert kinds == sorted(kinds, key=lambda k: k != "wrong")
    assert all(k.source and k.reason.endswith(".") for k in numbers.known())
    assert any(k.work.id == "five-models-article" for k in numbers.known())


def test_workloads_and_suites_are_those_of_the_benchmark() -> None:
    from doctor.bench.suites import SUITES, WORKLOADS

    assert {r.workload for r in numbers.published() if r.workload} <= {*WORKLOADS, "resnet50"}
    assert {s for w in numbers.works().values() for s in w.suites} <= set(SUITES)

"""What is run, in which order."""

from __future__ import annotations

import ast
import pprint
from pathlib import Path

import pytest

from doctor.bench.plan import partner, plan, spoken
from doctor.bench.report import chosen
from doctor.bench.suites import LONG_TOUR, SUITES, TOUR, WORKLOADS, pieces_of
from doctor.model.bench import BenchOptions

INSIDE = Path(__file__).resolve().parents[2] / "doctor" / "inside" / "bench" / "workloads"


def test_the_cpu_takes_turns_with_the_first_accelerator() -> None:
    first, second = plan(BenchOptions(suite="mlp"), ("cpu", "cuda:0", "cuda:1"))
    assert [c.device for c in first.cells] == ["cpu", "cpu", "cuda:0", "cuda:0"]
    assert {c.device for c in second.cells} == {"cuda:1"}
    assert first.seconds == second.seconds < 90


def test_without_an_accelerator() -> None:
    (child,) = plan(BenchOptions(suite="vae"), ("cpu",))
    assert child.device == "cpu"
    assert [c.scale for c in child.cells] == [1, 2]
    (child,) = plan(BenchOptions(suite="vae"), ("mps",))
    assert {c.device for c in child.cells} == {"mps"}


@pytest.mark.parametrize("suite", [None, *SUITES])
@pytest.mark.parametrize("effort", ["quick", "full"])
@pytest.mark.parametrize("devices", [("cpu",), ("cpu", "cuda:0")])
def test_keys_are_unique_and_have_partners(suite, effort, devices) -> None:
    dtypes = ("fp32", "bf16")
    options = BenchOptions(suite=suite, effort=effort, dtypes=dtypes, threads=4, channels_last=True, compile=True)
    plans = plan(options, devices)
    keys = [c.key for p in plans for c in p.cells]
    assert len(keys) == len(set(keys))
    assert all(k.partition("/")[0] for k in keys)
    assert all("/t4/channels-last/compile" in k for k in keys)
    for key in keys:
        if "/cuda:0/" in key and "matmul" not in key and "conv" not in key:
            assert partner(key) in keys


def test_the_plan_is_a_literal() -> None:
    """It travels as text on the child's stdin."""
    options = BenchOptions(effort="full")
    (child,) = plan(options, ("cpu", "mps"))
    said = spoken(child, options)
    assert ast.literal_eval(pprint.pformat(said)) == said
    assert sum(len(g["cells"]) for g in said["groups"]) == len(child.cells)


def test_without_what_is_done() -> None:
    (child,) = plan(BenchOptions(suite="mnist"), ("cpu",))
    rest = child.without(frozenset(c.key for c in child.cells[:2]))
    assert [c.workload for c in rest.cells] == ["mnist-mlp", "lenet5"]
    assert len(rest.groups) == 2


def test_every_workload_is_a_file() -> None:
    for workload in WORKLOADS:
        assert all((INSIDE / f"{piece}.py").is_file() for piece in pieces_of(workload))
    files = {p.stem for p in INSIDE.glob("*.py")} - {"__init__"}
    assert files == {piece for w in WORKLOADS for piece in pieces_of(w)}


def test_every_suite_shows_that_time_grows() -> None:
    assert all(any(e.doubled for e in suite.entries) for suite in (*SUITES.values(), TOUR, LONG_TOUR))


def test_devices_that_are_not_there() -> None:
    assert chosen(("cpu",), ("cuda", "cpu")) == (("cpu",), ("cuda",))
    assert chosen(("cpu", "cuda:0"), ("cuda:3",)) == ((), ("cuda:3",))

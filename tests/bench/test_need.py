"""What a cell is thought to take, which one is next, and what is refused: arithmetic, without a clock."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from doctor.bench.plan import plan, spoken
from doctor.inside.bench import cell, gate, need, operations, run
from doctor.inside.bench.workloads import alexnet, decoder, efficientnet_b0, mobilenet_v2, resnet18, vae, vgg16
from doctor.model.bench import BenchOptions

WORKS = {
    "alexnet": alexnet, "resnet18": resnet18, "mobilenet_v2": mobilenet_v2, "efficientnet_b0": efficientnet_b0,
    "vgg16": vgg16, "decoder": decoder, "vae": vae,
}  # fmt: skip
PRODUCT = 150e9  # operations a second, as two cores reach


@pytest.fixture
def needs() -> need.Needs:
    found = need.Needs(cell, gate, operations, WORKS)
    found.product("cpu", PRODUCT)
    return found


def group(workload: str, batch: int, phase: str = "training", **changed) -> dict:
    spec = {
        "key": f"{workload}/{phase}/cpu/fp32/b{batch}", "device": "cpu", "phase": phase, "dtype": "fp32",
        "batch": batch, "threads": None, "channels_last": False, "compile": False, "seconds": 3.0, "ungated": False,
    }  # fmt: skip
    return {"workload": workload, "size": None, "cells": [dict(spec, **changed)]}


def test_a_step_is_foreseen_from_one_that_was_timed_whatever_its_batch(needs: need.Needs) -> None:
    small, large = group("resnet18", 4), group("resnet18", 64)
    spec = small["cells"][0]
    assert not needs.knows(small, spec)
    needs.learn(small, spec, needs.step_operations(small, spec), 0.3)
    assert needs.knows(large, large["cells"][0])
    update = 1000 * resnet18.PARAMETERS / PRODUCT  # the optimizer moves as much for any batch
    assert needs.step(small, spec) == pytest.approx(0.3)
    assert needs.step(large, large["cells"][0]) == pytest.approx(16 * (0.3 - update) + update)
    assert needs.step(group("resnet18", 64, dtype="bf16"), {**spec, "dtype": "bf16"}) != pytest.approx(0.3)


def test_an_optimizer_is_at_most_half_of_what_was_timed(needs: need.Needs) -> None:
    small, large = group("alexnet", 4), group("alexnet", 64)
    needs.learn(small, small["cells"][0], needs.step_operations(small, small["cells"][0]), 0.2)
    assert needs.step(large, large["cells"][0]) == pytest.approx(16 * 0.1 + 0.1)
    cuda = {**small["cells"][0], "device": "cuda:0"}
    needs.product("cuda:0", 400e12)
    needs.learn(small, cuda, needs.step_operations(small, cuda), 0.003)
    assert needs.step(large, {**cuda, "batch": 64}) == pytest.approx(16 * 0.003, rel=0.1)


def test_an_inference_learns_nothing_of_the_optimizer(needs: need.Needs) -> None:
    one = group("vgg16", 4, "inference")
    needs.learn(one, one["cells"][0], needs.step_operations(one, one["cells"][0]), 1.2)
    training = group("vgg16", 4)
    assert needs.step(training, training["cells"][0]) > 3 * 1.2


def test_nothing_is_refused_for_a_guess(needs: need.Needs) -> None:
    """Before a step was timed, it is taken to run as fast as a product: no network is faster."""
    one = group("mobilenet_v2", 4)
    spec = one["cells"][0]
    assert needs.step(one, spec, 1.0) == pytest.approx(4 * 3 * 599e6 / PRODUCT, rel=0.01)
    assert needs.step(one, spec, 1.0) < needs.step(one, spec)
    assert needs.check(one, spec, 1.0) < needs.check(one, spec)


def test_what_was_checked_is_not_checked_again(needs: need.Needs) -> None:
    small, large = group("vgg16", 4), group("vgg16", 64)
    assert needs.check(small, small["cells"][0]) == pytest.approx(needs.check(large, large["cells"][0]))
    needs.checked[needs.setting(small, small["cells"][0])] = {}
    assert needs.check(large, large["cells"][0]) == 0
    other = {**large["cells"][0], "threads": 1}
    assert needs.check(large, other) > 0
    needs.referred["vgg16", None] = {"outputs": {}, "training": {}, "losses": []}
    assert 0 < needs.check(large, other) < needs.check(group("alexnet", 64), other) * 20


@pytest.mark.parametrize("changed", [{"dtype": "bf16"}, {"phase": "inference"}, {"compile": True}, {"device": "cuda:0"},
                                     {"channels_last": True}, {"threads": 1}])  # fmt: skip
def test_every_setting_is_checked_by_itself(needs: need.Needs, changed: dict) -> None:
    one = group("resnet18", 64)
    assert needs.setting(one, one["cells"][0]) != needs.setting(one, {**one["cells"][0], **changed})


def test_a_batch_smaller_than_what_is_compared_is_another_setting(needs: need.Needs) -> None:
    one = group("resnet18", 64)
    assert needs.setting(one, one["cells"][0]) == needs.setting(one, {**one["cells"][0], "batch": 4})
    assert needs.setting(one, one["cells"][0]) != needs.setting(one, {**one["cells"][0], "batch": 2})


def test_an_inference_is_looked_at_again_for_nothing(needs: need.Needs) -> None:
    one = group("vgg16", 32, "inference")
    assert needs.again(one, one["cells"][0], 9.0) == 0
    assert needs.again(group("vgg16", 32), group("vgg16", 32)["cells"][0], 9.0) == pytest.approx(3.0)
    assert needs.again(group("vgg16", 4), group("vgg16", 4)["cells"][0], 0.9) == pytest.approx(0.6)
    generation = group("decoder", 1, "generation")
    assert needs.again(generation, generation["cells"][0], 0.5) == 1.0


def test_what_does_not_fit_leaves_its_time_to_the_others() -> None:
    assert need.share_of(10.0, [(1000.0, 800.0)], 100.0) == 100.0
    assert need.share_of(10.0, [(30.0, 25.0), (20.0, 15.0), (1000.0, 800.0)], 100.0) == pytest.approx(10 + 40 / 3)
    assert need.share_of(10.0, [(20.0, 15.0), (90.0, 64.0), (91.0, 1.0)], 100.0) == pytest.approx(10 + 6 / 2)
    assert need.share_of(10.0, [], 5.0) == 5.0


def test_a_refusal_says_what_a_step_takes_and_what_is_left() -> None:
    assert need.refusal(5.0, 0.0, 2.0, 17.0, 3) is None
    assert need.refusal(24.0, 0.0, 8.0, 60.0, 3) == (
        "a step takes about 24 s here; checking it and 3 steps need 80 s, and 60 s are left"
    )
    assert (need.refusal(0.25, 9.0, 0.1, -1.0, 2) or "").endswith("and 0 s are left")
    assert (need.refusal(0.1135, 9.0, 0.1, 3.0, 2) or "").startswith("a step takes about 114 ms here; ")


def test_the_cpu_leaves_its_time_to_an_accelerator(needs: need.Needs) -> None:
    """Whose cells take little: they may stand in groups that come last, for the CPU's cells are dear."""
    needs.product("cuda:0", 40e12)
    one, other = group("resnet18", 64), group("vgg16", 64)
    cuda = {**other["cells"][0], "device": "cuda:0"}
    kept = needs.cheaper(one, one["cells"][0], [(other, other["cells"][0]), (other, cuda)])
    assert kept == pytest.approx(needs.cell(other, cuda))
    assert needs.cheaper(other, cuda, [(one, one["cells"][0])]) == 0


def test_a_first_step_that_took_long_is_looked_into_where_it_was_not_foreseen() -> None:
    assert need.is_odd(30.0, None)
    assert need.is_odd(30.0, 12.0)
    assert not need.is_odd(30.0, 24.0)


def test_a_long_step_is_not_warmed_up() -> None:
    assert need.warming(3.0, 2.7, 2.0) == 0
    assert need.warming(10.0, 0.3, 2.0) == 2.0
    assert need.warming(1.2, 0.3, 2.0) == 0.6
    assert need.warming(1.0, 0.3, 2.0) == 0
    assert need.warming(-4.0, 0.3, 2.0) == 0


def test_the_cheapest_group_is_next(needs: need.Needs) -> None:
    """All of five-models: what one batch took says what the other will."""
    (child,) = plan(BenchOptions(suite="five-models"), ("cpu",))
    waiting = spoken(child, BenchOptions(suite="five-models"))["groups"]
    runner = run.Runner.__new__(run.Runner)
    runner.needs = needs
    order = []
    while waiting:
        one = runner.next_of(waiting)
        order.append((one["workload"], one["cells"][0]["batch"]))
    assert all(order.index((name, 4)) < order.index((name, 64)) for name, _ in order)
    assert order[-1] == ("vgg16", 64)
    assert len(order) == 10


def test_a_cell_is_refused_by_what_was_timed(needs: need.Needs) -> None:
    runner = run.Runner.__new__(run.Runner)
    runner.needs, runner.pieces = needs, {"need": need}
    runner.left = lambda: 60.0
    one = group("vgg16", 64)
    spec = one["cells"][0]
    assert "s are left" in (runner.refused(one, spec, 0.0) or "")  # 5.9 TFLOP a step: not even as fast as a product
    one = group("efficientnet_b0", 64)
    spec = one["cells"][0]
    assert runner.refused(one, spec, 0.0) is None
    needs.learn(one, spec, needs.step_operations(one, spec), 25.0)
    assert (runner.refused(one, spec, 0.0) or "").startswith("a step takes about 25 s here")


@pytest.mark.parametrize(("steps", "tried", "refused"), [
    ([0.56, 0.55, 0.003], 2, False),  # others used the CPU; what is to be checked takes 900 steps
    ([0.56] * 20, need.TRIES, True),
    ([40.0, 39.0, 0.003], 1, True),  # not twice
    ([90.0, 0.003], 0, True),  # not even once
])  # fmt: skip
def test_steps_that_were_held_up_say_nothing_of_the_work(needs, steps: list[float], tried: int, refused: bool) -> None:
    runner = run.Runner.__new__(run.Runner)
    runner.needs, runner.pieces, runner.left = needs, {"need": need}, lambda: 80.0
    runner.speaker = SimpleNamespace(stage=lambda name, key, work: work())
    one, waiting = group("vae", 128), list(steps)
    meter = SimpleNamespace(step_s=waiting.pop(0), tried=0)

    def again() -> None:
        meter.tried += 1
        meter.step_s = min(meter.step_s, waiting.pop(0))

    meter.step_again = again
    assert (runner.too_long(meter, one, one["cells"][0], 0.0) is not None) == refused
    assert meter.tried == tried


class Clocked:
    """A meter whose block takes so many seconds of a clock that it moves itself."""

    def __init__(self, clock: SimpleNamespace, seconds: float) -> None:
        self.clock, self.seconds, self.blocks, self.asked = clock, seconds, [], []

    def seconds_a_block(self) -> float:
        return self.seconds

    def round(self, seconds: float, most: float) -> None:
        self.asked.append((seconds, most))
        self.blocks.append(self.seconds)
        self.clock.now += self.seconds


@pytest.mark.parametrize(("left", "blocks"), [(100.0, 3), (26.0, 3), (24.5, 2), (1.0, 2)])
def test_rounds_end_with_the_time_but_not_before_two_steps(monkeypatch, left: float, blocks: int) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(run, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    runner = run.Runner.__new__(run.Runner)
    runner.plan, runner.pieces, runner.until = {"rounds": 3}, {"need": need}, left
    runner.speaker = SimpleNamespace(stage=lambda name, key, work: work())
    meter = Clocked(clock, 8.0)
    runner.rounds([({"key": "x", "seconds": 3.0}, meter, {"again_s": 1.0})], min(left, 20.0))
    assert len(meter.blocks) == blocks

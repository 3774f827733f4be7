"""The clock's own rules, with a clock that the test moves and a cell that only counts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from doctor.inside.bench import clock, meter


class Step:
    """A cell whose step takes so many seconds."""

    trains, threads, kept = True, 2, ()

    def __init__(self, now: SimpleNamespace, seconds: float) -> None:
        self.now, self.seconds, self.steps = now, seconds, 0
        self.probe = SimpleNamespace(is_cpu=True)

    def step(self) -> None:
        self.now.s += self.seconds
        self.steps += 1

    def wait(self) -> None:
        pass

    def reset(self) -> None:
        pass


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(s=0.0)
    monkeypatch.setattr(meter, "time", SimpleNamespace(perf_counter=lambda: now.s, process_time=lambda: now.s))
    return now


def metered(now: SimpleNamespace, seconds: float, step_s: float) -> meter.Meter:
    one = meter.Meter.__new__(meter.Meter)
    one.cell, one.clock = Step(now, seconds), clock
    one.torch = SimpleNamespace(set_num_threads=lambda threads: None)
    one.monitor = SimpleNamespace(waited_s=lambda: None, machine_cpu_s=lambda: None)
    one.watch = SimpleNamespace(nvml=None, look=lambda: None)
    one.counters, one.blocks, one.rounds, one.memory, one.proof = (), [], [], [], []
    one.steps, one.step_s, one.since_reset, one.total_steps = 1, step_s, 0, 0
    one.cpu_s = one.wall_s = one.rounds_s = 0.0
    one.waited_s = None
    return one


def test_a_round_of_long_steps_is_one_step(now: SimpleNamespace) -> None:
    one = metered(now, 5.0, 6.0)
    for _ in range(3):
        one.round(1.0, 3.0)
    assert (one.cell.steps, len(one.blocks), one.rounds) == (3, 3, [5.0, 5.0, 5.0])  # and none to settle


def test_a_round_has_three_blocks_where_its_time_allows(now: SimpleNamespace) -> None:
    one = metered(now, 0.9, 0.9)
    one.round(1.0, 3.0)
    assert len(one.blocks) == 3
    one = metered(now, 1.4, 1.4)
    one.round(1.0, 3.0)
    assert len(one.blocks) == 2


def test_short_steps_settle_first(now: SimpleNamespace) -> None:
    one = metered(now, 0.25, 0.25)
    one.round(1.0, 3.0)
    assert (one.cell.steps, len(one.blocks)) == (5, 4)


def test_of_two_steps_before_the_clock_the_faster_one_counts(now: SimpleNamespace) -> None:
    one = metered(now, 0.25, 0.56)
    one.step_again()
    assert one.step_s == 0.25
    one.cell.seconds = 0.5
    one.step_again()
    assert one.step_s == 0.25
    one.calibrate()
    assert one.step_s == 0.5


def test_no_time_is_spent_on_a_slope_that_will_not_be_seen(now: SimpleNamespace) -> None:
    """Ten medians of three blocks: with 0.3 s each they do not fit into 3 s."""
    one = metered(now, 0.3, 0.3)
    one.said = {"warm": False}
    one.warm_up(2.0, 3.0)
    assert (one.cell.steps, one.said["warm"]) == (7, False)
    now.s = 0.0
    one = metered(now, 0.0625, 0.0625)
    one.said = {"warm": False}
    one.warm_up(2.0, 3.0)
    assert (one.cell.steps, one.said["warm"]) == (32, True)


class Losses(list):
    """As many tensors."""

    def float(self):
        return self

    def cpu(self):
        return self


def looked(*blocks: list[float]) -> meter.Meter:
    one = meter.Meter.__new__(meter.Meter)
    one.torch = SimpleNamespace(stack=Losses)
    one.cell = SimpleNamespace(trains=True)
    one.nonfinite = one.last_loss = one.seen_steps = None
    one.repeated = one.looked = one.total_steps = one.since_reset = 0
    for losses in blocks:
        one.cell.kept = losses
        one.total_steps += len(losses)
        one.since_reset += len(losses)
        one.look()
    return one


def test_losses_that_repeat_show_in_blocks_of_one_step() -> None:
    one = looked([2.0], [2.0], [2.0])
    assert (one.repeated, one.looked) == (2, 2)
    one = looked([2.0], [1.5], [1.2])
    assert (one.repeated, one.looked) == (0, 2)


def test_losses_of_steps_that_were_not_looked_at_are_no_neighbours() -> None:
    """A block to settle lies between two rounds: the batches take turns, and the same one may come again."""
    one = looked([2.0, 1.5])
    one.total_steps += 1
    one.since_reset += 1
    one.cell.kept = [1.5, 2.0]
    one.total_steps += 2
    one.since_reset += 2
    one.look()
    assert (one.repeated, one.looked) == (0, 2)

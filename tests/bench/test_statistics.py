"""Medians and their intervals, against what they promise."""

from __future__ import annotations

import random

import pytest

from doctor.bench import intervals, statistics
from doctor.inside.bench import clock
from tests.bench.samples import timing


@pytest.mark.parametrize("n", [10, 40, 200])
def test_the_interval_holds_the_median_in_95_percent(n: int) -> None:
    """Of a skewed distribution, as times are."""
    random.seed(n)
    true = 1.0  # the median of a lognormal
    held = 0
    for _ in range(1000):
        low, high = statistics.interval([random.lognormvariate(0, 0.5) for _ in range(n)])
        held += low <= true <= high
    assert 0.93 <= held / 1000 <= (1.0 if n < 40 else 0.99)  # of few values it is all of them


def test_precise() -> None:
    assert not statistics.is_precise([1.0] * 9)
    assert statistics.is_precise([1.0] * 10)
    assert not statistics.is_precise([1.0, 1.2] * 10)


def test_warm() -> None:
    falling = [1.0 - 0.005 * n for n in range(30)]
    assert not clock.is_warm(falling)
    assert not clock.is_warm([1.0] * 29)
    assert clock.is_warm(falling + [0.85] * 30)


def test_a_block_is_at_least_ten_milliseconds() -> None:
    for seconds in (1e-6, 3e-4, 0.004, 0.2):
        assert clock.steps_for(seconds) * seconds >= clock.BLOCK_S


def test_ratio_and_mean() -> None:
    ratio = statistics.ratio((10.0, 9.0, 11.0), (2.0, 1.9, 2.1))
    assert ratio[0] == 5
    assert 4.4 < ratio[1] < 4.5
    assert 5.5 < ratio[2] < 5.65
    mean = statistics.geometric_mean([(2.0, 2.0, 2.0), (8.0, 8.0, 8.0)])
    assert mean == pytest.approx((4.0, 4.0, 4.0))
    assert statistics.geometric_mean([]) is None


@pytest.mark.parametrize(("blocks", "factor"), [(2, 12.7), (3, 2.61), (4, 1.43), (5, 1.01), (6, 1.0), (60, 1.0)])
def test_a_range_of_few_is_widened_to_95_per_cent(blocks: int, factor: float) -> None:
    low, high = intervals.of_few(timing(100.0, blocks=blocks, low_ms=99.0, high_ms=100.0 * 100.0 / 99.0))
    assert low == pytest.approx(100.0 * 0.99**factor)
    assert high == pytest.approx(100.0 / 0.99**factor)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_few_values_hold_the_true_middle_as_often_as_many(count: int) -> None:
    """Of normal noise, in 95 % of the cases; the range alone holds it in 50 to 94 %."""
    random.seed(count)
    held = 0
    for _ in range(2000):
        values = sorted(random.lognormvariate(0, 0.01) for _ in range(count))
        found = timing(statistics.median(values), blocks=count, low_ms=values[0], high_ms=values[-1])
        low, high = intervals.of_few(found)
        held += low <= 1.0 <= high
    assert 0.92 <= held / 2000 <= 0.98

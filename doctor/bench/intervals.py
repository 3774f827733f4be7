"""How far the median of a row may be off, and the ratio of two rows. Pure.

The interval by order statistics holds for the blocks of a run in which nothing changes. A machine changes: its clock
drifts, and other programs take a part of it, in one run and not in the next. Both are measured, and widen the interval:
the medians of the rounds lie as far apart as the machine drifted, and the time that threads waited for a CPU is time
that the row would not have taken on an idle machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from doctor.bench import statistics
from doctor.model.bench import Row, Timing

# Of so few values the interval by order statistics is their range, which holds less often than in 95 % of the cases.
# What half of the range is multiplied by: E. Lord, The Use of Range in Place of Standard Deviation in the t-Test,
# Biometrika 34 (1947), table of 5 %, two-sided.
RANGE = {2: 12.7, 3: 2.61, 4: 1.43, 5: 1.01}
WAITED = 0.05  # seconds per second: below it, the usual small work of a system
MOST_WAITED = 0.99


def ratio_of(above: Row, below: Row) -> tuple[float, float, float]:
    """(ratio, low, high) of the times of two rows, both of which have one."""
    return statistics.ratio(ends_of(above), ends_of(below))


def ends_of(row: Row) -> tuple[float, float, float]:
    """(median, low, high) in milliseconds. ValueError where the row has no time."""
    timing = row.timing
    if timing is None:
        raise ValueError(f"{row.key} has no time")
    middle, low, high = with_drift(timing.median_ms, *of_few(timing), timing.rounds_ms)
    waited = row.conditions.cpus_waited or 0.0
    if waited > WAITED:  # threads that wait for each other may have waited one after the other
        low = min(low, middle * (1 - min(waited, MOST_WAITED)))
    return middle, low, high


def waiting(row: Row) -> float:
    """The share of its threads' time that they waited for a CPU; 0 where that is not known."""
    return min(1.0, (row.conditions.cpus_waited or 0.0) / max(1, row.threads or 1))


def of_few(timing: Timing) -> tuple[float, float]:
    """(low, high) of the median in milliseconds, with 95 % confidence also where it has fewer than six blocks."""
    factor = RANGE.get(timing.blocks, 1.0)
    down, up = (math.log(a / b) for a, b in ((timing.median_ms, timing.low_ms), (timing.high_ms, timing.median_ms)))
    if timing.blocks in RANGE:
        down = up = 0.5 * (down + up)  # where among so few the middle one lies says nothing
    return timing.median_ms * math.exp(-factor * down), timing.median_ms * math.exp(factor * up)


def with_drift(
    middle: float, low: float, high: float, rounds: Sequence[float]
) -> tuple[float, float, float]:
    """(median, low, high), at least as wide as half of the span of the rounds' medians, in logarithms.

    >>> with_drift(10.0, 9.9, 10.1, (10.0, 12.1))
    (10.0, 9.090909, 11.0)
    """
    drift = math.sqrt(max(rounds) / min(rounds)) if len(rounds) > 1 else 1.0
    return middle, min(low, round(middle / drift, 6)), max(high, round(middle * drift, 6))

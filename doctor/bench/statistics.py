"""Medians, their intervals, ratios and means. Pure.

The median and its interval are those of the child's own stop rule (inside/bench/clock.py), in one place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from doctor.inside.bench import clock

PRECISE, LEAST_INTERVAL = clock.PRECISE, clock.LEAST_INTERVAL


def median(values: Sequence[float]) -> float:
    """The middle value. ValueError where there is none.

    >>> median([3.0, 1.0, 2.0]), median([1.0, 2.0])
    (2.0, 1.5)
    """
    if not values:
        raise ValueError("no values")
    return clock.median(list(values))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """(low, high) of the median with 95 % confidence, by order statistics; of fewer than six values all of them."""
    return clock.interval(list(values))


def is_precise(values: Sequence[float]) -> bool:
    """Whether the half-width of the interval is within 2 % of the median."""
    return clock.is_precise(list(values))


def percentile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between the ordered values.

    >>> percentile([1.0, 2.0, 3.0], 0.5), percentile([1.0], 0.95)
    (2.0, 1.0)
    """
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def ratio(above: tuple[float, float, float], below: tuple[float, float, float]) -> tuple[float, float, float]:
    """(ratio, low, high) of two medians, each (median, low, high). The ends are those that independent errors of both
    sides reach together, in the logarithm: the same confidence as each side's.

    >>> ratio((2.0, 1.9, 2.1), (1.0, 1.0, 1.0))
    (2.0, 1.9, 2.1)
    """
    middle = above[0] / below[0]
    down = math.hypot(math.log(above[0] / above[1]), math.log(below[2] / below[0]))
    up = math.hypot(math.log(above[2] / above[0]), math.log(below[0] / below[1]))
    return middle, round(middle * math.exp(-down), 9), round(middle * math.exp(up), 9)


def geometric_mean(ratios: Iterable[tuple[float, float, float]]) -> tuple[float, float, float] | None:
    """(mean, low, high) of ratios; None of none. Errors of rows are independent."""
    logs = [tuple(math.log(r) for r in one) for one in ratios]
    if not logs:
        return None
    n = len(logs)
    middle = sum(log[0] for log in logs) / n
    down = math.sqrt(sum((log[0] - log[1]) ** 2 for log in logs)) / n
    up = math.sqrt(sum((log[2] - log[0]) ** 2 for log in logs)) / n
    return math.exp(middle), math.exp(middle - down), math.exp(middle + up)


def growth(series: Sequence[tuple[int, ...]], column: int) -> tuple[float, float, float]:
    """(bytes a step, bytes in all, share of the readings that rose) of one counter of memory over steps."""
    readings = [(row[0], row[column]) for row in series]
    if len(readings) < 2 or readings[-1][0] <= readings[0][0]:
        return 0.0, 0.0, 0.0
    total = readings[-1][1] - readings[0][1]
    rises = sum(b[1] > a[1] for a, b in pairwise(readings))
    return total / (readings[-1][0] - readings[0][0]), float(total), rises / (len(readings) - 1)

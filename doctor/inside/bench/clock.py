"""When a clock may start, and when it may stop. Numbers only: also doctor/bench/statistics.py uses it.

The interval of the median is that of order statistics (Hoefler and Belli, Scientific Benchmarking of Parallel
Computing Systems, SC 2015): it assumes no distribution.
"""

import math

BLOCK_S = 0.010  # of steps between two synchronisations, at least
PRECISE = 0.02  # half-width of the interval, as a share of the median
LEAST_BLOCKS = 10  # below six there is no interval of 95 %
SLOPE = 0.01  # over the last ten medians
MEDIANS = 10
GROUP = 3  # blocks of which one median is made
WARM_BLOCKS = MEDIANS * GROUP  # that say whether it is warm
LEAST_INTERVAL = 6  # values that have an interval of 95 %; of fewer there is only their range
Z = 1.96


def median(values: "list[float]") -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])


def interval(values: "list[float]") -> "tuple[float, float]":
    """(low, high) of the median, 95 %; of fewer than six values the smallest and the largest."""
    ordered = sorted(values)
    n = len(ordered)
    low = int(math.floor((n - Z * math.sqrt(n)) / 2.0))
    high = int(math.ceil(1 + (n + Z * math.sqrt(n)) / 2.0))
    return ordered[max(low, 1) - 1], ordered[min(high, n) - 1]


def is_precise(values: "list[float]") -> bool:
    if len(values) < LEAST_BLOCKS:
        return False
    low, high = interval(values)
    return high - low <= 2 * PRECISE * median(values)


def slope(values: "list[float]") -> float:
    """How much the values change over their whole length, as a share of their mean: the line of least squares."""
    n = len(values)
    mean_x, mean_y = (n - 1) / 2.0, sum(values) / float(n)
    above = sum((x - mean_x) * (y - mean_y) for x, y in enumerate(values))
    below = sum((x - mean_x) ** 2 for x in range(n))
    return above / below * (n - 1) / mean_y


def is_warm(blocks: "list[float]") -> bool:
    """Whether the last ten medians, of three blocks each, lie level."""
    if len(blocks) < WARM_BLOCKS:
        return False
    last = blocks[-WARM_BLOCKS:]
    return abs(slope([median(last[i:i + GROUP]) for i in range(0, len(last), GROUP)])) < SLOPE


def steps_for(seconds_a_step: float) -> int:
    """Steps of a block."""
    return max(1, int(math.ceil(1.1 * BLOCK_S / max(seconds_a_step, 1e-7))))

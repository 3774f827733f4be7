"""Many whole numbers side by side in one integer: Python then adds and multiplies them all at once, where NumPy would
be too much to ask of a machine that is only looked at.

A number may be negative. Each has LANE bits, of which sums and products use as many as they need.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache

LANE = 64  # bits
_HALF = 1 << (LANE - 1)


def packed(numbers: Iterable[tuple[int, int]]) -> int:
    """One integer of (place, number) each.

    >>> unpacked(3 * packed([(0, 5), (2, -7)]), 3)
    (15, 0, -21)
    """
    return sum(number << (LANE * place) for place, number in numbers)


def unpacked(whole: int, count: int) -> tuple[int, ...]:
    """The numbers at the first `count` places, each below 2**63 in size."""
    said = (whole + halves(count)).to_bytes(count * LANE // 8, "little")
    return tuple(number - _HALF for number in struct.unpack(f"<{count}Q", said))


@cache
def halves(count: int) -> int:
    """2**63 at each place: what makes a number that may be negative one that is not."""
    return sum(_HALF << (LANE * place) for place in range(count))

"""Numbers side by side are added and multiplied like each for itself."""

from __future__ import annotations

import doctest

from hypothesis import given
from hypothesis import strategies as st

from doctor.knowledge import lanes

NUMBERS = st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=40)


@given(NUMBERS, st.lists(st.integers(-1000, 1000), min_size=1, max_size=20))
def test_sums_of_products(numbers: list[int], factors: list[int]) -> None:
    whole = sum(factor * lanes.packed(enumerate(numbers)) for factor in factors)
    assert lanes.unpacked(whole, len(numbers)) == tuple(sum(factors) * number for number in numbers)


def test_examples() -> None:
    ran = doctest.testmod(lanes)
    assert (ran.failed, ran.attempted) == (0, 1)

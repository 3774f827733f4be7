"""Which cases of a costly test run: a sample, all of them with TORCHDOCTOR_TEST_ALL=1, or few with
TORCHDOCTOR_TEST_FAST=1 (`scripts/test --fast`).

Some samples are drawn anew each day. The end of a run says by which seed, and TORCHDOCTOR_TEST_SEED=… repeats it.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import TypeVar

import pytest

T = TypeVar("T")
ALL = os.environ.get("TORCHDOCTOR_TEST_ALL", "") not in ("", "0")
FAST = os.environ.get("TORCHDOCTOR_TEST_FAST", "") not in ("", "0")
EXAMPLES = 20  # of a property test in a fast run
SEED = os.environ.get("TORCHDOCTOR_TEST_SEED") or datetime.now(timezone.utc).strftime("%Y-%m-%d")
os.environ["TORCHDOCTOR_TEST_SEED"] = SEED  # the same for all workers
whole = pytest.mark.skipif(not ALL, reason="TORCHDOCTOR_TEST_ALL=1 runs it")


def only(cases: Iterable[T], kept: Iterable[T]) -> list[T]:
    """The kept ones, each of which must be a case: a name that is gone would silently test nothing."""
    cases, kept = list(cases), list(kept)
    missing = [case for case in kept if case not in cases]
    assert not missing, f"no longer a case: {missing}"
    return cases if ALL else [case for case in cases if case in kept]


def every(step: int, cases: Iterable[T]) -> list[T]:
    """Every step-th."""
    return list(cases)[:: 1 if ALL else step]


def drawn(number: int, cases: Iterable[T], name: str) -> list[T]:
    """Today's sample of that many, in their order; `name` lets each test draw its own."""
    cases = list(cases)
    if ALL or number >= len(cases):
        return cases
    kept = set(random.Random(f"{SEED} {name!a}").sample(range(len(cases)), number))
    return [case for place, case in enumerate(cases) if place in kept]


def examples(number: int) -> int:
    """How many examples a property test tries that asks for a number of its own."""
    return min(number, EXAMPLES) if FAST else number

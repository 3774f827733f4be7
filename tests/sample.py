"""Which cases of a costly test run in the suite: a sample, and all of them with TORCHDOCTOR_TEST_ALL=1."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

import pytest

T = TypeVar("T")
ALL = os.environ.get("TORCHDOCTOR_TEST_ALL", "") not in ("", "0")
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

"""No text makes an expression slow: every one that runs over foreign text, against texts made to be its worst case.

The readers see lines of at most LINE_LIMIT characters, so 100 kB are 25 such lines: each may cost a 25th of 50 ms. What
takes longer is measured again, and the best time of this thread on the processor counts, so that a busy machine makes no
failure; on a slow machine the limit grows with the time of a plain expression, measured beside it.
"""

import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import pytest

from doctor.evidence.text import LINE_LIMIT
from tests.evidence.adversaries import LINE, adversaries
from tests.evidence.patterns import Used, elsewhere, of_readers, of_redaction

PER_100_KB_S = 0.05
VALUE = 500  # characters of a value, a quote or a message that a check sees
YARDSTICK_S = 0.00005  # what the plain expression takes on a machine of 2023
CLOCK = time.perf_counter if sys.platform == "win32" else time.thread_time
readers, redaction, others = cache(of_readers), cache(of_redaction), cache(elsewhere)  # made when a test asks


class Endless(Exception):
    """An expression that does not end."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise Endless after that time (re looks for signals), where the system has such a timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds_of(work: Callable[[], object], enough: float, rounds: int = 6) -> float:
    """The best time of some rounds, or the first that is good enough."""
    best = float("inf")
    for _ in range(rounds):
        started = CLOCK()
        work()
        best = min(best, CLOCK() - started)
        if best <= enough:
            break
    return best


def slowness_now() -> float:
    """How much slower than the machine of YARDSTICK_S this one is; at least 1."""
    text, plain = "ab-" * 2_000, re.compile(r"(?:\w{1,2}-)+x")
    return max(1.0, seconds_of(lambda: plain.match(text), 0.0) / YARDSTICK_S)


slowness = cache(slowness_now)


def run(used: Used, text: str) -> None:
    expression = re.compile(used.pattern, used.flags)
    if used.searched:
        for _ in expression.finditer(text):
            pass
    else:
        expression.match(text)
        expression.fullmatch(text)


def slow(used: Used, longest: int, allowed: float) -> str:
    """The text that takes too long, or "". A short piece of each text goes first: what is quick on it, even were the
    time to grow with the third power of the length, needs no more."""
    short = longest // 4
    for text in adversaries(used.pattern, used.flags):
        try:
            with limit(1.0):
                piece = text[: short // 2] + text[len(text) - short // 2 :]
                if seconds_of(lambda piece=piece: run(used, piece), allowed / 64, 2) <= allowed / 64:  # type: ignore[misc]
                    continue
                whole = text[:longest]
                taken = seconds_of(lambda whole=whole: run(used, whole), allowed)  # type: ignore[misc]
        except Endless:
            taken = float("inf")
        if taken > allowed * max(1.0, slowness_now() / slowness() if taken > allowed else 1.0):
            return f"{taken * 1000:.1f} ms of {allowed * 1000:.1f} for {text[:60]!r} … {text[-20:]!r}"
    return ""


def test_lines_are_no_longer_than_the_texts_here() -> None:
    assert LINE_LIMIT <= LINE


def slow_again(used: Used, longest: int, allowed: float) -> str:
    """The same, if it is so each of three times: other programs have the CPU for seconds. What is not linear stays."""
    said = slow(used, longest, allowed)
    for pause_s in (0.5, 2.0):
        if not said:
            break
        time.sleep(pause_s)
        said = slow(used, longest, allowed)
    return said


@pytest.mark.parametrize("share", range(8))
def test_no_text_makes_a_reader_slow(share: int) -> None:
    allowed = PER_100_KB_S * LINE / 100_000 * slowness()
    failed = {used.where: said for used in readers()[share::8] if (said := slow_again(used, LINE, allowed))}
    assert not failed


@pytest.mark.parametrize("share", range(4))
def test_no_text_makes_redaction_slow(share: int) -> None:
    allowed = PER_100_KB_S * LINE / 100_000 * slowness()
    failed = {used.where: said for used in redaction()[share::4] if (said := slow_again(used, LINE, allowed))}
    assert not failed


def test_no_value_makes_a_check_slow() -> None:
    allowed = 0.01 * slowness()
    failed = {used.where: said for used in others() if (said := slow_again(used, VALUE, allowed))}
    assert not failed


def test_the_expressions_are_found() -> None:
    assert len(readers()) > 450
    assert len(others()) > 200
    assert len(redaction()) > 120
    assert {"evidence", "messages"} <= {re.split(r"[/.]", used.where)[0] for used in readers()}


@pytest.mark.parametrize(
    ("pattern", "searched"),
    [
        (r"(a+)+$", False),
        (r"\w+Error", True),
        (r"^[ \t]*\w*[ \t]*[:=]", False),
        (r"torch.*cuda.*driver", True),
        (r"^x[ \t*]*\**[ \t]*:", False),
        (r"a[\w.]*(?:\.\w+)*!", True),
        (r"\s+$", True),
    ],
)
def test_a_slow_expression_is_caught(pattern: str, searched: bool) -> None:
    assert slow(Used("here", pattern, 0, searched), LINE, PER_100_KB_S * LINE / 100_000)

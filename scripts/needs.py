"""doctor/needs.py: what each regular expression needs in a text. Of the sets of words that its parsed form requires,
those are taken that stand in the fewest places of the bank's tickets. An expression that has a row keeps it, so that
new tickets change nothing; to choose anew, delete its row."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import doctor
from doctor.knowledge import lookup
from doctor.knowledge.literals import flags_of, required_of_each, required_sets, shortest, within_line
from doctor.regex import ALTERNATIVE, SET, WORD, Regex, folded, key, needed, spanning_pieces

TICKETS = Path(__file__).resolve().parent.parent / "tests" / "cases" / "bank"
EVERY = 5  # how many tickets there are for one that is counted
SETS = 3  # of an expression
LONGEST = 20  # characters of a word
EXPENSIVE = 150  # characters of an expression whose alternatives are looked at one by one
OF_EACH = 3  # sets of an alternative, those of the fewest words
GAIN = 0.9  # a further set must leave at most this share of the tickets
SEARCH = 25  # what it costs to search one line, in words that are looked for
SHORTEST = 4  # characters that stand for several words
HEAD = '''"""What each regular expression needs in a text, by the hash of the expression: «1» where a match lies in one
line, else «0», and sets of words of which each has one in every match, in one text (see needed() of regex.py): a module
of texts is loaded four times as fast as one of tuples. Made by scripts/generate.py; do not edit."""

# ruff: noqa: E501
NEEDS: dict[int, str] = {
'''
BETWEEN = '''# Of expensive expressions the sets of each alternative.
ALTERNATIVES: dict[int, str] = {
'''
Alternatives = tuple[tuple[tuple[str, ...], ...], ...]


def expressions() -> Iterator[tuple[str, int]]:
    """(pattern, flags) of every Regex of the doctor, and of the rows of messages."""
    for module in pkgutil.walk_packages(doctor.__path__, "doctor."):
        if ".inside" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    yield from ((one.pattern, int(one.flags)) for one in gc.get_objects() if isinstance(one, Regex))
    for row in lookup.error_patterns():
        flags = flags_of(row.flags)
        if "s" in row.flags:
            yield from ((piece, flags) for pieces in spanning_pieces(row.regex) for piece in pieces)
        else:
            yield row.regex, flags
        if row.unless:
            yield row.unless, int(re.IGNORECASE)


@cache
def _tickets() -> tuple[str, ...]:
    paths = sorted(TICKETS.glob("*/*/input.txt"))[::EVERY]
    return tuple(folded(path.read_text(encoding="utf-8", errors="replace")) for path in paths)


@cache
def _lines_with(word: str) -> tuple[int, ...]:
    """In how many places of each ticket the word stands."""
    return tuple(ticket.count(word) for ticket in _tickets())


def _places(words: frozenset[str]) -> list[int]:
    return [sum(counts) for counts in zip(*map(_lines_with, words), strict=True)]


@cache
def _cost(part: str) -> float:
    """What it costs to look for it, and to search the lines of a ticket that hold it, in words."""
    counts = [sum(part in line for line in ticket.split("\n")) for ticket in _tickets()]
    return 1 + SEARCH * sum(counts) / len(counts)


def compact(words: frozenset[str]) -> frozenset[str]:
    """Parts of the words that stand for all of them, at the least cost: few, and in few lines of the tickets."""
    parts: dict[str, set[str]] = {word: {word} for word in words}
    for word in words:
        for begin in range(len(word)):
            for end in range(begin + SHORTEST, len(word)):
                parts.setdefault(word[begin:end], set()).add(word)
    left, chosen = set(words), set[str]()
    while left:
        of_left = ((part, len(held & left)) for part, held in parts.items())
        worth = {part: number / _cost(part) for part, number in of_left if number > (part not in words)}
        best = max(worth, key=lambda part: (worth[part], len(part), part))
        chosen.add(best)
        left -= parts[best]
    return frozenset(chosen)


def _few(words: frozenset[str], longest: int = LONGEST) -> frozenset[str]:
    return shortest(compact(shortest(frozenset(word[-longest:] for word in words))))


def needs_of(pattern: str, flags: int, longest: int = LONGEST) -> tuple[bool, tuple[tuple[str, ...], ...]]:
    """The row of an expression, with words of at most that many characters."""
    short = {_few(words, longest) for words in required_sets(pattern, flags)}
    sets = {words: _places(words) for words in short}
    chosen: list[frozenset[str]] = []
    left = [1] * len(_tickets())
    for words in sorted(sets, key=lambda words: (sum(min(n, 20) for n in sets[words]) + len(words) / 8, sorted(words))):
        still = [a and b for a, b in zip(left, sets[words], strict=True)]
        if not chosen or sum(map(bool, still)) <= GAIN * sum(map(bool, left)) - 1:
            chosen.append(words)
            left = still
    return within_line(pattern, flags), tuple(tuple(sorted(words)) for words in chosen[:SETS])


def alternatives_of(pattern: str, flags: int) -> Alternatives:
    """What each alternative of an expensive expression needs; () where that says no more than its row."""
    each = required_of_each(pattern, flags) if len(pattern) >= EXPENSIVE else []
    if not all(each) or all(len(sets) < 2 for sets in each):
        return ()
    short = (sorted(map(_few, sets), key=len)[:OF_EACH] for sets in each)
    return tuple(tuple(tuple(sorted(words)) for words in sets) for sets in short)


def text() -> str:
    """The module as it should be."""
    rows, alternatives = {}, {}
    for pattern, flags in expressions():
        number = key(pattern, flags)
        within, sets = needed(number) or needs_of(pattern, flags)
        if sets:
            rows[number] = f"{within:d}{_joined(sets)}"
            if each := alternatives_of(pattern, flags):
                alternatives[number] = ALTERNATIVE.join(map(_joined, each))
    return HEAD + _lines(rows) + BETWEEN + _lines(alternatives)


def _joined(sets: Iterable[Iterable[str]]) -> str:
    return SET.join(map(WORD.join, sets))


def _lines(rows: Mapping[int, object]) -> str:
    return "".join(f"    {number}: {rows[number]!r},\n" for number in sorted(rows)) + "}\n"

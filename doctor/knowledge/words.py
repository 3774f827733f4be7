"""Which diagnoses the tickets had that read like a text: one logistic regression a cause over its words and over what
was understood of it, and the network over its phrases (phrases.py), whose logarithms of odds are averaged.
Only what compares texts loads it: most texts are not compared.

A term is a word, its letters without the digits, a number, or two of these that follow each other; a word or a pair of
the title or of the last exception; or a trait (doctor/accounting/traits.py). How often it stands is not counted.
Chinese, Japanese and Korean, which have no spaces between words, are taken apart into pairs of characters.
scripts/learn_words.py learns the table from the labelled tickets: how rare each term is and how much it tells (one
number), and how much it speaks for or against each cause. scripts/learn_phrases.py learns the network, and how often
tickets with such odds did have the cause.
"""

from __future__ import annotations

import math
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from doctor.knowledge import lanes, phrases
from doctor.knowledge.load import of_tables, parsed, row_lines, table
from doctor.regex import Regex

HEALTHY = "healthy"  # the cause of tickets in which nothing was wrong
ELSEWHERE = "elsewhere"  # what stands for a cause in texts that have nothing to do with torch
PHRASES = 0.6  # what the network's logarithm of the odds counts; that of the words counts the rest
SUREST = 9.2  # the highest logarithm of odds of each: neither outweighs the other for good
ENOUGH = 4  # words of a text that are known; of fewer nothing is concluded
ACCEPTED = 2  # causes that a label counts as right, about: the shares are at most so much together
KEPT = 20_000  # terms of which is kept what the table says
KEPT_BUCKETS = 256  # and buckets, some kB each
READ = 200_000  # characters: what a ticket says of its cause is said by then
EXCEPTION_WORDS = 40  # of the line of an exception
BIAS_UNIT, RARITY_UNIT, WEIGHT_UNIT = 100, 100, 10  # the table holds whole numbers
END, FIELD = "|", "~"  # of a term, and within it: no term holds them, and JSON need not escape them, which costs time
PLACES = _TITLE, _EXCEPTION = "title ", "exception "  # before a term of the title, and of the last exception
_ADDRESS = Regex(r"https?://\S+")
_UNSPACED = Regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ASCII_WORD = Regex(r"[a-z_][a-z_0-9]*[a-z_0-9]|\d+\.\d+|(?<![\w.])\d{1,5}(?![\w.])|0x[0-9a-f]+")
_WORD = Regex(rf"{_ASCII_WORD.pattern}|{_UNSPACED.pattern}|[\u0400-\u04ff]{{3,}}|[\u00e0-\u00ff]\w+")
_LETTERS = Regex(r"[a-z]{2,}")
_RAISED = Regex(r"^\W*(?:[\w.]+\.)?\w*(?:error|exception|warning|interrupt|exit)\b\s*[:(]?.*$")


class Resemblance(NamedTuple):
    """A cause that tickets with such words had. `share`: 0 to 1, of the tickets with such odds for a cause those that
    had it, each judged without having been learned. `tickets`: how many of the labelled ones had this cause. `odds`: 0
    to 1, what the regression says; they tell apart causes of the same share."""

    cause: str
    share: float
    tickets: int
    odds: float = 0.0


def terms_of(text: str) -> frozenset[str]:
    """The terms of a text, in lower case. The title is the first line of several words: no «Hello», no mark of a
    block."""
    said = _ADDRESS.sub(" ", text[:READ]).lower()
    lines = said.split("\n")
    words = _words(said)
    title = next((found for line in lines if len(found := _words(line)) > 1), [])
    raised = next((line for line in reversed(lines) if _RAISED.match(line.strip()[:600])), "")
    letters = {part for word in {*words} if not word.isalpha() for part in _LETTERS.findall(word)}
    return frozenset(
        (*words, *letters, *map(" ".join, pairwise(words)), *_marked(_TITLE, title),
         *_marked(_EXCEPTION, _words(raised)[:EXCEPTION_WORDS]))
    )  # fmt: skip


def _words(text: str) -> list[str]:
    if text.isascii():  # sets of so many letters take a millisecond to compile
        return _ASCII_WORD.findall(text)
    found: list[str] = []
    for word in _WORD.findall(text):
        if word > "\u3000" and _UNSPACED.match(word):
            found += [word[i : i + 2] for i in range(max(1, len(word) - 1))]
        else:
            found.append(word)
    return found


def _marked(mark: str, words: Sequence[str]) -> Iterator[str]:
    """The words and pairs with what tells where they stand."""
    yield from (mark + word for word in words)
    yield from (f"{mark}{one} {next}" for one, next in pairwise(words))


def bucket(term: str, buckets: int) -> int:
    """In which of the table's buckets a term is found: the table is too large to be taken apart for one text."""
    return zlib.crc32(term.encode()) % buckets


def _said_of(term: str) -> str | None:
    """What the table says of a term: how rare it is, and its weights; None where it has none of that name."""
    buckets = row_lines("words", "terms")
    held, sought = _bucket(bucket(term, len(buckets))), f"{END}{term}{FIELD}"
    place = held.find(sought)
    if place < 0:
        return None
    start = place + len(sought)
    found: str = held[start : held.index(END, start)]
    return found


_said = of_tables(_said_of, KEPT)


def _bucket_at(place: int) -> str:
    """The terms of a bucket and what the table says of them."""
    lines: str = parsed(row_lines("words", "terms")[place])["lines"]
    return lines


_bucket = of_tables(_bucket_at, KEPT_BUCKETS)


@of_tables
def _causes() -> tuple[tuple[str, int, int], ...]:
    """(cause, tickets that had it, its bias) of each cause."""
    rows = map(parsed, row_lines("words", "causes"))
    return tuple((row["cause"], row["tickets"], row["bias"]) for row in rows)


@of_tables
def _weights(said: str) -> tuple[int, int]:
    """ "547~3:-12 7:40" -> (how rare, its weight for each cause, times the rarity, side by side)."""
    rarity, _, weights = said.partition(FIELD)
    pairs = (pair.split(":") for pair in weights.split())
    return int(rarity), int(rarity) * lanes.packed((int(place), int(weight)) for place, weight in pairs)


@of_tables
def _shares() -> tuple[Sequence[float], Sequence[float]]:
    """(odds, share of the tickets with such odds that had the cause), both rising, from 0 to 1."""
    rows = table("phrases")["shares"]
    return [row["odds"] for row in rows], [row["share"] for row in rows]


def says(terms: frozenset[str], traits: Iterable[str] = ()) -> dict[str, float]:
    """Cause -> how much the terms and traits of a text speak for it, as logarithm of the odds; {} where too few of the
    terms are known."""
    found = {term: said for term in (*terms, *traits) if (said := _said(term)) is not None}
    if sum(1 for term in found if term in terms and " " not in term) < ENOUGH:
        return {}
    known = [_weights(said) for said in found.values()]
    length = WEIGHT_UNIT * math.sqrt(sum(rarity * rarity for rarity, _ in known))
    sums = lanes.unpacked(sum(weights for _, weights in known), len(_causes()))
    return {cause: bias / BIAS_UNIT + own / length for (cause, _, bias), own in zip(_causes(), sums, strict=True)}


def resemblances(text: str, terms: frozenset[str], traits: Iterable[str] = ()) -> tuple[Resemblance, ...]:
    """The causes that tickets like a text had, the likeliest first, from its phrases and its terms; () where too few
    of the terms are known, or they speak of something else than torch."""
    of_words = says(terms, traits)
    if not of_words or of_words.pop(ELSEWHERE) > 0:
        return ()
    of_phrases = phrases.says(text)
    odds = {cause: joined_odds(said, of_phrases.get(cause, said)) for cause, said in of_words.items()}
    shares = {cause: _share(own) for cause, own in odds.items()}
    whole = max(1.0, sum(shares.values()) / ACCEPTED)  # of a text with few words many causes have high odds
    number = {cause: tickets for cause, tickets, _ in _causes()}
    made = (Resemblance(cause, shares[cause] / whole, number[cause], own) for cause, own in odds.items())
    return tuple(sorted(made, key=lambda r: (-r.odds, r.cause)))


def joined_odds(of_words: float, of_phrases: float) -> float:
    """The odds, 0 to 1, from both logarithms of them."""
    words, network = (max(-SUREST, min(SUREST, said)) for said in (of_words, of_phrases))
    return 1 / (1 + math.exp(-((1 - PHRASES) * words + PHRASES * network)))


def _share(odds: float) -> float:
    """What odds are worth: between two rows of the table, in a straight line."""
    from_, to = _shares()
    place = max(1, min(bisect_right(from_, odds), len(from_) - 1))
    low, high = from_[place - 1], from_[place]
    return to[place - 1] + (to[place] - to[place - 1]) * (odds - low) / (high - low)

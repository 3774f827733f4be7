"""Which diagnoses the tickets had that read like a text: one logistic regression a cause over its words and over what
was understood of it. The public name is lookup.py's.

A term is a word (of languages without spaces: two characters that follow each other), its letters without the digits, a
number, two of these that follow each other, a word or a pair of the title or of the last exception, or a trait
(doctor/accounting/traits.py); how often it stands is not counted. scripts/learn_words.py learns the table from the labelled tickets: how rare each term is, how much it
speaks for or against each cause, and how often tickets with such odds did have the cause.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from doctor.knowledge.load import of_tables, table
from doctor.model.values import dataclass

HEALTHY = "healthy"  # the cause of tickets in which nothing was wrong
ENOUGH = 12  # terms of a text that are known; of fewer nothing is concluded
ACCEPTED = 2  # causes that a label counts as right, about: the shares are at most so much together
READ = 200_000  # characters: what a ticket says of its cause is said by then
BIAS_UNIT, RARITY_UNIT, WEIGHT_UNIT = 100, 100, 10  # the table holds whole numbers
_TITLE, _EXCEPTION = "title ", "exception "
_ADDRESS = re.compile(r"https?://\S+")
# Without spaces between words: Chinese, Japanese, Korean, taken apart into pairs of characters.
_UNSPACED = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
_WORD = re.compile(rf"[a-z_]\w*[a-z0-9_]|0x[0-9a-f]+|\d+\.\d+|(?<![\w.])\d{{1,5}}(?![\w.])|{_UNSPACED}|[^\W\d_a-z]\w{{2,}}", re.A)
@dataclass(frozen=True, kw_only=True)
class Resemblance:
    """A cause that tickets with such words had. `share`: 0 to 1, of the tickets with such odds for a cause those that
    had it, each judged without having been learned. `tickets`: how many of the labelled ones had this cause."""

    cause: str
    share: float
    tickets: int


def terms_of(text: str) -> frozenset[str]:
    """The words of a text, its pairs of neighbouring words, and the words of its title, in lower case. The title is
    the first line of several words: no «Hello», no mark of a block."""
    said = _ADDRESS.sub(" ", text[:READ]).lower()
    words = _WORD.findall(said)
    title = next((found for line in said.split("\n") if len(found := _WORD.findall(line)) > 1), [])
    return frozenset((*words, *map(" ".join, pairwise(words)), *(_TITLE + word for word in title)))


@of_tables
def _terms() -> dict[str, str]:
    """term -> how rare it is, and its weights, as the table has them: few of them are needed for one text."""
    return dict(line.split("\t", 1) for row in table("words")["terms"] for line in row["lines"].split("\n"))


@of_tables
def _weights(said: str) -> tuple[int, tuple[tuple[int, float], ...]]:
    """ "547<tab>3:-12 7:40" -> (how rare, (place of a cause, weight) each)."""
    rarity, _, weights = said.partition("\t")
    pairs = (pair.split(":") for pair in weights.split())
    return int(rarity), tuple((int(place), int(weight) / WEIGHT_UNIT) for place, weight in pairs)


@of_tables
def _shares() -> tuple[Sequence[float], Sequence[float]]:
    """(odds, share of the tickets with such odds that had the cause), both rising, from 0 to 1."""
    rows = table("words")["shares"]
    return [row["odds"] for row in rows], [row["share"] for row in rows]


def resemblances(terms: frozenset[str], traits: Iterable[str] = ()) -> tuple[Resemblance, ...]:
    """The causes that tickets like a text had, the likeliest first, from its terms; () where too few of them are
    known."""
    heard = [found for term in sorted(terms) if (found := _terms().get(term))]
    if len(heard) < ENOUGH:
        return ()
    understood = [found for trait in sorted(traits) if (found := _terms().get(trait))]
    known = [_weights(found) for found in (*heard, *understood)]
    length = math.sqrt(sum(rarity * rarity for rarity, _ in known))
    causes = table("words")["causes"]
    says = [row["bias"] / BIAS_UNIT for row in causes]
    for rarity, weights in known:
        for place, weight in weights:
            says[place] += weight * rarity / length
    odds = [1 / (1 + math.exp(-max(-30.0, min(30.0, said)))) for said in says]
    shares = [_share(own) for own in odds]
    whole = max(1.0, sum(shares) / ACCEPTED)  # of a text with few words many causes have high odds
    made = (
        Resemblance(cause=row["cause"], share=share / whole, tickets=row["tickets"])
        for share, row in zip(shares, causes, strict=True)
    )
    return tuple(sorted(made, key=lambda r: (-r.share, r.cause)))


def _share(odds: float) -> float:
    """What odds are worth: between two rows of the table, in a straight line."""
    from_, to = _shares()
    place = max(1, min(bisect_right(from_, odds), len(from_) - 1))
    low, high = from_[place - 1], from_[place]
    return to[place - 1] + (to[place] - to[place - 1]) * (odds - low) / (high - low)

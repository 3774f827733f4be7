"""Which diagnoses the tickets had that read like a text: one logistic regression a cause over its words. The public
name is lookup.py's.

A term is a word, a number of three or four digits (a GPU's, an error's), or two of these that follow each other; how
often it stands is not counted. scripts/learn_words.py learns the table from the labelled tickets: how rare each term
is, and how much it speaks for or against each cause.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from doctor.knowledge.load import of_tables, table
from doctor.model.values import dataclass

HEALTHY = "healthy"  # the cause of tickets in which nothing was wrong
READ = 200_000  # characters: what a ticket says of its cause is said by then
BIAS_UNIT, RARITY_UNIT, WEIGHT_UNIT = 100, 100, 10  # the table holds whole numbers
_ADDRESS = re.compile(r"https?://\S+")
_WORD = re.compile(r"[a-z_][a-z_]+|(?<![\w.])\d{3,4}(?![\w.])")


@dataclass(frozen=True, kw_only=True)
class Resemblance:
    """A cause that tickets with such words had. `share`: 0 to 1, of all causes. `tickets`: how many of the labelled
    ones had it."""

    cause: str
    share: float
    tickets: int


def terms_of(text: str) -> frozenset[str]:
    """The words of a text, and its pairs of neighbouring words, in lower case."""
    words = _WORD.findall(_ADDRESS.sub(" ", text[:READ]).lower())
    return frozenset(words) | {f"{first} {second}" for first, second in pairwise(words)}


@of_tables
def _terms() -> dict[str, tuple[int, str]]:
    """term -> (how rare it is, its weights by the place of the cause)."""
    return {row["term"]: (row["rarity"], row["weights"]) for row in table("words")["terms"]}


def resemblances(text: str) -> tuple[Resemblance, ...]:
    """The causes that tickets like this text had, the likeliest first. () where it has no known term."""
    known = [found for term in sorted(terms_of(text)) if (found := _terms().get(term))]
    if not known:
        return ()
    length = math.sqrt(sum(rarity * rarity for rarity, _ in known))
    causes = table("words")["causes"]
    says = [row["bias"] / BIAS_UNIT for row in causes]
    for rarity, weights in known:
        for weight in weights.split():
            place, _, value = weight.partition(":")
            says[int(place)] += int(value) / WEIGHT_UNIT * rarity / length
    odds = [1 / (1 + math.exp(-max(-30.0, min(30.0, said)))) for said in says]
    whole = sum(odds)
    alike = (
        Resemblance(cause=row["cause"], share=own / whole, tickets=row["tickets"])
        for row, own in zip(causes, odds, strict=True)
    )
    return tuple(sorted(alike, key=lambda r: (-r.share, r.cause)))

"""Which diagnoses the tickets had that read like a text: naive Bayes over their words. The public name is lookup.py's.

A term is a word, or two that follow each other, without digits and addresses; how often it stands is not counted. The
table holds in how many labelled tickets of each cause a term occurs. Causes are compared by the mean of the logarithms
of how much more often a ticket of that cause has the term than any ticket has: by the square root of the number of
known terms, as terms of one text say the same thing many times over.
"""

from __future__ import annotations

import math
import re
from itertools import pairwise

from doctor.knowledge.load import of_tables, table
from doctor.model.values import dataclass

READ = 200_000  # characters: what a ticket says of its cause is said by then
SMOOTHING = 8.0  # tickets that a cause is taken to have had besides, with terms like those of all tickets
_ADDRESS = re.compile(r"https?://\S+")
_WORD = re.compile(r"[a-z_][a-z_]+")


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
def _tickets() -> dict[str, int]:
    """cause -> labelled tickets; "healthy" is one of the causes."""
    return {row["cause"]: row["tickets"] for row in table("words")["causes"]}


@of_tables
def _counts() -> dict[str, dict[str, int]]:
    """term -> cause -> labelled tickets with that term."""
    return {row["term"]: row["counts"] for row in table("words")["terms"]}


def resemblances(text: str) -> tuple[Resemblance, ...]:
    """The causes that tickets like this text had, the likeliest first. () where it has no known term."""
    tickets, counts = _tickets(), _counts()
    whole = sum(tickets.values())
    known = sorted(term for term in terms_of(text) if term in counts)
    if not known:
        return ()
    # What a cause that never had a term is told by it is the same for every such term; the rest is added to it.
    says = {cause: len(known) * math.log(SMOOTHING / (number + SMOOTHING)) for cause, number in tickets.items()}
    for term in known:
        usual = sum(counts[term].values()) / whole
        for cause, number in counts[term].items():
            says[cause] += math.log(number / usual / SMOOTHING + 1)
    score = {cause: math.log(n / whole) + says[cause] / math.sqrt(len(known)) for cause, n in tickets.items()}
    highest = max(score.values())
    weight = {cause: math.exp(value - highest) for cause, value in score.items()}
    total = sum(weight.values())
    return tuple(
        Resemblance(cause=cause, share=weight[cause] / total, tickets=tickets[cause])
        for cause in sorted(weight, key=lambda cause: (-weight[cause], cause))
    )

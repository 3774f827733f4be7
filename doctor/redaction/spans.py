"""What recognisers give: places in a text, with the kind of thing that is there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

Kind = Literal["secret", "user", "host", "ip", "mac", "email", "serial", "uuid", "gpu", "id", "home"]


class Span(NamedTuple):
    """`text[start:end]` is of that kind."""

    start: int
    end: int
    kind: Kind


_RANK = {"secret": 0, "email": 1, "uuid": 1, "gpu": 1}


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans without overlap, in order. Of two that overlap the secret stays, then the one that begins first; what a
    second one has beyond the first is kept as a span of its own, so that nothing found is shown. Overlapping secrets
    are one."""
    kept: list[Span] = []
    every = sorted(spans, key=lambda s: (_RANK.get(s.kind, 2), s.start, -s.end))
    for rank in (0, 1, 2):
        fresh: list[Span] = []
        for span in (s for s in every if _RANK.get(s.kind, 2) == rank):
            last = fresh[-1] if fresh else Span(0, 0, span.kind)
            if span.end <= last.end:
                continue
            if span.start < last.end and rank == 0:
                fresh[-1] = last._replace(end=span.end)
            else:
                fresh.append(span._replace(start=max(span.start, last.end)))
        kept = sorted([*kept, *(piece for span in fresh for piece in _without(span, kept))])
    return kept


def _without(span: Span, others: list[Span]) -> Iterator[Span]:
    """What is left of a span beside others, which are in order and without overlap."""
    start = span.start
    for other in others[bisect_left(others, start, key=lambda o: o.end) :]:
        if other.start >= span.end:
            break
        if other.start > start:
            yield Span(start, other.start, span.kind)
        start = max(start, other.end)
    if start < span.end:
        yield Span(start, span.end, span.kind)

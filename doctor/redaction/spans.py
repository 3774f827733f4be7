"""What recognisers give: places in a text, with the kind of thing that is there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

Kind = Literal["secret", "user", "host", "ip", "mac", "email", "serial", "uuid", "gpu", "id", "home"]


class Span(NamedTuple):
    """`text[start:end]` is of that kind. `shown`: it is known from its surroundings only, and must not be looked for
    elsewhere in the report (a password such as «secret»)."""

    start: int
    end: int
    kind: Kind


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans without overlap, in order. Of two that overlap the secret stays, then the one that begins first; what a
    second one has beyond the first is kept as a span of its own, so that nothing found is shown."""
    rank = {"secret": 0, "email": 1, "uuid": 1, "gpu": 1}
    kept: list[Span] = []
    for span in sorted(spans, key=lambda s: (rank.get(s.kind, 2), s.start, -s.end)):
        pieces = [span]
        for other in kept:
            pieces = [rest for piece in pieces for rest in _without(piece, other)]
        kept += [piece for piece in pieces if piece.end > piece.start]
    return sorted(kept)


def _without(span: Span, other: Span) -> list[Span]:
    if span.end <= other.start or span.start >= other.end:
        return [span]
    left = span._replace(end=min(span.end, other.start))
    right = span._replace(start=max(span.start, other.end))
    return [piece for piece in (left, right) if piece.end > piece.start]

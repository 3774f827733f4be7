"""The lines of inside/fleet/, typed. They are foreign: what does not fit is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from doctor.decode import decode, loads
from doctor.model.fleet import Heard

SIZE, ITEMS = 1 << 20, 60_000


@dataclass(frozen=True, kw_only=True)
class Line:
    """`end` and `begin` also come from probe.py, for the import of torch."""

    event: Literal[
        "begin", "end", "config", "joined", "heard", "pair", "collective", "soak", "failed", "note", "ready", "done",
    ]  # fmt: skip
    stage: str = ""
    limit: float | None = None
    ok: bool | None = None
    ms: float | None = None
    why: str = ""
    nonce: str = ""
    member: bool = False
    members: tuple[int, ...] = ()
    heard: tuple[Heard, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)


def line_of(text: str) -> Line:
    """One line. Raises Refused."""
    return decode(Line, loads(text, size=SIZE, items=ITEMS))

"""What a rank leaves, as JSON and back. Whatever else wrote the file: bounded, typed, or refused with the reason.

A 64-node record has some kilobytes; the bounds are those of 8,192 ranks, whose collectors name all others.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from doctor.decode import Refused, decode, loads
from doctor.model.fleet import RANK_SCHEMA, RankRecord
from doctor.reports.json import encode

SIZE = 8 << 20  # bytes
ITEMS = 400_000
RANKS = 1 << 20  # nobody has more
WORD = 300  # characters of a word: longer ones are cut where they are written, and refused where they are read
LIST = 100_000


def render(record: RankRecord) -> str:
    """One JSON object on one line, ASCII only. What has its default value is left out: a merge reads thousands."""
    return json.dumps(_told(encode(record)), allow_nan=False, separators=(",", ":")) + "\n"


def _told(value: Any) -> Any:
    """An encoded value without what is empty, inside its objects: null, "", [], {} and false are the defaults of the
    fields; but of `members` none and not known are two things."""
    if isinstance(value, dict):
        return {
            key: _told(one) for key, one in value.items()
            if key == "members" or (one not in (None, "", [], {}) and one is not False)
        }  # fmt: skip
    return [_told(one) for one in value] if isinstance(value, list) else value


def parse(text: str | bytes) -> RankRecord:
    """The record that `render` made. Raises Refused, whose text is one line."""
    data = loads(text, size=SIZE, items=ITEMS)
    said = data.get("schema") if isinstance(data, dict) else None
    if said != RANK_SCHEMA:
        raise Refused(f"it is not what a rank leaves (schema {RANK_SCHEMA})")
    record = decode(RankRecord, data)
    if problem := _problem(record):
        raise Refused(problem)
    return record


def _problem(record: RankRecord) -> str | None:
    """Why it cannot be what a rank left."""
    if not 0 <= record.rank < record.world <= RANKS:
        return f"rank {record.rank} of {record.world} cannot be"
    if not 0 <= record.local_rank <= record.rank:
        return "its local rank is larger than its rank"
    if record.local_world is not None and not 1 <= record.local_world <= RANKS:
        return f"{record.local_world} ranks on one node cannot be"
    if not record.host.strip() or len(record.host) > WORD:
        return "it names no host"
    if len(record.config) > WORD or any(len(word) > WORD for pair in record.config.items() for word in pair):
        return "its configuration is longer than any that a rank writes"
    if any(len(part) > LIST for part in (record.pairs, record.collectives, record.heard, record.soak)):
        return "it has too many measurements"
    rates = (
        *(p.gbs for p in record.pairs), *(p.median_gbs for p in record.pairs),
        *(c.busbw_gbs for c in record.collectives), *(r.tflops for r in record.soak),
    )  # fmt: skip
    if not _possible(rates):
        return "a rate in it cannot be"
    if any(p.source == record.rank for p in record.pairs):
        return "it names itself as a partner"
    if not _known((*(p.source for p in record.pairs), *(record.members or ())), record.world):
        return "it names a rank that is none of its world"
    return None


def _possible(rates: Iterable[float | None]) -> bool:
    return all(rate is None or (math.isfinite(rate) and 0 <= rate < 1e9) for rate in rates)


def _known(ranks: Iterable[int], world: int) -> bool:
    return all(0 <= rank < world for rank in ranks)

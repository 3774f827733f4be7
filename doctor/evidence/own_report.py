"""Our own reports as evidence: the JSON of `check --json`, and the block of a ticket (reports/block.py), wherever it
stands in a text: quoted, with other line ends, edited around. Strict about the schema ("1"), tolerant of keys that this
version doesn't know. Whoever passed it on may have changed it: a part that is not of its type is refused, and is a gap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from doctor.decode import SIZE, Refused, check_probe_data, check_shapes, decode_fields, loads
from doctor.evidence.text import decode
from doctor.model.facts import Facts, Gap, ProbeResult
from doctor.model.values import dataclass
from doctor.regex import Regex

SCHEMA = "1"
MARK = "torchdoctor:v1"  # in reports/block.py an HTML comment on a line of its own
CUT = "torchdoctor's block in this text is cut short or was changed: only the text around it was read"

_BEGIN = Regex(r"\{\s{0,20}\"schema\": ?\"1\",\s{0,20}\"tool\": ?\"torchdoctor ")
_QUOTED = Regex(r"^[ \t]{0,12}(?:>[ \t]?){1,20}", re.M)  # a reply, a quotation in Markdown
BLOCKS_AT_MOST = 5
_DEVICE = Regex(r"--device (?:cpu|cuda|mps|xpu)(?::\d{1,3})?")
_HINTS = (b"torchdoctor", "torchdoctor".encode("utf-16-le"))
_TOKEN = Regex(r"\"(?:[^\"\\\n]|\\.)*\"?|[{}]")


# What surrounds the block in a ticket, and says nothing; what only our own tickets hold.
_BEFORE = Regex(r"(?:<!-- torchdoctor:v1 -->\s{0,8})?(?:`{3,8}|~{3,8})?[a-z]{0,8}\s{0,8}\Z")
_AFTER = Regex(r"\s{0,8}(?:`{3,8}|~{3,8})?\s{0,8}(?:<!-- torchdoctor:v1 -->)?\s{0,8}(?:</details>)?")
_OURS = ("| | layer | |", "<summary>For machines: <code>torchdoctor check")
BEGIN = "<!-- torchdoctor:v1 ticket -->"  # of reports/block.py


@dataclass(frozen=True)
class Own:
    """What a report of ours says: its facts, and the options that had limited what it judged. `outside`: what stands
    in the same text beside it, in the same lines; "" where there is nothing."""

    facts: Facts
    limits: tuple[str, ...] = ()
    outside: str = ""


def read(data: bytes) -> Own | None:
    """The first report of ours in a text; None where there is none that can be read."""
    if not any(hint in data for hint in _HINTS):
        return None
    text = decode(data)
    if text.lstrip()[:1] == "{" and (own := _report(text)) is not None:
        return own
    plain = _QUOTED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    for start, end in _blocks(plain):
        if (own := _report(plain[start:end])) is not None:
            return replace(own, outside=_outside(plain, start, end))
    return None


def _outside(text: str, start: int, end: int) -> str:
    """The text without the block, and without the ticket that the block is the end of."""
    before, after = text[:start], text[end:]
    begin = before.find(BEGIN)  # the first: one that was cut may stand before the whole one
    if begin >= 0:
        before = before[:begin]
    elif any(one in before for one in _OURS):  # a ticket whose first line was cut off: whose words are whose?
        before = ""
    elif match := _BEFORE.search(before):
        before = before[: match.start()]
    if match := _AFTER.match(after):
        after = after[match.end() :]
    if not (before.strip() or after.strip()):
        return ""
    return before + "\n" * text.count("\n", len(before), len(text) - len(after)) + after


def is_cut(data: bytes) -> bool:
    """Whether a text has the mark of a block. Where `read` found none, the block is cut or was changed."""
    return any(MARK.encode(encoding) in data for encoding in ("utf-8", "utf-16-le"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Where the JSON objects stand in a text that begin as a report of ours does, whole ones only."""
    for begin in islice(_BEGIN.finditer(text), BLOCKS_AT_MOST):
        depth = 0
        for token in _TOKEN.compiled.finditer(text, begin.start(), begin.start() + SIZE):
            depth += {"{": 1, "}": -1}.get(token[0], 0)
            if depth == 0:
                yield begin.start(), token.end()
                break


def _report(text: str) -> Own | None:
    try:
        said = loads(text)
        if said.get("schema") != SCHEMA or "torchdoctor" not in str(said.get("tool")) or not said.get("facts"):
            return None
        values, refused = decode_fields(Facts, said["facts"])
    except Refused:
        return None
    for part, value in list(values.items()):
        try:
            check_shapes(value, part)
            if part == "probes":
                _check_probes(value or ())
        except Refused as error:
            del values[part]
            refused[part] = str(error)
    gaps = tuple(
        Gap(fact=part, reason="unreadable", detail=f"torchdoctor's report: {why}", source="report")
        for part, why in refused.items()
    )
    said_limits = said.get("limits")
    limits = said_limits if isinstance(said_limits, list) else []
    known = tuple(str(one) for one in limits if one == "--no-probe" or _DEVICE.fullmatch(str(one)))
    return Own(_with_gaps(values, gaps), known)


def _check_probes(probes: tuple[ProbeResult, ...]) -> None:
    for probe in probes:
        check_probe_data(probe.data)
        for stage in probe.stages:
            check_probe_data(stage.data)


def _with_gaps(values: dict[str, Any], gaps: tuple[Gap, ...]) -> Facts:
    return Facts(**{**values, "gaps": (*values.get("gaps", ()), *gaps)})

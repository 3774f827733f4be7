"""Recognised messages: the patterns of the tables, found in the text. A message is a fact; what it means is not said
here."""

from __future__ import annotations

import re
from functools import cache

from doctor.evidence import tracebacks
from doctor.evidence.notes import Notes
from doctor.evidence.regex import Regex
from doctor.evidence.text import Document
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText

_DOTALL_REACH = 20_000  # a pattern that spans lines is looked for in windows of this many characters
_AT_MOST = 5  # of one pattern
_PATH_IN_MESSAGE = Regex(r"(?<![\w/.])((?:/|[A-Za-z]:[\\/])[^\s:'\"<>|]{2,300}\.(?:so[.\d]*|dylib|dll|pyd|py))")


@cache
def _compiled(regex: str, flags: str) -> re.Pattern[str]:
    letters = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
    value = 0
    for letter in flags:
        value |= letters[letter]
    return re.compile(regex, value)


def read(document: Document, notes: Notes) -> None:
    """Note every message that the tables know."""
    low = document.lower
    found = tracebacks.frames(document)
    for pattern in lookup.error_patterns():
        if pattern.literals and not any(literal in low for literal in pattern.literals):
            continue
        regex = _compiled(pattern.regex, pattern.flags)
        spans = "s" in pattern.flags
        text = document.text[:_DOTALL_REACH] if spans else document.text
        for count, m in enumerate(regex.finditer(text)):
            if count >= _AT_MOST:
                break
            _note(pattern.id, m, document, notes, found, spans)


def _note(
    id: str, m: re.Match[str], document: Document, notes: Notes, found: list[tracebacks.Frame], spans: bool
) -> None:
    first, last = document.line_at(m.start()), document.line_at(m.end())
    if spans and last - first > 3:  # the telling half of such a pattern is its end
        first = last
    line = document.lines[first]
    origin = notes.origin("message", first)
    if last - first <= 3:
        notes.understand(first, last)
    text = " ".join(m[0].split()) if last > first else line.strip()
    if text.endswith(":"):
        text = " ".join([text, *(s.strip() for s in tracebacks.following(document, last, 3))])
    if len(text) > 500:
        begin = max(0, min(m.start() - document.starts[first] - 100, len(text) - 500)) if last == first else 0
        text = text[begin : begin + 500]
    inside = _PATH_IN_MESSAGE.findall(line[:2000])
    notes.error(
        ErrorText(
            pattern=id,
            text=text,
            groups=tuple(g or "" for g in m.groups()),
            source=origin.source,
            line=origin.line,
            path=(inside[0] if inside else None) or tracebacks.nearest_path(found, first),
        )
    )

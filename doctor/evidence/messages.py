"""Recognised messages: the patterns of the tables, found in the text. A message is a fact; what it means is not said
here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache

from doctor.evidence import text as text_module
from doctor.evidence import tracebacks
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.knowledge import lookup
from doctor.knowledge.messages import ErrorPattern, vocabulary_of_messages
from doctor.model.facts import ABSENT, ErrorText
from doctor.regex import Regex, Text, folded, search_spanning

RANK = Trust.PRINTED  # of what a program says in its own words
_AT_MOST = 5  # of one pattern
_GROUP = 500  # characters of a group
_WRAPPED = 3  # lines over which a console or a mail program breaks one message
_WRAPPED_LINE = 400  # characters: longer lines were not broken by anything
_PATH_IN_MESSAGE = Regex(r"(?<![\w/.])((?:/|[A-Za-z]:[\\/])[^\s:'\"<>|]{2,200}\.(?:so[.\d]*|dylib|dll|pyd|py))")


_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def flags_of(letters: str) -> int:
    """ "im" -> re.IGNORECASE | re.MULTILINE."""
    return sum(int(_FLAGS[letter]) for letter in letters)


@cache
def compiled(regex: str, flags: str) -> Regex:
    return Regex(regex, flags_of(flags))


def recognised(text: str, source: str) -> tuple[ErrorText, ...]:
    """The messages of one text, as the reader of a ticket notes them: those of the tables, then exceptions and lines
    that speak of a failure. `source` is who said it."""
    if not text.strip():
        return ()
    one = text_module.document(source, text.encode("utf-8", "replace"))
    notes = Notes(document=one)
    read(one, notes)
    tracebacks.read(one, notes)
    return tuple(replace(error, source=source, line=None) for error in notes.errors)


def read(document: Document, notes: Notes) -> None:
    """Note every message that the tables know."""
    said = vocabulary_of_messages().within(document.flat)  # no literal holds two spaces
    found = tracebacks.frames(document)
    for place in sorted({place for places in said.values() for place in places}):
        pattern = lookup.error_pattern_at(place)
        if pattern.unless and compiled(pattern.unless, "i").search(document.text):
            continue
        if "s" in pattern.flags:
            if spanning := search_spanning(pattern.regex, flags_of(pattern.flags), document.text):
                _note(pattern.id, *spanning, document, notes, found, spans=True)
            continue
        regex = compiled(pattern.regex, pattern.flags)
        count = -1
        for count, m in enumerate(regex.finditer(document.text)):
            if count >= _AT_MOST:
                break
            _note(pattern.id, m.start(), m.end(), m.groups(), document, notes, found)
            _state(pattern, m, document, notes)
        if count < 0 and document.may_wrap and pattern.literals and not pattern.flags.strip("i"):
            _read_wrapped(pattern.id, regex, said.keys() & set(pattern.literals), document, notes, found)


def _state(row: ErrorPattern, m: re.Match[str], document: Document, notes: Notes) -> None:
    """Note the facts that a message tells."""
    rank = Trust.SAID if row.id.startswith("complaint-") else RANK
    for fact, said in row.states:
        value = ABSENT if said == "absent" else said.format(*m.groups()) if isinstance(said, str) else said
        notes.put(fact, value, source="message", rank=rank, line=document.line_at(m.start()))


def _read_wrapped(
    id: str,
    regex: Regex,
    literals: Iterable[str],
    document: Document,
    notes: Notes,
    found: list[tracebacks.Frame],
) -> None:
    """Note a message that is broken over up to _WRAPPED lines, as rich consoles and mail programs break it."""
    text, runs = _joined(document)
    lines = text.lines_with(literals)
    for first, pieces, said in runs.values() if lines is None else (runs[begin] for begin, _ in lines):
        m = regex.search(said)
        if m is None or not m.start() < len(pieces[0]) < m.end():
            continue
        last = first + 1 if m.end() <= len(pieces[0]) + 1 + len(pieces[1]) else first + 2
        notes.understand(first, last)
        inside = _PATH_IN_MESSAGE.findall(said[:2000])
        path = (inside[0] if inside else None) or tracebacks.nearest_path(found, first)
        notes.message(id, said, "message", first, groups=_short(m.groups()), path=path)
        return


@lru_cache(maxsize=4)
def _joined(document: Document) -> tuple[Text, dict[int, tuple[int, tuple[str, ...], str]]]:
    """Every run of 2 to _WRAPPED lines: a text (lower case) in which each is a line, and by where that begins: (index
    of the first line, the lines, the lines as one)."""
    runs = {}
    text: list[str] = []
    begin = 0
    for first in range(len(document.lines) - 1):
        pieces: list[str] = []
        for line in document.lines[first : first + _WRAPPED]:
            if not line.strip() or len(line) > _WRAPPED_LINE:
                break
            pieces.append(line.strip())
        if len(pieces) > 1:
            said = " ".join(pieces)
            runs[begin] = (first, tuple(pieces), said)
            text.append(said)
            begin += len(said) + 1
    return Text(folded("\n".join(text))), runs


def _note(
    id: str,
    start: int,
    end: int,
    groups: tuple[str | None, ...],
    document: Document,
    notes: Notes,
    found: list[tracebacks.Frame],
    *,
    spans: bool = False,
) -> None:
    first, last = document.line_at(start), document.line_at(end)
    if spans and last - first > 3:  # the telling half of such a pattern is its end
        first = last
    line = document.lines[first]
    if last - first <= 3:
        notes.understand(first, last)
    text = " ".join(document.text[start:end].split()) if last > first else line.strip()
    if text.endswith(":"):
        text = " ".join([text, *(s.strip() for s in tracebacks.following(document, last, 3))])
    if len(text) > 500:
        begin = max(0, min(start - document.starts[first] - 100, len(text) - 500)) if last == first else 0
        text = text[begin : begin + 500]
    inside = _PATH_IN_MESSAGE.findall(line[:2000])
    path = (inside[0] if inside else None) or tracebacks.nearest_path(found, first)
    notes.message(id, text, "message", first, groups=_short(groups), path=path)


def _short(groups: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple((g or "")[:_GROUP] for g in groups)

"""A row: an expression, and the facts that each of its matches tells. What needs no more than that is read by rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.model.facts import Gpu
from doctor.model.values import dataclass
from doctor.regex import Regex


@dataclass(frozen=True)
class By:
    """A value of another trust than its row's."""

    trust: Trust
    value: object


@dataclass(frozen=True)
class Says:
    """`facts`: name to value. In a text, {1} is what the first group matched; a function gets the match; None and ""
    say nothing. `gpu`: the GPU that the match names, one of the list `group` (by default the source's). `reads`: one
    of machine.py's functions, for what the first group says. `words`: one of them (lower case) stands in every text
    that is searched. `unless`: of the whole line. `first`: only the first match counts. `no_wins`: of equal sayings
    the last «no» stands, for of two machines or times the patient is the one that fails. `in_passing`: the line tells
    something else, which is not understood by it."""

    regex: Regex
    source: str
    trust: Trust
    facts: Mapping[str, object] = field(default_factory=dict)
    gpu: Callable[[re.Match[str]], Gpu | None] | None = None
    group: str = ""
    reads: Callable[..., object] | None = None
    words: tuple[str, ...] = ()
    unless: Callable[[str], bool] | None = None
    first: bool = False
    no_wins: bool = False
    in_passing: bool = False


def note(rows: Iterable[Says], document: Document, notes: Notes, text: str | None = None) -> None:
    """Note what the rows find. `text` is searched in place of the document's: the same with parts blanked out."""
    searched = document.text if text is None else text
    for row in rows:
        if row.words and not document.has(*row.words):
            continue
        for m in row.regex.finditer(searched):
            line = document.line_at(m.start())
            if row.unless and row.unless(document.lines[line]):
                continue
            put = partial(notes.put, source=row.source, line=line, in_passing=row.in_passing)
            for fact, said in row.facts.items():
                trust, told = (said.trust, said.value) if isinstance(said, By) else (row.trust, said)
                value = _value(told, m)
                last = row.no_wins and value is False
                put(fact, value, rank=trust, last=last)
            if row.reads:
                row.reads(m[1].strip(), notes, source=row.source, rank=row.trust, line=line)
            if row.gpu and (gpu := row.gpu(m)):
                notes.gpu(gpu, group=row.group or row.source, rank=row.trust, source=row.source, line=line)
            if row.first:
                break


def _value(said: object, m: re.Match[str]) -> object:
    if isinstance(said, str):
        return said.format(m[0], *m.groups("")).strip() if "{" in said else said
    return said(m) if callable(said) else said

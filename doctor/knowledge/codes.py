"""The numbers and names with which drivers, libraries, systems and schedulers report an error, and what each means for
somebody who runs PyTorch. The table is read when the first question comes: `check` asks only about lines that no
message row knows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from doctor.knowledge.load import of_tables, table
from doctor.model.symptom import Kind, Subject
from doctor.model.values import dataclass
from doctor.regex import Regex

_LONGEST = 20_000  # characters of a text in which codes are looked for
_UNSIGNED = 1 << 32
_SIGNALS = 64
_NUMBER = Regex(r"[-+]?(?:0[xX][0-9A-Fa-f]{1,8}|\d{1,10})[uU]?\Z")
_TOKEN = Regex(r"(?<![\w/.\\-])[A-Za-z]\w{4,80}(?![\w/\\])")
_HINT = Regex(r"0x|\d|_[A-Z]|[a-z][A-Z]|[A-Z]{4}|error|fault|failed|abort|assert|illegal|segment", re.I)
# Vocabularies whose numbers are 32 bits wide, written with a sign or without.
_WIDE = ("ntstatus", "hresult")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One meaning of a number or a name. `vocabulary`: whose it is ("cudaError_t"), `of` in words ("the CUDA runtime").
    `number` is None where the vocabulary has only names. `meaning`: one or two sentences. `causes`: ids of diagnoses,
    the likeliest first. `next`: what to ask or do, `command` the command for it ("" where there is none).
    """

    vocabulary: str
    of: str
    number: int | None
    name: str
    group: str  # the class of codes that it belongs to
    meaning: str
    kind: Kind
    subject: Subject
    causes: tuple[str, ...]
    next: str
    command: str
    matters: bool  # it has a sentence of its own

    @property
    def fails(self) -> bool:
        """Whether it speaks of a failure at all."""
        return self.group not in ("success", "state")


@dataclass(frozen=True)
class _Known:
    readings: tuple[Reading, ...]  # the vocabularies in the table's order
    by_number: dict[int, tuple[Reading, ...]]
    by_name: dict[str, tuple[Reading, ...]]
    in_lines: dict[str, tuple[Reading, ...]]  # by name, but for names that are plain words
    words: tuple[tuple[str, Reading], ...]
    written: tuple[tuple[str, re.Pattern[str]], ...]


def _plain(name: str) -> str:
    """One spelling for NVML_ERROR_GPU_IS_LOST and NVMLError_GpuIsLost."""
    return re.sub(r"[^a-z0-9+]", "", name.lower())


@of_tables
def _known() -> _Known:
    content = table("codes")
    classes = {row["id"]: row for row in content["classes"]}
    by_number, by_name, in_lines = (defaultdict[Any, list[Reading]](list) for _ in range(3))
    words, written, readings = [], [], []
    for vocabulary in content["vocabularies"]:
        for number, name, group in vocabulary["codes"]:
            row = classes[group]
            said = vocabulary["said"].get(name)
            reading = Reading(
                vocabulary=vocabulary["id"], of=vocabulary["of"], number=number, name=name, group=group,
                meaning=said or row["means"], kind=row["kind"], subject=row["subject"] or vocabulary["subject"],
                causes=tuple(row["causes"]), next=row["next"], command=row["command"], matters=said is not None,
            )  # fmt: skip
            readings.append(reading)
            if number is not None:
                by_number[number].append(reading)
            by_name[_plain(name)].append(reading)
            if not vocabulary["plain"]:
                in_lines[_plain(name)].append(reading)
            if name in vocabulary["words"]:
                words.append((vocabulary["words"][name], reading))
        written += [(vocabulary["id"], re.compile(regex)) for regex in vocabulary["written"]]
    return _Known(
        tuple(readings),
        {k: tuple(v) for k, v in by_number.items()},
        {k: tuple(v) for k, v in by_name.items()},
        {k: tuple(v) for k, v in in_lines.items()},
        tuple(words),
        tuple(written),
    )


def all_readings() -> tuple[Reading, ...]:
    """Every code of every vocabulary."""
    return _known().readings


def readings(text: str) -> tuple[Reading, ...]:
    """What a number, a name, a line or a whole traceback can mean, the likeliest first; () where nothing is known."""
    text = text.strip()
    if _NUMBER.match(text):
        return of_number(int(text.rstrip("uU"), 0) if "x" in text.lower() else int(text.rstrip("uU")))
    return of_name(text) or in_text(text)


def of_number(number: int) -> tuple[Reading, ...]:
    """All meanings of a bare number: those with a sentence of their own first, then in the order of the table."""
    found = list(_known().by_number.get(number, ()))
    if number < 0 or number >= _UNSIGNED // 2:
        found += [r for r in _known().by_number.get(number % _UNSIGNED, ()) if r.vocabulary in _WIDE]
    if -_SIGNALS <= number < 0:
        found += [r for r in _known().by_number.get(-number, ()) if r.vocabulary == "signal"]
    return _ordered(found)


def of_name(name: str) -> tuple[Reading, ...]:
    """All meanings of a name, in any case and with or without underscores; the exact spelling first."""
    found = _known().by_name.get(_plain(name), ()) if len(name) <= 100 else ()
    exact = [r for r in found if r.name == name]
    return (*_ordered(exact), *_ordered(r for r in found if r.name != name))


def in_text(text: str) -> tuple[Reading, ...]:
    """The codes that a text names, or whose number it gives in a way that tells whose it is, in the order of the text.
    Codes that report success or a mere state come last."""
    text = text[:_LONGEST]
    if not _HINT.search(text):
        return ()
    found = sorted(_found(text), key=lambda one: one[0])
    unique = list(dict.fromkeys(reading for _, reading in found))
    return tuple(sorted(unique, key=lambda r: not r.fails))


def _found(text: str) -> Iterator[tuple[int, Reading]]:
    """(position, reading) of every code in a text."""
    known = _known()
    for match in _TOKEN.finditer(text):
        named = known.in_lines.get(_plain(match[0]), ())
        exact = [r for r in named if r.name == match[0]]
        if exact or any(c.isupper() for c in match[0][1:]):  # «abort» and «timeout» are words
            yield from ((match.start(), r) for r in exact[:1] or named[:1])
    for vocabulary, regex in known.written:
        for match in regex.finditer(text):
            yield from ((match.start(), r) for r in _of_vocabulary(vocabulary, match[1]))
    low = text.lower()
    for words, reading in known.words:
        if (at := low.find(words)) >= 0:
            yield at, reading


def _of_vocabulary(vocabulary: str, said: str) -> Iterable[Reading]:
    """What a number or a word means in that vocabulary; an exit code can also be a signal or a code of Windows."""
    if not _NUMBER.match(said):
        return [r for r in of_name(said) if (r.vocabulary, r.name) == (vocabulary, said)]
    number = int(said, 0) if "x" in said.lower() else int(said)
    ends = ("exit-code", "signal", *_WIDE) if vocabulary == "exit-code" and not 0 <= number < 256 else (vocabulary,)
    return [r for r in of_number(number) if r.vocabulary in ends][:1]


def _ordered(found: Iterable[Reading]) -> tuple[Reading, ...]:
    return tuple(sorted(dict.fromkeys(found), key=lambda r: (not r.matters, not r.fails)))

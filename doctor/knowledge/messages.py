"""Recognisable messages, and what is known of macOS. The public names are those of lookup.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from doctor.knowledge.load import is_as_made, of_tables, parsed, row_lines, table
from doctor.knowledge.versions import numbers
from doctor.model.symptom import Kind, Subject
from doctor.model.values import dataclass
from doctor.regex import Vocabulary, by_part


@dataclass(frozen=True, kw_only=True)
class ErrorPattern:
    """A recognisable message. `causes`: ids it can mean, the likeliest first. Never a verdict by itself.

    `kind` and `subject`: what it speaks of, a Kind and a Subject of doctor/model/symptom.py. `example`: a line that the
    regex matches. `harmless`: it is also seen where nothing is wrong (a warning, a plain statement), so it need not be
    explained.

    The rows of harmless warnings, which the check harmless-warning tells, have three sentences more. `means`: what the
    warning says, and what the program does after it. `matters`: when it is not harmless after all. `remedy`: how to
    silence it, or what to do to gain what it offers. Any causes behind harmless-warning are what it can mean then.
    `doubtful`: the line speaks of a failure that may have ended the program, so that a text with it proves no health.
    """

    id: str
    regex: str
    flags: str
    causes: tuple[str, ...]
    kind: Kind
    subject: Subject
    example: str
    harmless: bool
    literals: tuple[str, ...]  # one of these substrings (lower case) occurs wherever the regex matches: the prefilter
    versions: str
    source: str
    status: str
    states: tuple[tuple[str, bool | str], ...] = ()
    unless: str = ""
    means: str = ""
    matters: str = ""
    remedy: str = ""
    doubtful: bool = False


@of_tables
def _counts() -> dict[tuple[str, str], int]:
    return {(row["symptom"], id): n for row in table("causes")["rows"] for id, n in row["counts"].items()}


def times_behind(symptom: str, subject: str, cause: str) -> int:
    """In how many labelled tickets with that symptom the cause was behind it. Of symptoms that no message names, the
    subject counts, too ("accelerator-unused" of "nvidia")."""
    return _counts().get((f"{symptom}/{subject}", cause), 0) or _counts().get((symptom, cause), 0)


def _rows() -> list[bytes]:
    """The rows as JSON: most are never needed for one ticket."""
    return row_lines("messages")


_ID = b'  {"id": "'  # how a row of the built-in table begins


@of_tables
def _ids() -> list[str]:
    """The id of each row, which begins it in the built-in table."""
    first = len(_ID)
    return [
        row[first : row.index(b'"', first)].decode() if row.startswith(_ID) else parsed(row)["id"] for row in _rows()
    ]


@of_tables
def vocabulary_of_messages() -> Vocabulary:
    """The literals of all rows, each with the places of its rows in the table. Of the built-in table they are worked
    out beforehand."""
    from doctor.knowledge import _literals

    if is_as_made("messages", _literals.SIZE):
        return Vocabulary(_literals.BY_PART)
    return Vocabulary(by_part(literals_of(parsed(row) for row in _rows())))


def literals_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Each literal of rows of messages with the place of its row. Where a row has none, "" stands for it, which every
    text holds."""
    for place, row in enumerate(rows):
        yield from ((literal, place) for literal in row["literals"] or ("",))


@of_tables
def error_pattern_at(place: int) -> ErrorPattern:
    """The row at a place of the table."""
    row = parsed(_rows()[place])
    return ErrorPattern(
        id=row["id"],
        regex=row["regex"],
        flags=row["flags"],
        causes=tuple(row["causes"]),
        kind=row["kind"],
        subject=row["subject"],
        example=row["example"],
        harmless=row.get("harmless", False),
        literals=tuple(row["literals"]),
        versions=row["versions"],
        source=row["source"],
        status=row["status"],
        states=tuple(row.get("states", {}).items()),
        unless=row.get("unless", ""),
        means=row.get("means", ""),
        matters=row.get("matters", ""),
        remedy=row.get("remedy", ""),
        doubtful=row.get("doubtful", False),
    )


def error_patterns() -> tuple[ErrorPattern, ...]:
    """All of them."""
    return tuple(error_pattern_at(place) for place in range(len(_rows())))


@of_tables
def harmless_ids() -> frozenset[str]:
    """The ids of the rows of harmless warnings."""
    from doctor.knowledge import _literals

    if is_as_made("messages", _literals.SIZE):
        return _literals.HARMLESS
    return frozenset(id for id, row in zip(_ids(), _rows(), strict=True) if parsed(row).get("means"))


def harmless_row(id: str) -> ErrorPattern | None:
    """The row of that id, if it is of a harmless warning."""
    return error_pattern(id) if id in harmless_ids() else None


@of_tables
def _places() -> dict[str, int]:
    return {id: place for place, id in enumerate(_ids())}


def error_pattern(id: str) -> ErrorPattern | None:
    """The row of that id."""
    place = _places().get(id)
    return None if place is None else error_pattern_at(place)


@of_tables
def macos_named() -> dict[str, str]:
    """The major version of macOS by its name in lower case: {"sonoma": "14", …}."""
    return {row["name"].lower(): row["macos"] for row in table("macos")["names"]}


def macos_of_darwin(kernel: str) -> str | None:
    """ "21.4.0" -> "12.3"; the lowest macOS where a kernel number stands for several ("21.6.0" -> "12.5"), its major
    version where the minor one is not known."""
    rows = {numbers(row["darwin"]): row["macos"] for row in table("macos")["darwin"]}
    return rows.get(numbers(kernel)[:2]) or rows.get(numbers(kernel)[:1])

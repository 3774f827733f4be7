"""The labelled tickets below tests/cases, in both of their forms.

A folder with input.txt and case.json is one ticket; a file tickets.jsonl holds a whole round, a ticket a line: its
name, its text and the fields of its label. Both give the same `Ticket`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROUND = "tickets.jsonl"


@dataclass(frozen=True)
class Ticket:
    """A text as somebody pasted it, and its label. `name`: "layer/name" below `collection`."""

    collection: Path
    name: str
    label: Mapping[str, Any]
    said: bytes
    file: Path  # that holds it

    @property
    def text(self) -> str:
        return self.said.decode("utf-8", "replace")

    @property
    def right(self) -> tuple[str, ...]:
        """The labelled cause, then what counts as right, too."""
        return (self.label["cause"], *self.label["also"])


def tickets_below(folders: Iterable[Path]) -> Iterator[Ticket]:
    """All tickets below the folders, those of each folder by name."""
    for folder in folders:
        found = [*_single(folder), *(ticket for path in folder.rglob(ROUND) for ticket in _round(path))]
        yield from sorted(found, key=lambda one: (one.collection.as_posix(), one.name))


def _single(folder: Path) -> Iterator[Ticket]:
    for label in folder.rglob("case.json"):
        text = label.parent / "input.txt"
        if text.is_file():
            place = label.parent
            name = f"{place.parent.name}/{place.name}"
            said = json.loads(label.read_text(encoding="utf-8"))
            yield Ticket(place.parent.parent, name, said, text.read_bytes(), text)


def _round(path: Path) -> Iterator[Ticket]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            name, said = row.pop("name"), row.pop("text").encode()
            yield Ticket(path.parent, name, row, said, path)


def line_of(ticket: Ticket) -> str:
    """The line of a round's file."""
    return json.dumps({"name": ticket.name, "text": ticket.text, **ticket.label}, ensure_ascii=False) + "\n"


def digest(folder: Path) -> str:
    """SHA-256 over the names, labels and texts below the folder, the same for both forms."""
    whole = hashlib.sha256()
    for ticket in tickets_below([folder]):
        for name, content in (("case.json", _label_of(ticket)), ("input.txt", ticket.said)):
            whole.update(f"{ticket.name}/{name}\0".encode() + content + b"\0")
    return whole.hexdigest()


def _label_of(ticket: Ticket) -> bytes:
    """The label as its own file has it."""
    if ticket.file.name != ROUND:
        return ticket.file.with_name("case.json").read_bytes()
    return (json.dumps(dict(ticket.label), indent=1, ensure_ascii=False) + "\n").encode()

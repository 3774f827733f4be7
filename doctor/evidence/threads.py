"""Which threads of GitHub a text cites: whoever was told of a known fault often says so."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.regex import Regex

_THREAD = Regex(
    r"(?:github\.com/|(?<![\w./-]))([\w.-]{1,40}/[\w.-]{1,100})(?:/(?:issues|pull)/|#)(\d{1,7})(?!\w)",
)


def of(text: str) -> Iterator[str]:
    """The threads in a text, issues and pull requests alike.

    >>> list(of("see https://github.com/pytorch/pytorch/issues/168167 and pytorch/pytorch#122016"))
    ['pytorch/pytorch#168167', 'pytorch/pytorch#122016']
    """
    for match in _THREAD.finditer(text):
        yield f"{match[1].lower()}#{match[2]}"


def read(document: Document, notes: Notes) -> None:
    """Note the threads."""
    if "torch" in document.lower:
        notes.threads += of(document.text)

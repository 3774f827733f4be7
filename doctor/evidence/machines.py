"""Two machines in one text (a reporter's and a commenter's): which one the error belongs to. The others are only listed."""

from __future__ import annotations

from doctor.evidence.text import Document
from doctor.model.report import Other


def choose(documents: list[Document]) -> tuple[list[Document], tuple[Other, ...]]:
    """The text of the machine to judge, and the others."""
    return documents, ()

"""What the file of a table is, and the error of one that cannot be used."""

from __future__ import annotations

from typing import Any

SCHEMA = 1  # of the table files; a file with another number is refused
Table = dict[str, Any]


class KnowledgeError(Exception):
    """A table that cannot be used. `where` names the table, the row and the field."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(f"{where}: {message}")
        self.where = where
        self.message = message

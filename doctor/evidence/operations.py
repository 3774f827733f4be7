"""Which operations and features of torch a text names, of those that an erratum is known for.

"MaxPool2d" or "scaled_dot_product_attention" is a name wherever it stands; a word such as "mm" or "view" only where it
is written as code: after a dot, before a bracket, in backticks, or as the name of a script ("softplus.py").
"""

from __future__ import annotations

import re

from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.knowledge import lookup
from doctor.knowledge.load import of_tables
from doctor.regex import Regex

_INFIX = Regex(r"[\w\])] @ [\w(]")  # x @ y is matmul


@of_tables
def _names() -> tuple[tuple[str, str], ...]:
    """(operation as the table has it, the last part of its name in lower case)."""
    ops = dict.fromkeys(op for erratum in lookup.errata() for op in erratum.ops)
    return tuple((op, op.rpartition(".")[2].lower()) for op in ops if " " not in op)


def read(document: Document, notes: Notes) -> None:
    """Note the operations."""
    low = document.lower
    if not document.has("torch", "tensor(", "device='mps"):
        return
    for op, name in _names():
        if (name in low or name == "matmul") and _is_named(op.rpartition(".")[2], document):
            notes.operations.append(op)


def _is_named(name: str, document: Document) -> bool:
    if name == "matmul" and _INFIX.search(document.text):
        return True
    text = document.text
    if _is_own_name(name):
        text, name = document.lower, name.lower()
        pattern = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
    else:
        quoted = re.escape(name)
        pattern = re.compile(rf"(?:(?<=[.`]){quoted}\b|(?<![\w.]){quoted}(?=\(|\.py\b))")
    place = text.find(name)  # much faster than a search by the pattern
    while place >= 0 and not pattern.match(text, place):
        place = text.find(name, place + 1)
    return place >= 0


def _is_own_name(name: str) -> bool:
    """Whether no sentence would hold it by chance.

    >>> [_is_own_name(n) for n in ("MaxPool2d", "index_put", "SDPA", "conv3d", "Linear", "mm")]
    [True, True, True, True, False, False]
    """
    in_capitals = name.isupper() and len(name) > 2
    return in_capitals or "_" in name or name[1:] != name[1:].lower() or any(c.isdigit() for c in name[:-1])

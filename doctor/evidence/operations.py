"""Which operations and features of torch a text names, of those that an erratum is known for.

"MaxPool2d" or "scaled_dot_product_attention" is a name wherever it stands; a word such as "mm" or "view" only where it
is written as code: after a dot, before a bracket, in backticks, or as the name of a script ("softplus.py").
"""

from __future__ import annotations

from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.knowledge import lookup
from doctor.knowledge.load import of_tables
from doctor.regex import Regex, Vocabulary, by_part

_INFIX = Regex(r"[\w\])] @ [\w(]")  # x @ y is matmul


@of_tables
def _names() -> tuple[tuple[str, str], ...]:
    """(operation as the table has it, the last part of its name in lower case)."""
    ops = dict.fromkeys(op for erratum in lookup.errata() for op in erratum.ops)
    return tuple((op, op.rpartition(".")[2].lower()) for op in ops if " " not in op)


@of_tables
def _vocabulary() -> Vocabulary:
    """The names, with their places among them."""
    return Vocabulary(by_part((name, place) for place, (_, name) in enumerate(_names())))


@of_tables
def _written_otherwise() -> frozenset[int]:
    """The places of what a text can hold without its name."""
    return frozenset(place for place, (_, name) in enumerate(_names()) if name == "matmul")


def read(document: Document, notes: Notes) -> None:
    """Note the operations."""
    if not document.has("torch", "tensor(", "device='mps"):
        return
    said = _vocabulary().within(document.flat).values()
    for place in sorted(_written_otherwise().union(*said)):
        op, _ = _names()[place]
        if _is_named(op.rpartition(".")[2], document):
            notes.operations.append(op)


def _is_named(name: str, document: Document) -> bool:
    if name == "matmul" and _INFIX.search(document.text):
        return True
    own = _is_own_name(name)
    text, name = (document.lower, name.lower()) if own else (document.text, name)
    begin = text.find(name)
    while begin >= 0:
        end = begin + len(name)
        before, after = text[max(0, begin - 1) : begin], text[end : end + 1]
        if own:
            found = not (_is_of_word(before) or before == "-" or _is_of_word(after) or after == "-")
        elif before in (".", "`"):
            found = not _is_of_word(after)
        else:
            script = text.startswith(".py", end) and not _is_of_word(text[end + 3 : end + 4])
            found = not _is_of_word(before) and (after == "(" or script)
        if found:
            return True
        begin = text.find(name, begin + 1)
    return False


def _is_of_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _is_own_name(name: str) -> bool:
    """Whether no sentence would hold it by chance.

    >>> [_is_own_name(n) for n in ("MaxPool2d", "index_put", "SDPA", "conv3d", "Linear", "mm")]
    [True, True, True, True, False, False]
    """
    in_capitals = name.isupper() and len(name) > 2
    return in_capitals or "_" in name or name[1:] != name[1:].lower() or any(c.isdigit() for c in name[:-1])

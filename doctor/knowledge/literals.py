"""Which substrings must occur wherever a regular expression matches: the prefilter of the message patterns.

Used when the tables are made and when new ones are checked, never while reading a ticket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as parser

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}


def flags_of(letters: str) -> int:
    """ "im" -> re.IGNORECASE | re.MULTILINE."""
    flags = 0
    for letter in letters:
        flags |= FLAGS[letter]
    return int(flags)


def required_literals(regex: str, flags: str = "") -> tuple[str, ...]:
    """Lower-case substrings of which one at least is in the lower-cased text of every match; () where nothing is sure.

    >>> required_literals(r"Illegal instruction(?: \\(core dumped\\))?|SIGILL")
    ('illegal instruction', 'sigill')
    """
    return tuple(sorted(_of_sequence(parser.parse(regex, flags_of(flags))) or ()))


def _of_sequence(items: Iterable[tuple[Any, Any]]) -> frozenset[str] | None:
    """The best of: its runs of fixed characters, and what each alternation or repetition in it requires."""
    candidates: list[frozenset[str]] = []
    run = ""
    for operator, argument in _flat(items):
        character = _fixed(operator, argument)
        if character is not None:
            run += character
            continue
        if operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # these take no characters: a run goes on across them
            continue
        candidates.append(frozenset({run}))
        run = ""
        if (inner := _of_item(operator, argument)) is not None:
            candidates.append(inner)
    candidates.append(frozenset({run}))
    useful = [c for c in candidates if c and all(c)]
    return max(useful, key=lambda c: (min(map(len, c)), -len(c)), default=None)


def _flat(items: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
    """The items with plain groups opened, so that a run of characters goes on through «a(bc)d»."""
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            yield from _flat(argument[-1])
        else:
            yield operator, argument


def _fixed(operator: Any, argument: Any) -> str | None:
    """The lower-case character that an item stands for: `a`, and [Aa] too."""
    if operator is sre.LITERAL:
        return chr(argument).lower()
    if operator is sre.IN and all(op is sre.LITERAL for op, _ in argument):
        characters = {chr(code).lower() for _, code in argument}
        return characters.pop() if len(characters) == 1 else None
    return None


def _of_item(operator: Any, argument: Any) -> frozenset[str] | None:
    if operator is sre.BRANCH:
        branches = [_of_sequence(branch) for branch in argument[1]]
        return frozenset().union(*branches) if all(branches) else None  # type: ignore[arg-type]
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT) and argument[0] >= 1:
        return _of_sequence(argument[2])
    return None

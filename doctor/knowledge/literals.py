"""What must occur in a text for a regular expression to match: the gates of doctor/needs.py and the prefilters of the
tables. Used when they are made and when new tables are checked, never while reading a ticket.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from doctor.regex import folded

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as parser

FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
MOST = 48  # substrings of a set
Items = Iterable[tuple[Any, Any]]
Set = frozenset[str]


def flags_of(letters: str) -> int:
    """ "im" -> re.IGNORECASE | re.MULTILINE."""
    flags = 0
    for letter in letters:
        flags |= FLAGS[letter]
    return int(flags)


def lets_through(literals: Iterable[str], regex: str, flags: str = "") -> bool:
    """Whether one of these substrings is in the lower-cased text of every match.

    >>> lets_through(["illegal", "sigill"], r"Illegal instruction(?: \\(core dumped\\))?|SIGILL")
    True
    """
    own = [literal for literal in literals if literal]
    sets = required_sets(regex, flags_of(flags))
    return any(all(any(one in text for one in own) for text in texts) for texts in sets)


def required_sets(regex: str, flags: int = 0) -> list[Set]:
    """Sets of lower-case substrings: of each set one at least is in every match.

    >>> [sorted(s) for s in required_sets(r"(?:my|our) (?:GPU|card).*n[o']t")]
    [['my card', 'my gpu', 'our card', 'our gpu'], ["n't", 'not']]
    """
    return _seen(parser.parse(regex, flags)).required


def required_of_each(regex: str, flags: int = 0) -> list[list[Set]]:
    """The required sets of each alternative of which the expression consists, the most telling first.

    >>> [[sorted(s) for s in sets] for sets in required_of_each(r"\\b(?:cuda.*lost|lack.*(?:gpu|card)s)")]
    [[['cuda'], ['lost']], [['cards', 'gpus'], ['lack']]]
    """
    each = (_seen(items).required for items in _alternatives(parser.parse(regex, flags)))
    return [sorted(sets, key=lambda one: (*_worth(one), sorted(one)), reverse=True) for sets in each]


def _alternatives(items: Items) -> Iterator[list[tuple[Any, Any]]]:
    flat = list(_flat(items))
    taking = [item for item in flat if item[0] not in (sre.AT, sre.ASSERT, sre.ASSERT_NOT)]
    if len(taking) == 1 and taking[0][0] is sre.BRANCH:
        for branch in taking[0][1][1]:
            yield from _alternatives(branch)
    else:
        yield flat


@dataclass(frozen=True)
class _Seen:
    """What is known of all that a sequence can match: all texts, where these are few; texts of which one stands at its
    beginning, and at its end; and the sets that it requires."""

    texts: Set | None
    starts: Set
    ends: Set
    required: list[Set]


_ANYTHING: Set = frozenset({""})


def _seen(items: Items) -> _Seen:
    run = starts = _ANYTHING  # the run: what stands at the end of all that was read so far
    whole = True
    found: list[Set] = []
    for operator, argument in _flat(items):
        if operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # these take no characters: a run goes on across them
            continue
        item = _of_item(operator, argument)
        found += item.required
        joined = _joined(run, item.starts)
        if whole:
            starts = joined or run
        if joined is not None and item.texts is not None and item.starts == item.texts:
            run = joined
        else:
            found.append(joined or run)
            run, whole = item.ends, False
    found.append(run)
    useful = [shortest(s) for s in found if s and "" not in s]
    return _Seen(run if whole else None, starts, run, list(dict.fromkeys(useful)))


def _joined(left: Set, right: Set) -> Set | None:
    """Each of the left with each of the right, where these are few."""
    return frozenset(a + b for a in left for b in right) if len(left) * len(right) <= MOST else None


def _united(sets: Iterable[Set]) -> Set:
    """All of them, or nothing that is known, where these are many."""
    together = frozenset[str]().union(*sets)
    return together if len(together) <= MOST else _ANYTHING


def shortest(texts: Set) -> Set:
    """Those that hold none of the others."""
    return frozenset(t for t in texts if not any(other != t and other in t for other in texts))


def _flat(items: Items) -> Items:
    """The items with plain groups opened, so that a run of characters goes on through «a(bc)d»."""
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            yield from _flat(argument[-1])
        elif str(operator) == "ATOMIC_GROUP":
            yield from _flat(argument)
        else:
            yield operator, argument


def _of_item(operator: Any, argument: Any) -> _Seen:
    if (characters := _characters(operator, argument)) is not None:
        return _Seen(characters, characters, characters, [])
    if operator is sre.BRANCH:
        branches = [_seen(branch) for branch in argument[1]]
        if all(one.texts is not None for one in branches):
            texts = frozenset[str]().union(*(one.texts for one in branches if one.texts))
            if len(texts) <= MOST:
                return _Seen(texts, texts, texts, [])
        sets = [max(one.required, key=_worth, default=None) for one in branches]
        required = [frozenset[str]().union(*sets)] if all(sets) else []  # type: ignore[arg-type]
        return _Seen(None, _united(one.starts for one in branches), _united(one.ends for one in branches), required)
    if str(operator).endswith("_REPEAT"):
        least, most, body = argument
        inner = _seen(body)
        if least == 0:
            if most > 1 or inner.texts is None:
                return _Seen(None, _ANYTHING, _ANYTHING, [])
            perhaps = inner.texts | {""}
            return _Seen(perhaps, perhaps, perhaps, [])
        return _Seen(inner.texts if most == 1 else None, inner.starts, inner.ends, inner.required)
    return _Seen(None, _ANYTHING, _ANYTHING, [])


def _worth(texts: Set) -> tuple[int, int]:
    return min(map(len, texts)), -len(texts)


def _characters(operator: Any, argument: Any) -> Set | None:
    """The lower-case characters that an item can be: of `a`, [Aa] and [ab]; None where they are many."""
    if operator is sre.LITERAL:
        return frozenset({folded(chr(argument))})
    if operator is sre.IN and all(op is sre.LITERAL for op, _ in argument):
        found = frozenset(folded(chr(code)) for _, code in argument)
        return found if len(found) <= 6 else None
    return None


# ---- whether a match lies in one line


def within_line(regex: str, flags: int = 0) -> bool:
    """Whether no match holds a line break, and a line with the break behind it is enough to tell whether it matches.

    >>> within_line(r"a[^\\n]*b$", re.M), within_line(r"a\\s+b"), within_line(r"a(?=\\s|$)"), within_line(r"a\\Z")
    (True, False, False, False)
    """
    parsed = parser.parse(regex, flags)
    return _stays(parsed, parsed.state.flags | flags)


def _stays(items: Items, flags: int) -> bool:
    return all(_item_stays(operator, argument, flags) for operator, argument in items)


def _item_stays(operator: Any, argument: Any, flags: int) -> bool:
    if operator is sre.SUBPATTERN:
        return _stays(argument[-1], flags | argument[1])
    if operator is sre.BRANCH:
        return all(_stays(branch, flags) for branch in argument[1])
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        direction, body = argument
        if direction < 0:  # what lies before is seen in full
            return True
        return _one_character(body, flags) or _stays(body, flags)
    if str(operator).endswith("_REPEAT"):
        return _stays(argument[2], flags)
    if str(operator) == "ATOMIC_GROUP":
        return _stays(argument, flags)
    if operator is sre.AT:
        return argument is not sre.AT_END_STRING and (argument is not sre.AT_END or bool(flags & re.MULTILINE))
    if operator is sre.GROUPREF:
        return True
    if str(operator) == "GROUPREF_EXISTS":
        return False
    return not _takes_break(operator, argument, flags)


def _one_character(body: Any, flags: int) -> bool:
    """Whether a look ahead sees no further than the line break, and asks nothing of where the text ends."""
    return bool(body.getwidth()[1] <= 1) and _asks_no_end(body, flags)


def _asks_no_end(items: Items, flags: int) -> bool:
    for operator, argument in _flat(items):
        if operator is sre.BRANCH:
            if not all(_asks_no_end(branch, flags) for branch in argument[1]):
                return False
        elif operator is sre.AT:
            if argument is not sre.AT_END or not flags & re.MULTILINE:
                return False
        elif operator not in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            return False
    return True


def _takes_break(operator: Any, argument: Any, flags: int) -> bool:
    if operator is sre.ANY:
        return bool(flags & re.DOTALL)
    if operator is sre.LITERAL:
        return bool(argument == ord("\n"))
    if operator is sre.NOT_LITERAL:
        return bool(argument != ord("\n"))
    if operator is sre.IN:
        return _class_takes_break(argument)
    return True


def _class_takes_break(members: Iterable[tuple[Any, Any]]) -> bool:
    negated = holds = False
    for operator, argument in members:
        if operator is sre.NEGATE:
            negated = True
        elif operator is sre.LITERAL:
            holds |= argument == ord("\n")
        elif operator is sre.RANGE:
            holds |= argument[0] <= ord("\n") <= argument[1]
        else:  # a category
            holds |= argument in (sre.CATEGORY_SPACE, sre.CATEGORY_NOT_DIGIT, sre.CATEGORY_NOT_WORD)
    return holds != negated

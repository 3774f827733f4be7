"""Texts that make a regular expression work as hard as it can: made from the expression itself.

For each of its repetitions: what stands before it, then what it repeats to the end of the line, then a character that
ends the attempt. For each of its beginnings: the beginning again and again, so that every attempt runs to the end of
the line.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from doctor.knowledge.literals import parser, sre

LINE = 4_000  # characters of one line
REPRESENTATIVES = " a0A./-_:=\"'([,\n|*#>\\~+@é\t"
MANY = 16  # repetitions that may take fewer cannot be pumped
Items = Iterable[tuple[Any, Any]]


def adversaries(pattern: str, flags: int = 0) -> list[str]:
    """Lines of LINE characters, and texts of LINE characters in short lines."""
    try:
        parsed = parser.parse(pattern, flags)
    except re.error:
        return []
    found: dict[str, None] = {}
    for before, pumped in _pumps(list(parsed), ""):
        for pump in pumped:
            for end in ("", "\x01", " !"):
                found[(before + pump * (LINE // len(pump)))[: LINE - len(end)] + end] = None
            whole = before + pump
            found[(whole * (LINE // len(whole) + 1))[:LINE]] = None
            found[(whole + pump * 40 + "\n") * (LINE // (len(whole) + 40 * len(pump)) + 1)] = None
    for whole in {_sample(parsed, many) for many in (0, 1, 2)}:
        for piece in {whole, whole[:-1], whole[: len(whole) // 2]} - {""}:
            found[(piece * (LINE // len(piece) + 1))[:LINE]] = None
            found[((piece + " ") * (LINE // len(piece) + 1))[:LINE]] = None
    return list(found)


def _pumps(items: list[tuple[Any, Any]], before: str) -> Iterator[tuple[str, list[str]]]:
    """(what stands before, what can be repeated) of every repetition in the sequence."""
    for at, (operator, argument) in enumerate(items):
        prefixes = {before + _sample(items[:at], many) for many in (0, 1)}
        if _repeats(operator):
            _, most, body = argument
            if most == sre.MAXREPEAT or most >= MANY:
                following = items[at + 1 : at + 2]
                for prefix in prefixes:
                    yield prefix, list(_of_body(list(body), following))
            for prefix in prefixes:
                yield from _pumps(list(body), prefix)
        elif operator is sre.SUBPATTERN:
            for prefix in prefixes:
                yield from _pumps(list(argument[-1]), prefix)
        elif operator is sre.BRANCH:
            for branch in argument[1]:
                for prefix in prefixes:
                    yield from _pumps(list(branch), prefix)
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            for prefix in prefixes:
                yield from _pumps(list(argument[1]), prefix)


def _of_body(body: list[tuple[Any, Any]], following: Items) -> Iterator[str]:
    """What a repetition repeats: each representative of a class, or samples of a group."""
    if len(body) == 1 and (members := _members(*body[0])) is not None:
        wanted = [c for c in REPRESENTATIVES if c in members]
        yield from islice(wanted or sorted(members), 9)
    for many in (0, 1, 2):
        if sample := _sample(body, many):
            yield sample
    after = _sample(following, 1)
    if after and len(body) == 1 and (members := _members(*body[0])) is not None and set(after) <= members:
        yield after


def _repeats(operator: Any) -> bool:
    return str(operator).endswith("_REPEAT")


def _sample(items: Items, many: int) -> str:
    """Something that the sequence matches (assertions aside); what may be left out is taken `many` times."""
    said = ""
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            said += _sample(argument[-1], many)
        elif operator is sre.BRANCH:
            said += _sample(argument[1][min(many, len(argument[1]) - 1)], many)
        elif _repeats(operator):
            least, most, body = argument
            said += _sample(body, many) * max(least, min(many, most if most != sre.MAXREPEAT else many))
        elif (members := _members(operator, argument)) is not None:
            said += next((c for c in "a0 A.-:/" if c in members), None) or min(members, default="")
    return said


def _members(operator: Any, argument: Any) -> set[str] | None:
    """The characters that a single item can stand for; None for what is no single character."""
    if operator is sre.LITERAL:
        return {chr(argument)}
    if operator is sre.NOT_LITERAL:
        return _within(lambda c: c != chr(argument))
    if operator is sre.ANY:
        return _within(lambda c: c != "\n")
    if operator is sre.IN:
        return _within(lambda c: _in_class(argument, c)) | {
            chr(a) for o, a in argument if o is sre.LITERAL and argument[0][0] is not sre.NEGATE
        }
    return None


def _within(test: Any) -> set[str]:
    return {c for c in [*map(chr, range(9, 127)), "é"] if test(c)}


def _in_class(items: list[tuple[Any, Any]], c: str) -> bool:
    negated, hit = False, False
    for operator, argument in items:
        if operator is sre.NEGATE:
            negated = True
        elif operator is sre.LITERAL:
            hit |= ord(c) == argument
        elif operator is sre.RANGE:
            hit |= argument[0] <= ord(c) <= argument[1]
        elif operator is sre.CATEGORY:
            word = str(argument).rsplit("_", 1)[-1].lower()
            is_in = {"digit": c.isdigit(), "space": c.isspace(), "word": c.isalnum() or c == "_"}[word]
            hit |= is_in != ("NOT" in str(argument))
    return hit != negated

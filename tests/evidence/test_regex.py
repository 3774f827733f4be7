"""The prefilters of the readers' patterns never hide a match."""

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from doctor import evidence
from doctor.evidence.regex import Regex
from doctor.knowledge.literals import parser, sre


def regexes(value: Any) -> Iterator[Regex]:
    if isinstance(value, Regex):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from regexes(one)


FILTERED = {
    (module.name, regex.pattern, regex.flags, regex.needs)
    for module in pkgutil.iter_modules(evidence.__path__)
    for value in vars(importlib.import_module(f"doctor.evidence.{module.name}")).values()
    for regex in regexes(value)
    if regex.needs
}


def holds(items: Iterable[tuple[Any, Any]], needs: tuple[str, ...]) -> bool:
    """Whether every match of a parsed sequence holds one of the words, as they are spelled."""
    run = ""
    for operator, argument in opened(items):
        if operator is sre.LITERAL:
            run += chr(argument)
            if any(word in run for word in needs):
                return True
            continue
        if operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # these take no characters
            continue
        run = ""
        if operator is sre.BRANCH and all(holds(branch, needs) for branch in argument[1]):
            return True
        if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT) and argument[0] >= 1 and holds(argument[2], needs):
            return True
    return False


def opened(items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """The items with plain groups opened."""
    for operator, argument in items:
        if operator is sre.SUBPATTERN:
            yield from opened(argument[-1])
        else:
            yield operator, argument


@pytest.mark.parametrize(("module", "pattern", "flags", "needs"), sorted(FILTERED))
def test_every_match_holds_what_its_pattern_needs(
    module: str, pattern: str, flags: int, needs: tuple[str, ...]
) -> None:
    assert not flags & re.IGNORECASE
    assert holds(parser.parse(pattern, flags), needs)


def test_a_need_that_a_match_may_lack_is_found() -> None:
    assert not holds(parser.parse(r"a(?:bc)?d|ef"), ("bc", "ef"))
    assert holds(parser.parse(r"a(?:bc)+d|\bef"), ("bc", "ef"))

"""The prefilters of the readers' patterns never hide a match."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor import checks, evidence
from doctor.checks._torch import words_of
from doctor.evidence.says import Says
from doctor.knowledge.literals import parser, sre
from doctor.regex import Regex


def regexes(value: Any) -> Iterator[Regex]:
    if isinstance(value, Regex):
        yield value
    elif isinstance(value, Says):
        yield value.regex
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


def holds(items: Iterable[tuple[Any, Any]], needs: tuple[str, ...], run: str = "") -> bool:
    """Whether every match of a parsed sequence, after the characters `run`, holds one of the words as spelled."""
    for operator, argument in opened(items):
        if operator is sre.LITERAL:
            run += chr(argument)
            if any(word in run for word in needs):
                return True
            continue
        if operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):  # these take no characters
            continue
        if operator is sre.BRANCH and all(holds(branch, needs, run) for branch in argument[1]):
            return True
        if str(operator).endswith("_REPEAT") and argument[0] >= 1 and holds(argument[2], needs, run):
            return True
        run = ""
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


STRINGS = {
    node.value
    for path in Path(checks.__path__[0]).rglob("*.py")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"[\\|*+]", node.value)
}


def test_the_words_of_an_expression_stand_in_every_match() -> None:
    """Over all texts in the checks that could be expressions."""
    tried = 0
    for text in STRINGS:
        try:
            parsed = parser.parse(text)
        except re.error:
            continue
        if words := words_of(text):
            tried += 1
            assert holds(parsed, words), (text, words)
    assert tried > 100


def test_a_need_that_a_match_may_lack_is_found() -> None:
    assert not holds(parser.parse(r"a(?:bc)?d|ef"), ("bc", "ef"))
    assert holds(parser.parse(r"a(?:bc)+d|\bef"), ("bc", "ef"))

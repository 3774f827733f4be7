"""What needs.py says of an expression never hides a match."""

import ast
import random
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from doctor import checks
from doctor.checks._torch import words_of
from doctor.knowledge.literals import parser, required_sets, sre, within_line
from doctor.needs import NEEDS
from doctor.regex import Regex, key
from scripts.needs import expressions
from tests.knowledge.test_messages import matching

BANK = Path(__file__).parent / "cases" / "bank"
ODD = {"i": "\u0131\u0130", "s": "\u017f", "k": "\u212a"}  # what IGNORECASE takes for these letters


@cache
def filtered() -> tuple[Regex, ...]:
    return tuple(Regex(*one) for one in sorted(set(expressions())) if key(*one) in NEEDS)


def found(regex: Regex, text: str) -> list[tuple[int, int]]:
    return [m.span() for m in regex.finditer(text)]


def plain(regex: Regex, text: str) -> list[tuple[int, int]]:
    return [m.span() for m in regex.compiled.finditer(text)]


def test_expressions_find_in_tickets_what_they_find_alone() -> None:
    text = "\n".join(p.read_text(encoding="utf-8")[:3000] for p in sorted(BANK.glob("*/*/input.txt"))[::60])
    assert not [one.pattern for one in filtered() if found(one, text) != plain(one, text)]


def test_expressions_find_texts_made_for_them() -> None:
    """Alone, and as lines of a longer text."""
    matched = 0
    for one in filtered():
        chance = random.Random(one.pattern)
        parsed = parser.parse(one.pattern, one.flags)
        for _ in range(6):
            said = matching(parsed, chance)
            if one.flags & re.IGNORECASE:
                said = "".join(chance.choice((c, c.lower(), c.upper(), *ODD.get(c, ""))) for c in said)
            for text in (said, "\n" * 150 + said + "\n" + said + "\nend" * 60):
                places = plain(one, text)
                matched += bool(places)
                assert found(one, text) == places, (one.pattern, text)
                assert [m and m.span() for m in (one.search(text), one.match(text), one.fullmatch(text))] == [
                    m and m.span() for m in (f(text) for f in (one.compiled.search, one.compiled.match,
                                                                one.compiled.fullmatch))
                ]  # fmt: skip
    assert matched > len(filtered())


def test_no_two_expressions_share_a_row() -> None:
    made = set(expressions())
    assert len({key(*one) for one in made}) == len(made)
    assert set(NEEDS) <= {key(*one) for one in made}


def test_most_expressions_need_something() -> None:
    assert len(filtered()) > 500


@pytest.mark.parametrize(
    ("regex", "sets"),
    [
        ("abc", [["abc"]]),
        ("a[bB]c|DEF", [["abc", "def"]]),
        (r"(?:my|our) (?:gpu|card)\b", [["my card", "my gpu", "our card", "our gpu"]]),
        (r"\bint(?:8|16)\b", [["int16", "int8"]]),
        ("foo(?:bar)?baz.*end", [["foobarbaz", "foobaz"], ["end"]]),
        ("(ab)+c", [["ab"], ["abc"]]),
        ("a(?:b|c*)d", [["a"], ["d"]]),
        (r"[/~]\.(?:so[.\d]*|py)", [["py", "so"], ["/.py", "/.so", "~.py", "~.so"]]),
        (r"(?:my|\d ?x) gpu", [["my", "x"], ["my gpu", "x gpu"]]),
        ("(?!no)yes(?=please)", [["yes"]]),
        (r"\w+\d*", []),
        ("(?:ab|cd){2,3}x", [["ab", "cd"], ["abx", "cdx"]]),
    ],
)
def test_what_an_expression_requires(regex: str, sets: list[list[str]]) -> None:
    assert [sorted(words) for words in required_sets(regex)] == sets


@pytest.mark.parametrize(
    ("regex", "flags", "within"),
    [
        (r"a[^\n]*b$", re.M, True), (r"a\s+b", 0, False), (r"a[^.]*b", 0, False), (r"a.b", re.S, False),
        (r"a(?=\s|$)", re.M, True), (r"a(?=\s|$)", 0, False), (r"a(?!\w|\.\d)", 0, True), (r"a(?=\s*$)", re.M, False),
        (r"(?<=\n)a\b", 0, True), (r"a\Z", 0, False), (r"a\W", 0, False), (r"[\t -~]b", 0, True),
        (r"a(?![^\n]*c)", 0, True), (r"(?s:a.b)", 0, False),
    ],
)  # fmt: skip
def test_whether_a_match_lies_in_one_line(regex: str, flags: int, within: bool) -> None:
    assert within_line(regex, flags) is within


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

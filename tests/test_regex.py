"""What needs.py says of an expression never hides a match."""

import random
import re
from functools import cache
from pathlib import Path

import pytest

from doctor.knowledge.literals import parser, required_sets, within_line
from doctor.needs import NEEDS
from doctor.regex import Lines, Regex, Text, Vocabulary, by_part, key
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


def test_an_expensive_expression_is_tried_only_where_an_alternative_can_match() -> None:
    """One whose first alternative lacks a word in a text that has another word of it."""
    spared = 0
    for one in filtered():
        fresh = Regex(one.pattern, one.flags)
        assert fresh.sets
        for sets in fresh._alternatives:
            text = " ".join(words[0] for words in sets[:-1])
            if not fresh.may_match(text):
                assert one.compiled.search(text) is None
                spared += len(sets) > 1
    assert spared > 100


def test_of_many_lines_those_that_may_match_hold_all_that_match() -> None:
    tickets = (path.read_text(encoding="utf-8") for path in sorted(BANK.glob("*/*/input.txt"))[::9])
    lines = list(dict.fromkeys(line for ticket in tickets for line in ticket.split("\n")))
    made = Lines((*lines, *lines))
    fewer = 0
    for one in filtered()[::7]:
        may = list(made.that_may_match(one))
        assert may == [line for line in lines if line in set(may)], "each once, in their order"
        assert {line for line in lines if one.compiled.search(line)} <= set(may)
        fewer += len(may) < len(lines) / 2
    assert fewer > len(filtered()[::7]) / 2


@pytest.mark.parametrize("low", ["", "abc", "abcd", "the abcdé of it", "\ud800bcd\nabcd"])
def test_words_are_found_at_once_as_one_by_one(low: str) -> None:
    words = ("ab", "abc", "abcd", "bcdé", "f it", "the abcdé", "zzzz", "d\nabc", "\ud800bcd", "?bcd")
    for rarest in (False, True):
        made = Vocabulary(by_part(((word, place) for place, word in enumerate((*words, "abc"))), rarest=rarest))
        found = made.within(Text(low))
        assert found.keys() == {word for word in words if word in low}
        assert found.get("abc", [1, 10]) == [1, 10], "a word that stands for two things"
    assert all(Text(low).may_hold(word) for word in words if word in low)

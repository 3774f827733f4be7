"""Regular expressions that are compiled when first used: most of the readers' are never needed for one ticket."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache


class Regex:
    """Like re.compile(pattern, flags), made at the first use.

    `needs`: substrings (case counts) of which one at least occurs in every match: a text without them is not searched,
    and the pattern is not even compiled for it. tests/evidence/test_regex.py proves each of them.
    """

    __slots__ = ("_compiled", "flags", "needs", "pattern")

    def __init__(self, pattern: str, flags: int = 0, needs: tuple[str, ...] = ()) -> None:
        self.pattern = pattern
        self.flags = flags
        self.needs = needs
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled at the first use."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    def _may_match(self, text: str) -> bool:
        return not self.needs or any(word in text for word in self.needs)

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.search(text, *span) if self._may_match(text) else None

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.match(text, *span) if self._may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text) if self._may_match(text) else None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text) if self._may_match(text) else iter(())

    def findall(self, text: str) -> list[str]:
        return self.compiled.findall(text) if self._may_match(text) else []

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self.compiled.sub(new, text, count=count) if self._may_match(text) else text

    def subn(self, new: str, text: str) -> tuple[str, int]:
        return self.compiled.subn(new, text) if self._may_match(text) else (text, 0)


def search_spanning(pattern: str, flags: int, text: str) -> tuple[int, int, tuple[str, ...]] | None:
    """(start, end, groups) of "A.*B.*C" over several lines, where `.*` stands for any text at all; None where it does
    not occur. The first A, the first B after it, the last C: in linear time, however long the text is.

    >>> search_spanning("a(.).*b|c.*d", re.S, "c a1 b b d")
    (2, 8, ('1',))
    """
    for pieces in _pieces(pattern, flags):
        start, end, groups = -1, 0, []
        for number, piece in enumerate(pieces, 1):
            found = piece.search(text, end)
            if found is None:
                break
            if 1 < number == len(pieces):
                *_, found = piece.finditer(text, found.start())
            start, end = (found.start() if start < 0 else start), found.end()
            groups += [group or "" for group in found.groups()]
        else:
            return start, end, tuple(groups)
    return None


def spanning_pieces(pattern: str) -> list[list[str]]:
    """Of each alternative what stands between its `.*`.

    >>> spanning_pieces(r"a(b|.*)\\.*c.*d|[.*|]e")
    [['a(b|.*)\\\\', 'c', 'd'], ['[.*|]e']]
    """
    found, depth, in_class, at = [[""]], 0, False, 0
    while at < len(pattern):
        token = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if in_class:
            in_class = token != "]"
        elif token == "[":
            in_class = True
        elif token in "()":
            depth += 1 if token == "(" else -1
        elif not depth and token == "|":
            found.append([""])
            at += 1
            continue
        elif not depth and pattern.startswith(".*", at):
            found[-1].append("")
            at += 2
            continue
        found[-1][-1] += token
        at += len(token)
    return found


@cache
def _pieces(pattern: str, flags: int) -> list[list[re.Pattern[str]]]:
    return [[re.compile(piece, flags) for piece in pieces] for pieces in spanning_pieces(pattern)]

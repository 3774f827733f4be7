"""Regular expressions that are compiled when first used: most of the readers' are never needed for one ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator


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

    def sub(self, new: str, text: str, count: int = 0) -> str:
        return self.compiled.sub(new, text, count=count) if self._may_match(text) else text

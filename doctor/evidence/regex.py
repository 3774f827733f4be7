"""Regular expressions that are compiled when first used: most of the readers' are never needed for one ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator


class Regex:
    """Like re.compile(pattern, flags), made at the first use."""

    __slots__ = ("_compiled", "flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.search(text, *span)

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.match(text, *span)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self.compiled.finditer(text)

    def findall(self, text: str) -> list[str]:
        return self.compiled.findall(text)

    def sub(self, new: str, text: str, count: int = 0) -> str:
        return self.compiled.sub(new, text, count=count)

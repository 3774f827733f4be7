"""Which releases a PEP 440 specifier admits.

Plain ones («==2.6.0», «>=2.10,<2.12») are compared as numbers; whatever else there may be is left to `packaging`, whose
import takes longer than the whole choice of a build.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

from doctor.knowledge.versions import compared
from doctor.model.values import dataclass
from doctor.regex import Regex

_CLAUSE = Regex(r"\s*(==|!=|>=|<=|<|>)\s*(\d+(?:\.\d+)*)\s*")
_NUMBERS = Regex(r"\d+(?:\.\d+)*")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


class Specifier(Protocol):
    """What admits some releases and others not: also packaging's SpecifierSet."""

    def contains(self, item: str, prereleases: bool | None = None) -> bool:
        """Whether it admits that release."""


@dataclass(frozen=True)
class _Plain:
    text: str
    clauses: tuple[tuple[Callable[[Any, Any], bool], tuple[int, ...]], ...]

    def contains(self, item: str, prereleases: bool | None = None) -> bool:
        number = _number(item)
        if number is None:
            return _full(self.text).contains(item, prereleases)
        for holds, limit in self.clauses:  # noqa: SIM110  # asked too often for a generator
            if not holds(number, limit):
                return False
        return True


@cache
def _number(item: str) -> tuple[int, ...] | None:
    """A version of numbers alone, comparable; None for any other."""
    return compared(item) if _NUMBERS.fullmatch(item) else None


@cache
def specifier(text: str) -> Specifier:
    """The specifier of that text; a bare version means exactly that one. Raises packaging's InvalidSpecifier."""
    text = text if text[0] in "<>=!~" else f"=={text}"
    clauses = [_CLAUSE.fullmatch(clause) for clause in text.split(",")]
    if all(clauses):
        return _Plain(text, tuple((_COMPARED[c[1]], compared(c[2])) for c in clauses if c))
    return _full(text)


@cache
def _full(text: str) -> Specifier:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text)

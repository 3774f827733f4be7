"""Foreign text made harmless, in one place: what comes from tickets, tools and the system goes through here."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from doctor.hidden import shows_nothing, without_commands

if TYPE_CHECKING:
    from doctor.model.report import Target

# Cf are the invisible ones, with the direction overrides that can make a line read backwards.
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def safe(text: str, *, keep_lines: bool = False) -> str:
    """Text without control characters (escape sequences lose their ESC), tabs as spaces; one line unless `keep_lines`.

    >>> safe("a\\x1b[31mb\\tc\\nd")
    'a?[31mb c d'
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(_safe_character(c, keep_lines) for c in text)
        text = text if text.isascii() else _without_towers(text)
    return without_commands(text)


def headline(tool: str, target: Target) -> str:
    """The first line of a report: which torchdoctor examines which Python."""
    if target.evidence:
        return f"{tool} reads {', '.join(target.evidence)}"
    return f"{tool} examines {target.python or 'this machine'}" + (f" ({target.reason})" if target.reason else "")


def wrapped(text: str, width: int, *, indent: str = "", hang: str = "", break_long_words: bool = True) -> list[str]:
    """Lines of foreign text, at least one. Where a word is broken, no line begins with a command."""
    import textwrap

    lines = textwrap.wrap(
        safe(text), width, initial_indent=indent, subsequent_indent=hang, break_on_hyphens=False,
        break_long_words=break_long_words,
    )  # fmt: skip
    return [without_commands(line) for line in lines] or [""]


def _safe_character(character: str, keep_lines: bool) -> str:
    if " " <= character <= "~" or character == "…":
        return character
    if character == "\n":
        return "\n" if keep_lines else " "
    if character in "\t\r":
        return " "
    if (ord(character) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:  # no characters: XML forbids them
        return "?"
    if "\ufe00" <= character <= "\ufe0f":  # chooses the look of the emoji before it
        return ""
    return "?" if _category(character) in _UNSAFE or shows_nothing(character) else character


@lru_cache(maxsize=1024)
def _category(character: str) -> str:
    import unicodedata  # most reports do not need it

    return unicodedata.category(character)


_STACKED = 4  # marks on one letter; no script needs more, and a tower of them covers the lines around


def _without_towers(text: str) -> str:
    parts, marks = [], 0
    for character in text:
        marks = marks + 1 if _category(character) in ("Mn", "Me") else 0
        if marks <= _STACKED:
            parts.append(character)
    return "".join(parts)

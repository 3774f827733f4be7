"""Foreign text made harmless, in one place: what comes from tickets, tools and the system goes through here."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from doctor.regex import Regex

if TYPE_CHECKING:
    from doctor.model.report import Target

# Cf are the invisible ones, with the direction overrides that can make a line read backwards.
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")

# What the runner of a CI takes from a program's output for a command to itself. Sources: GitHub's actions/runner
# (ActionCommand: «::» first in a line, in any letter case; «##[» anywhere), Azure's logging commands («##vso[»),
# TeamCity's
# service messages («##teamcity[»), GitLab's and Travis' marks of sections. A wrapped line can begin at any word.
_COMMAND = Regex(
    r"(?<!\S)(?P<colons>:{2,})|(?P<hashes>#{2,})"
    r"(?=[A-Za-z]{0,40}\[)|(?P<section>section_(?:start|end)|travis_(?:fold|time)):",
    re.IGNORECASE,
)


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
    """The first line of a report: who looks at what."""
    if target.evidence:
        return f"{tool} reads {', '.join(target.evidence)}"
    return f"{tool} examines {target.python or 'this machine'}" + (f" ({target.reason})" if target.reason else "")


def without_commands(text: str) -> str:
    """The text with a space in everything that a CI's runner would take for a command.

    >>> without_commands("::Set-Output x, ##vso[task] and at::native")
    ': :Set-Output x, # #vso[task] and at::native'
    """
    return _COMMAND.sub(_broken, text)


def wrapped(text: str, width: int, *, indent: str = "", hang: str = "", break_long_words: bool = True) -> list[str]:
    """Lines of foreign text, at least one. Where a word is broken, no line begins with a command."""
    import textwrap

    lines = textwrap.wrap(
        safe(text), width, initial_indent=indent, subsequent_indent=hang, break_on_hyphens=False,
        break_long_words=break_long_words,
    )  # fmt: skip
    return [without_commands(line) for line in lines] or [""]


def is_visible(text: str) -> bool:
    """Whether every character of it shows."""
    return text.isascii() or not any(c in _INVISIBLE or "\ufe00" <= c <= "\ufe0f" for c in text)


def has_command(text: str) -> bool:
    """Whether a CI's runner would find a command in it."""
    return _COMMAND.search(text) is not None


def _broken(match: re.Match[str]) -> str:
    return f"{match['section']} :" if match["section"] else " ".join(match[0])


def _safe_character(character: str, keep_lines: bool) -> str:
    if character == "\n":
        return "\n" if keep_lines else " "
    if character in "\t\r":
        return " "
    if (ord(character) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(character) <= 0xFDEF:  # no characters: XML forbids them
        return "?"
    if "\ufe00" <= character <= "\ufe0f":  # chooses the look of the emoji before it
        return ""
    return "?" if unicodedata.category(character) in _UNSAFE or character in _INVISIBLE else character


# Letters and marks that show nothing: Unicode's Default_Ignorable_Code_Point beyond Cf, and the blank of Braille.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)))
)
_STACKED = 4  # marks on one letter; no script needs more, and a tower of them covers the lines around


def _without_towers(text: str) -> str:
    parts, marks = [], 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if marks <= _STACKED:
            parts.append(character)
    return "".join(parts)

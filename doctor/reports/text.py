"""Foreign text made harmless, in one place: what comes from tickets, tools and the system goes through here."""

from __future__ import annotations

import re
import unicodedata

# Cf are the invisible ones, with the direction overrides that can make a line read backwards.
_UNSAFE = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


# At the start of a line (and wrapping makes such starts) a CI runner takes «::name …::» and «##[name]» for commands.
_WORKFLOW_COMMAND = re.compile(r"(?<![^\s])(:|#)(:(?=[a-z])|#(?=\[))")


def safe(text: str, *, keep_lines: bool = False) -> str:
    """Text without control characters (escape sequences lose their ESC), tabs as spaces; one line unless `keep_lines`.

    >>> safe("a\\x1b[31mb\\tc\\nd")
    'a?[31mb c d'
    """
    if not (text.isascii() and text.isprintable()):
        text = "".join(_safe_character(c, keep_lines) for c in text)
    return _WORKFLOW_COMMAND.sub(r"\1 \2", text)


def _safe_character(character: str, keep_lines: bool) -> str:
    if character == "\n":
        return "\n" if keep_lines else " "
    if character in "\t\r":
        return " "
    return "?" if unicodedata.category(character) in _UNSAFE else character

"""Credentials in addresses never reach the screen or the journal."""

from __future__ import annotations

import re
from collections.abc import Sequence

_USERINFO = re.compile(r"(?<=://)[^/\s@'\"]+(?=@)")


def hide(text: str) -> str:
    """The text with `user:password` of every address replaced."""
    return _USERINFO.sub("****", text)


def hide_all(argv: Sequence[str]) -> tuple[str, ...]:
    """The same for the words of a command."""
    return tuple(hide(word) for word in argv)

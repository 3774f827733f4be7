"""Credentials in addresses never reach the screen or the journal."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.redaction.secrets import without_userinfo


def hide(text: str) -> str:
    """The text with `user:password` replaced in every address."""
    return without_userinfo(text, "****")


def hide_all(argv: Sequence[str]) -> tuple[str, ...]:
    """The same for the words of a command."""
    return tuple(hide(word) for word in argv)

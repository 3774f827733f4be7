"""What the ward's two pages have in common."""

from __future__ import annotations


def cell(text: str, most: int) -> str:
    """A text as a cell of a Markdown table, cut off after so many characters."""
    return " ".join(text.replace("|", "\\|").split())[:most]


def share(part: int, whole: int) -> str:
    """A share in per cent; "-" of nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"

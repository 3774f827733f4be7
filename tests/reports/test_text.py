"""Foreign text is made harmless in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.fixes.quoting import command
from doctor.reports.text import safe, wrapped
from tests.reports.hostile import live_commands


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("at::native::add, x # y", "at::native::add, x # y"),
        ("\x1b]0;title\x07", "?]0;title?"),
        ("a\nb\tc\rd", "a b c d"),
        ("::add-mask::x", ": :add-mask::x"),
        ("x ##[error]y", "x # #[error]y"),
        ("\u202egnp.exe", "?gnp.exe"),
        ("Grüße, 中文", "Grüße, 中文"),
    ],
)
def test_safe(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_lines_are_kept_on_request() -> None:
    assert safe("a\n\x1bb", keep_lines=True) == "a\n?b"


@given(st.text())
def test_is_printable_and_settled(text: str) -> None:
    shown = safe(text)
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)
    assert safe(shown) == shown


@pytest.mark.parametrize("blank", "\u115f\u1160\u3164\uffa0\u2800\u034f\u180b\u17b4\u2065\ufff0\U000e0100\U000e0fff")
def test_nothing_invisible(blank: str) -> None:
    """Letters and marks that show nothing, though Unicode calls them printable."""
    assert safe(f"pip{blank}install") == "pip?install"
    assert command(("pip", f"to{blank}rch"), "sh") is None


def test_an_emoji_keeps_its_place_and_letters_their_accents() -> None:
    assert safe("\u26a0\ufe0f caf\u0065\u0301") == "\u26a0 caf\u0065\u0301"


def test_no_tower_of_marks() -> None:
    assert safe("a" + "\u0301" * 500 + "b") == "a" + "\u0301" * 4 + "b"


def test_a_broken_word_begins_no_line_with_a_command() -> None:
    for width in range(20, 40):
        lines = wrapped("x:::warning::::ADD-MASK::::error::::x" * 3, width, hang="    ")
        assert live_commands("\n".join(lines)) == []
        assert max(map(len, lines)) <= width + 4
    assert wrapped("", 20) == [""]

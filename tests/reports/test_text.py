"""Foreign text is made harmless in one place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.reports.text import safe


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

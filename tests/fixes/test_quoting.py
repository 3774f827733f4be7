"""What goes into a shell must mean there what it means here."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from doctor.fixes import quoting

NASTY = (
    "",
    "a b",
    "it's",
    '"',
    "$HOME",
    "`id`",
    "a;rm -rf /",
    "*",
    "~",
    "#",
    "\\",
    "torch[device-gfx1201]",
    "numpy<2",
    "a=b",
    "é",
)


def test_posix_round_trip_through_sh() -> None:
    argv = ("printf", "%s\\n", *NASTY)
    out = subprocess.run(
        ["sh", "-c", quoting.posix(argv)], capture_output=True, text=True, check=True, timeout=10
    ).stdout
    assert out.split("\n")[:-1] == list(NASTY)


@pytest.mark.parametrize("word", NASTY)
def test_posix_words(word: str) -> None:
    assert shlex.split(quoting.posix(("x", word))) == ["x", word]


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ((r"C:\Users\u\python.exe", "-m", "pip"), r"C:\Users\u\python.exe -m pip"),
        ((r"C:\Program Files\python.exe", "-V"), r"& 'C:\Program Files\python.exe' -V"),
        (("pip", "install", "numpy<2"), "pip install 'numpy<2'"),
        (("x", "it's"), "x 'it''s'"),
        (("x", "a\u2019; calc"), "x 'a\u2019\u2019; calc'"),
        (("x", "$env:A", "@b", "a,b"), "x '$env:A' '@b' 'a,b'"),
        (("x", ""), "x ''"),
    ],
)
def test_powershell(argv: tuple[str, ...], line: str) -> None:
    assert quoting.powershell(argv) == line


def test_variables() -> None:
    assert quoting.set_variable("A", "x y", windows=False) == "export A='x y'"
    assert quoting.set_variable("A", "x y", windows=True) == "$env:A = 'x y'"
    assert quoting.set_variable("A", "", windows=True) == "$env:A = ''"
    assert quoting.unset_variable("LD_LIBRARY_PATH", windows=False) == "unset LD_LIBRARY_PATH"
    assert quoting.unset_variable("A", windows=True) == "Remove-Item Env:A"


@pytest.mark.parametrize("name", ["", "A B", "A;id", "1A", "A\n", "É"])
def test_no_line_for_what_is_no_name(name: str) -> None:
    assert quoting.set_variable(name, "1", windows=False) is None
    assert quoting.unset_variable(name, windows=True) is None


def test_no_line_for_a_value_with_a_line_break() -> None:
    assert quoting.set_variable("A", "1\nid", windows=False) is None


@pytest.mark.parametrize("text", ["one\ntwo", "one\rtwo", "one\u2028two", "one\x85two", "one\x1b[2Jtwo"])
def test_a_comment_stays_a_comment(text: str) -> None:
    lines = quoting.comment(text)
    assert all(line.startswith("# ") for line in lines)
    assert all(line.isprintable() for line in lines)

"""The form of a text does not change what is read from it."""

import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.evidence.read import read
from doctor.model.facts import Facts

SPOILED_BY_WRAPPING = (
    6  # texts of which a wrap hides some fact (never the one that decides, see scripts/score_cases.py)
)
BANK = sorted((Path(__file__).parent.parent / "cases" / "bank").glob("*/*/input.txt"))


def each_line(change: Callable[[str], str]) -> Callable[[str], bytes]:
    return lambda text: "\n".join(change(line) for line in text.split("\n")).encode()


def wrapped(text: str) -> bytes:
    return each_line(lambda s: s if len(s) <= 80 else textwrap.fill(s, 80, break_on_hyphens=False))(text)


FORMS: dict[str, Callable[[str], bytes]] = {
    "quoted": each_line(lambda s: f"> {s}"),
    "fenced": lambda t: f"Here it is:\n```\n{t}\n```\n".encode(),
    "fenced and quoted": each_line(lambda s: f"> {s}")
    and (lambda t: "\n".join(f"> {s}" for s in f"```\n{t}\n```".split("\n")).encode()),
    "indented": each_line(lambda s: f"    {s}"),
    "CRLF": lambda t: t.replace("\n", "\r\n").encode(),
    "UTF-16": lambda t: t.encode("utf-16"),
    "UTF-16 without a mark": lambda t: t.encode("utf-16-le"),
    "cp936": lambda t: f"我的环境如下，安装失败：\n\n{t}".encode("gb18030"),
    "cp1252": lambda t: f"Voilà le problème :\n\n{t}".encode("cp1252", "replace"),
    "coloured": each_line(lambda s: f"\x1b[31m{s[:5]}\x1b[0m\x1b[1m{s[5:]}\x1b[0m"),
    "wrapped": wrapped,
    "escaped": lambda t: t.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;").encode(),
}


def essence(facts: Facts) -> Facts:
    """Facts without what depends on lines and layout."""
    errors = tuple(sorted({e.pattern for e in facts.errors if e.pattern.startswith("e") and e.pattern != "exception"}))
    attempts = tuple(replace(a, message="", command=None) for a in facts.attempts)
    return replace(facts, origins={}, gaps=(), errors=errors, attempts=attempts)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    different = []
    for path in BANK:
        text = path.read_text(encoding="utf-8")
        if form == "cp1252" and not text.isascii():
            continue
        plain, changed = (read([("x", data)]).facts for data in (text.encode(), FORMS[form](text)))
        if essence(plain) != essence(changed):
            different.append(path.parent.name)
    assert len(different) <= (SPOILED_BY_WRAPPING if form == "wrapped" else 0), different

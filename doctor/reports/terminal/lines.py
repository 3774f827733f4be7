"""The lines that everything on the terminal is made of: text, prose wrapped at a width, tables.

Foreign text is only ever put into lines after `safe`, and never parsed as markup: it can neither be one nor move the
cursor.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator

from doctor.reports.text import safe


class Line:
    """A line of text and how its parts look. rich, which takes long to load, is asked only for colours."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.style = style
        self.parts = [(text, "")]

    @classmethod
    def assemble(cls, *parts: str | tuple[str, str] | Line) -> Line:
        """A line of texts, texts with a style, and lines, which keep theirs."""
        line = cls()
        for part in parts:
            if isinstance(part, Line):
                line.parts += [(text, f"{part.style} {style}".strip()) for text, style in part.parts]
            else:
                line.append(*((part,) if isinstance(part, str) else part))
        return line

    def append(self, text: str, style: str = "") -> Line:
        self.parts.append((text, style))
        return self

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.parts)


Lines = Iterator[Line]


def cell_len(text: str) -> int:
    """The width of a text in columns."""
    if text.isascii():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def printed(lines: Iterable[Line], color: bool) -> str:
    """The lines as text, each with a newline; with escape sequences only if `color`."""
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    from rich.console import Console
    from rich.text import Text

    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, color_system="standard", width=200, highlight=False, markup=False, emoji=False,
        legacy_windows=False,
    )  # fmt: skip
    for line in lines:
        text = Text.assemble(*line.parts, style=line.style)
        text.rstrip()
        console.print(text, soft_wrap=True)
    return file.getvalue()


def plain(text: str, style: str = "") -> Line:
    """One line of foreign text, made harmless."""
    return Line(safe(text), style=style)


def prose(text: str, width: int, *, indent: int = 0, style: str = "") -> Lines:
    """Wrapped at spaces; a word longer than the line (a path, a command) stays whole."""
    pad = " " * indent
    line = pad
    for word in safe(text).split():
        if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
            yield Line(line, style=style)
            line = pad
        line += word if not line.strip() else f" {word}"
    if line.strip():
        yield Line(line, style=style)


def _wrapped(text: str, room: int) -> list[str]:
    return [line.plain for line in prose(text, max(room, 20))] or [""]


def table(
    rows: Iterable[tuple[str, ...]],
    *,
    heads: tuple[str, ...] = (),
    indent: int = 4,
    gap: int = 4,
    width: int | None = None,
    prose: int | None = None,
) -> Lines:
    """Columns as wide as they need to be. With `width` and heads, columns that do not fit go below their row; with
    `prose`, the last column is wrapped at that width."""
    cells = [tuple(safe(c) for c in row) for row in ((heads, *rows) if heads else rows)]
    if not cells:
        return
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(cells[0]))]
    kept = len(widths)
    while width and heads and kept > 1 and indent + sum(widths[:kept]) + gap * (kept - 1) > width:
        kept -= 1
    for number, row in enumerate(cells):
        line = Line(" " * indent, style="bold" if heads and number == 0 else "")
        before = indent + sum(widths[: kept - 1]) + gap * (kept - 1)
        shown, *more = [row[kept - 1]] if prose is None else _wrapped(row[kept - 1], prose - before)
        for i, cell in enumerate((*row[: kept - 1], shown)):
            last = i == kept - 1
            line.append(
                cell + ("" if last else " " * (widths[i] - cell_len(cell) + gap)), style="dim" if last and i > 1 else ""
            )
        yield line
        yield from (Line(" " * before + part, style="dim" if kept > 2 else "") for part in more)
        if width and number and (below := [f"{h}: {c}" if h else c for h, c in zip(cells[0], row, strict=True)][kept:]):
            said = "; ".join(text for text, cell in zip(below, row[kept:], strict=True) if cell)
            for part in textwrap.wrap(said, width - indent - 4, break_long_words=False, break_on_hyphens=False):
                yield Line(" " * (indent + 4) + part, style="dim")

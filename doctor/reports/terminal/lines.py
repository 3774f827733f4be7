"""The lines that everything on the terminal is made of: text, prose wrapped at a width, tables.

Foreign text is only ever put into rich Text objects, after `safe`: it can neither be markup nor move the cursor.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.text import Text

from doctor.reports.text import safe

Lines = Iterator[Text]


def printed(lines: Iterable[Text], color: bool) -> str:
    """The lines as text, each with a newline; with escape sequences only if `color`."""
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    from rich.console import Console  # only colour needs it

    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, color_system="standard", width=200, highlight=False, markup=False, emoji=False,
        legacy_windows=False,
    )  # fmt: skip
    for line in lines:
        line.rstrip()
        console.print(line, soft_wrap=True)
    return file.getvalue()


def plain(text: str, style: str = "") -> Text:
    """One line of foreign text, made harmless."""
    return Text(safe(text), style=style)


def prose(text: str, width: int, *, indent: int = 0, style: str = "") -> Lines:
    """Wrapped at spaces; a word longer than the line (a path, a command) stays whole."""
    pad = " " * indent
    line = pad
    for word in safe(text).split():
        if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
            yield Text(line, style=style)
            line = pad
        line += word if not line.strip() else f" {word}"
    if line.strip():
        yield Text(line, style=style)


def table(
    rows: Iterable[tuple[str, ...]],
    *,
    heads: tuple[str, ...] = (),
    indent: int = 4,
    gap: int = 4,
    width: int | None = None,
) -> Lines:
    """Columns as wide as they need to be. With `width` and heads, columns that do not fit go below their row."""
    cells = [tuple(safe(c) for c in row) for row in ((heads, *rows) if heads else rows)]
    if not cells:
        return
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(cells[0]))]
    kept = len(widths)
    while width and heads and kept > 1 and indent + sum(widths[:kept]) + gap * (kept - 1) > width:
        kept -= 1
    for number, row in enumerate(cells):
        line = Text(" " * indent, style="bold" if heads and number == 0 else "")
        for i, cell in enumerate(row[:kept]):
            last = i == kept - 1
            line.append(
                cell + ("" if last else " " * (widths[i] - cell_len(cell) + gap)), style="dim" if last and i > 1 else ""
            )
        yield line
        if width and number and (below := [f"{h}: {c}" if h else c for h, c in zip(cells[0], row, strict=True)][kept:]):
            said = "; ".join(text for text, cell in zip(below, row[kept:], strict=True) if cell)
            for part in textwrap.wrap(said, width - indent - 4, break_long_words=False, break_on_hyphens=False):
                yield Text(" " * (indent + 4) + part, style="dim")

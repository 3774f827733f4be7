"""A benchmark, a comparison, a merged table and the known errors as plain text for the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from doctor.bench.compare import Comparison, Merged
from doctor.knowledge import published
from doctor.model.bench import BenchReport
from doctor.reports.bench import layout
from doctor.reports.text import safe


def render(report: BenchReport, *, color: bool = False, width: int = 80) -> str:
    """The tables, then what is to be said of single rows, then the verdict."""
    return "".join(_report(report, color, width))


def render_comparison(result: Comparison, *, color: bool = False, width: int = 80) -> str:
    """The verdicts, and what else changed."""
    return _tables(layout.comparison(result), color, width) + f"\n{safe(layout.compared_in_a_line(result))}\n"


def render_merged(result: Merged, *, color: bool = False, width: int = 80) -> str:
    """A table for each method."""
    return _tables(layout.merged(result), color, width)


def render_known(*, width: int = 80) -> str:
    """The published numbers that are wrong or not comparable, a paragraph each."""
    return "\n".join(_known(width)) + "\n"


def _report(report: BenchReport, color: bool, width: int) -> Iterator[str]:
    yield from _prose(f"{report.tool} bench, {layout.environment(report)}", width)
    for line in layout.devices(report):
        yield from _prose(line, width, indent=2)
    yield "\n" + _tables(layout.tables(report), color, width)
    for title, sentences in (
        ("speed-up over the CPU", [("", line) for line in layout.means(report)]),
        ("where it stands", list(layout.standing(report))),
        ("of single rows", list(layout.remarks(report))),
        ("found", [(f.id, f"{f.text} (torchdoctor explain {f.id})") for f in report.findings]),
        ("left out", [("", note) for note in report.notes]),
    ):
        if sentences:
            yield f"\n{title}\n"
            for name, sentence in sentences:
                yield from _prose(f"{name}: {sentence}" if name else sentence, width, indent=2, hang=4)
    yield "\n"
    yield from _prose(layout.verdict(report), width)


def _tables(tables: Sequence[layout.Table], color: bool, width: int) -> str:
    from doctor.reports.terminal.pages import render_table

    parts = []
    for table in tables:
        title = "".join(_prose(table.title, width)) if table.title else ""
        shown = render_table(table.lines, heads=table.heads, color=color, indent=2, gap=2, width=width)
        below = "".join("".join(_prose(line, width, indent=2, hang=6)) for line in table.below)
        parts.append(title + shown + below)
    return "\n".join(parts)


def _known(width: int) -> Iterator[str]:
    for known in published.known():
        lead = "WRONG" if known.kind == "wrong" else "NOT COMPARABLE"
        by = f" (by {known.factor:g} times)" if known.factor else ""
        yield "".join(_prose(f"{lead}  {known.work.title}: {known.claim}{by}", width, hang=2)).rstrip("\n")
        yield "".join(_prose(known.reason, width, indent=2)).rstrip("\n")
        yield "".join(_prose(known.work.where, width, indent=2)).rstrip("\n")
        if known.see:
            yield f"  see it on your machine: {known.see}"
        yield ""
    yield "".join(_prose(
        "A published number that is not here is not thereby right: torchdoctor bench shows how it is measured on your "
        "machine, and prints no time of a wrong computation.", width)).rstrip("\n")  # fmt: skip


def _prose(text: str, width: int, *, indent: int = 0, hang: int | None = None) -> Iterable[str]:
    """Wrapped at spaces; addresses and commands stay whole."""
    lines = textwrap.wrap(
        safe(text), width, initial_indent=" " * indent, subsequent_indent=" " * (indent if hang is None else hang),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return (f"{line}\n" for line in lines)

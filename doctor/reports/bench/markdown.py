"""A benchmark for an issue: the tables, with everything else folded."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.bench.compare import Comparison, Merged
from doctor.model.bench import BenchReport
from doctor.reports.bench import layout
from doctor.reports.sinks import markdown, markdown_cell


def render(report: BenchReport) -> str:
    """GitHub-flavoured Markdown."""
    return "\n".join(_report(report)) + "\n"


def render_comparison(result: Comparison) -> str:
    """The verdicts, and what else changed."""
    lines = [f"**{markdown(layout.compared_in_a_line(result))}**", ""]
    for table in layout.comparison(result):
        lines += [*table_lines(table), ""]
    return "\n".join(lines)


def render_merged(result: Merged) -> str:
    """A table for each method."""
    lines: list[str] = []
    for table in layout.merged(result):
        lines += [*table_lines(table), ""]
    return "\n".join(lines)


def render_known() -> str:
    """The published numbers that are wrong, or not comparable."""
    return "\n".join(table_lines(layout.references())) + "\n"


def _report(report: BenchReport) -> Iterator[str]:
    yield f"**{markdown(layout.verdict(report))}**"
    yield ""
    yield markdown(f"{report.tool}, {report.taken_at[:10]}: {layout.environment(report)}")
    yield ""
    for line in layout.devices(report):
        yield f"- {markdown(line)}"
    for table in layout.tables(report):
        yield ""
        yield from table_lines(table)
    if means := list(layout.means(report)):
        yield ""
        for line in means:
            yield f"- {markdown(line)}"
    said = [*layout.remarks(report), *((f.id, f.text) for f in report.findings), *(("", note) for note in report.notes)]
    for summary, sentences in (("Of single rows", said), ("Where it stands", list(layout.standing(report)))):
        if sentences:
            yield ""
            yield f"<details><summary>{summary}</summary>"
            yield ""
            for name, sentence in sentences:
                yield f"- {markdown(f'{name}: {sentence}' if name else sentence)}"
            yield ""
            yield "</details>"


def table_lines(table: layout.Table) -> Iterator[str]:
    """One table, with its title before and its notes after it."""
    if table.title:
        yield f"{markdown(table.title)}:"
        yield ""
    yield "| " + " | ".join(_cell(head) for head in table.heads) + " |"
    yield "|" + "---|" * len(table.heads)
    for line in table.lines:
        yield "| " + " | ".join(_cell(cell) for cell in line) + " |"
    for said in table.below:
        yield ""
        yield markdown(said)


def _cell(text: str) -> str:
    """Numbers and our own words as they are, all else through the sink."""
    return str(text) if isinstance(text, layout.Own) else markdown_cell(text)

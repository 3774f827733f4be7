"""A fleet's report for an issue or a job's summary."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.fleet import FleetReport
from doctor.reports.fleet import layout
from doctor.reports.sinks import markdown, markdown_cell


def render(report: FleetReport) -> str:
    """GitHub-flavoured Markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: FleetReport) -> Iterator[str]:
    yield f"**{markdown(layout.verdict(report))}**"
    yield ""
    yield markdown(f"{report.tool}, {report.taken_at}: {layout.heading(report)}")
    told = layout.accused(report)
    if told:
        yield ""
        yield from _table(layout.Table(
            title="Found", heads=("verdict", "finding", "where", "what", "to do"),
            lines=tuple((layout.WORDS[f.verdict], f.id, f.subject, f.text, f.remedy)
                        for f in told[: layout.FINDINGS_SHOWN]),
        ))  # fmt: skip
        if len(told) > layout.FINDINGS_SHOWN:
            yield ""
            yield f"and {len(told) - layout.FINDINGS_SHOWN} more"
    for after in layout.consequences(report)[:8]:
        yield f"- {markdown(f'because of that, {after.id}: {after.text}')}"
    yield ""
    yield from _table(layout.nodes(report, all_of_them=False))
    if sentence := layout.links(report):
        yield ""
        yield markdown(sentence)
    details = [*layout.classes(report)]
    if report.collectives:
        details.append(layout.collectives(report))
    if report.drift:
        details.append(layout.drift(report))
    for table in details:
        yield ""
        yield from _table(table)
    said = [*layout.floors(report), *report.not_judged, *report.notes]
    if said:
        yield ""
        yield "<details><summary>Floors, what was not judged, and notes</summary>"
        yield ""
        for line in said:
            yield f"- {markdown(line)}"
        yield ""
        yield "</details>"


def _table(table: layout.Table) -> Iterator[str]:
    yield f"### {markdown(table.title)}"
    yield ""
    yield "| " + " | ".join(map(markdown_cell, table.heads)) + " |"
    yield "|" + " --- |" * len(table.heads)
    for line in table.lines:
        yield "| " + " | ".join(map(markdown_cell, line)) + " |"

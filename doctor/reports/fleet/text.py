"""A fleet's report for the terminal: the verdict, what is wrong and where, then the nodes and what they were held
against. No rich, for a rank prints it, too, in a Python that may lack it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.model.fleet import FleetReport, Verdict
from doctor.reports.fleet import layout
from doctor.reports.text import safe, wrapped

_COLORS: dict[Verdict, str] = {"pass": "32", "degraded": "33", "fail": "31", "not-measured": "35"}


def render(report: FleetReport, *, color: bool = False, width: int = 80, verbose: bool = False) -> str:
    """The whole report."""
    return "".join(f"{line}\n" for line in _lines(report, color, width, verbose))


def _lines(report: FleetReport, color: bool, width: int, verbose: bool) -> Iterator[str]:
    yield from _prose(f"{report.tool} fleet: {layout.heading(report)}", width)
    yield ""
    yield from _painted(_prose(layout.verdict(report), width), report.verdict, color)
    told = layout.accused(report)
    for one in told[: layout.FINDINGS_SHOWN]:
        yield ""
        head = _prose(f"{layout.MARKS[one.verdict]}  {one.id}  {one.subject}", width, hang=4)
        yield from _painted(head, one.verdict, color)
        yield from _prose(one.text, width, indent=4)
        for line in one.evidence[:4] if verbose else ():
            yield from _prose(line, width, indent=4, hang=6)
        if one.remedy:
            yield from _prose(f"To do: {one.remedy}", width, indent=4, hang=6)
    if len(told) > layout.FINDINGS_SHOWN:
        yield ""
        yield f"    and {len(told) - layout.FINDINGS_SHOWN} more (--json has all)"
    if after := layout.consequences(report):
        yield ""
        yield from _prose("Because of that:", width)
        for one in after[:8]:
            yield from _prose(f"{one.id}: {one.text}", width, indent=2, hang=4)
    yield from _table(layout.nodes(report, all_of_them=verbose), width)
    for table in layout.classes(report):
        yield from _table(table, width)
    if report.collectives:
        yield from _table(layout.collectives(report), width)
    if sentence := layout.links(report):
        yield ""
        yield sentence
    if report.drift:
        yield from _table(layout.drift(report), width)
    for title, lines in (("Floors", layout.floors(report)), ("Not judged", report.not_judged), ("Notes", report.notes)):
        if lines:
            yield ""
            yield title
            for line in lines:
                yield from _prose(line, width, indent=2, hang=4)
    if bad := layout.bad_nodes(report):
        yield ""
        yield f"Exclude: {safe(','.join(bad))}"  # never wrapped: it is pasted


def _table(table: layout.Table, width: int) -> Iterator[str]:
    """Columns as wide as their cells; what does not fit in the line goes below its row."""
    if not table.lines:
        return
    yield ""
    yield from _prose(table.title, width)
    rows = [tuple(map(safe, table.heads)), *(tuple(map(safe, line)) for line in table.lines)]
    used = [i for i in range(len(table.heads)) if any(row[i] for row in rows[1:])]
    last = used[-1]
    widths = {i: min(40, max(len(row[i]) for row in rows)) for i in used if i != last}
    for row in rows:
        start = "  " + "".join(f"{row[i]:{widths[i]}}  " for i in used if i != last)
        room = width - len(start)
        cell = row[last]
        if len(cell) <= room or not cell:
            yield (start + cell).rstrip()
        elif room >= 30:
            first, *rest = wrapped(cell, room)
            yield start + first
            yield from (" " * len(start) + line for line in rest)
        else:
            yield start.rstrip()
            yield from wrapped(cell, width, indent="      ", hang="      ")


def _prose(text: str, width: int, *, indent: int = 0, hang: int | None = None) -> list[str]:
    hanging = " " * (indent if hang is None else hang)
    return wrapped(text, width, indent=" " * indent, hang=hanging, break_long_words=False)


def _painted(lines: Iterable[str], verdict: Verdict, color: bool) -> Iterator[str]:
    for line in lines:
        yield f"\x1b[{_COLORS[verdict]}m{line}\x1b[0m" if color else line

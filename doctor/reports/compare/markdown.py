"""A comparison for an issue tracker."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.compare import Comparison, Difference
from doctor.reports.compare import layout
from doctor.reports.markdown import table
from doctor.reports.sinks import markdown, markdown_cell, markdown_code

COLUMNS = 6  # machines that have a column each; of more, the values are listed
_LONGEST = 400  # characters of a value
LENGTH = 60_000  # characters of all: what an issue takes


def render(comparison: Comparison) -> str:
    """GitHub-flavoured Markdown. What nothing depends on is folded, and left out where there is no room."""
    text = "\n".join(_lines(comparison, every=True)) + "\n"
    return text if len(text) <= LENGTH else "\n".join(_lines(comparison, every=False))[:LENGTH] + "\n"


def _lines(comparison: Comparison, *, every: bool) -> Iterator[str]:
    yield f"**{markdown(layout.verdict(comparison).rstrip('.'))}.**"
    yield ""
    yield from table(
        ("machine", "verdict", "what it is"),
        ((m.name, layout.found(comparison, i), _cut(m.summary)) for i, m in enumerate(comparison.machines)),
    )
    if len(comparison.machines) > 2:
        yield ""
        yield from table(
            ("group", "machines", "verdict", "findings"),
            (("odd" if g.odd else "", layout.listed(g.machines, 12), layout.VERDICTS[g.verdict], ", ".join(g.findings))
             for g in comparison.groups),
        )  # fmt: skip
    for section in layout.sections(comparison, every=every):
        folded = section.rank in ("matters", "incidental")
        if not section.differences:
            continue
        yield ""
        yield f"<details><summary>{section.title} ({len(section.differences)})</summary>" if folded else (
            f"### {section.title}"
        )
        yield ""
        yield from _differences(comparison, section.differences)
        if folded:
            yield ""
            yield "</details>"
    if comparison.unexplained:
        yield ""
        yield "### Not explained"
        yield ""
        for left in comparison.unexplained:
            yield f"- {markdown_code(left.finding)} ({markdown(left.machine)}): {markdown(layout.unexplained(left))}"
    for title, known in (("Same on all", comparison.same), ("Known of some only, and not of", comparison.unknown)):
        if known:
            yield ""
            yield f"{title}: " + "; ".join(f"{markdown(k.label)} {markdown(_cut(k.text))}" for k in known)


def _differences(comparison: Comparison, differences: tuple[Difference, ...]) -> Iterator[str]:
    names = [machine.name for machine in comparison.machines]
    explains = any(d.explains for d in differences)
    last = ("explains",) if explains else ()
    if len(names) <= COLUMNS:
        yield from table(
            ("", *map(markdown_cell, names), *last),
            ((d.label, *(_cut(layout.value_at(d, n)) for n in names),
              *(["; ".join(layout.remarks(d))] if explains else [])) for d in differences),
        )  # fmt: skip
        return
    yield from table(
        ("", "value", "machines", *last),
        (
            (d.label, _cut(v.text), layout.listed(v.machines),
             *(["" if n else "; ".join(layout.remarks(d))] if explains else []))
            for d in differences for n, v in enumerate(d.values)
        ),
    )  # fmt: skip


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …"

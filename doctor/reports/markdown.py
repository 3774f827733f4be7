"""The report for an issue tracker: what a maintainer wants to see, short, with everything else folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.checks import Check, check_of
from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.reports import summary
from doctor.reports.sinks import markdown, markdown_cell, markdown_code, markdown_line
from doctor.reports.text import safe


def render(report: Report) -> str:
    """GitHub-flavoured Markdown."""
    return "\n".join(_report(report)) + "\n"


def render_page(check: Check) -> str:
    """The page of one diagnosis."""
    return "\n".join(_page(check)) + "\n"


def _report(report: Report) -> Iterator[str]:
    yield f"**{markdown(summary.verdict(report))}**"
    yield ""
    yield "| | layer | |"
    yield "|---|---|---|"
    for row in summary.rows(report):
        yield f"| `{row.mark}` | {row.layer} | {markdown_cell(row.text)} |"
    for finding in report.findings:
        if finding.root:
            yield ""
            yield from _finding(report, finding)
    yield from _left_over(report)
    yield ""
    yield "<details><summary>Where this comes from</summary>"
    yield ""
    yield f"- {markdown(report.tool)}, {report.taken_at}" + (", redacted" if report.redacted else "")
    where = ", ".join(report.target.evidence) or report.target.python or "not found"
    yield f"- target: {markdown_code(where)} ({markdown(report.target.reason)})"
    for outcome in report.outcomes:
        if outcome.status == "crashed":
            yield f"- check {markdown_code(outcome.id)} crashed: {markdown(outcome.reason)}"
    for gap in report.facts.gaps:
        yield f"- not known: {markdown_code(gap.fact)}: {markdown(gap.detail or gap.reason)}"
    yield ""
    yield "</details>"


def _left_over(report: Report) -> Iterator[str]:
    left = summary.left_over(report)
    for one in left:
        place = one.symptom.place
        yield ""
        yield f"### not explained: {markdown(one.symptom.text)}" + (f" ({markdown(place)})" if place else "")
        if one.hypotheses:
            yield ""
            yield from table(
                ("", "diagnosis", "why"),
                (
                    (summary.how_likely(h), h.id, summary.why(h, check.title if (check := check_of(h.id)) else ""))
                    for h in one.hypotheses
                ),
            )
    if report.questions and report.is_open:
        yield ""
        yield f"To settle it: {markdown(report.questions[0].text)}"
        if report.questions[0].command:
            yield from _block(report.questions[0].command, "")


def _finding(report: Report, finding: Finding) -> Iterator[str]:
    yield f"### {finding.severity}: `{finding.id}`" + (" (likely)" if finding.confidence == "likely" else "")
    yield ""
    yield markdown(f"{finding.title} {finding.detail}" if finding.detail != finding.title else finding.title)
    if finding.evidence:
        yield ""
        yield from table(
            ("fact", "value", "source"), ((summary.label(e.fact), e.value, e.source) for e in finding.evidence)
        )
    caused = summary.consequences(report, finding)
    if caused:
        yield ""
        yield "Because of it: " + ", ".join(markdown_code(f.id) for f in caused)
    fix = summary.fix_of(report, finding)
    if fix and fix.finding == finding.id:
        yield ""
        if not fix.steps:
            yield markdown(fix.title)
        for number, step in enumerate(fix.steps, 1):
            hints = summary.hints(step)
            yield f"{number}. {markdown(step.text)}" + (f" ({hints})" if hints else "")
            command = summary.step_command(step, windows=report.facts.host.system == "windows")
            if command:
                yield from _block(command, "   ")
        for assumed in fix.assumes:
            yield ""
            yield f"(assumes: {markdown(assumed.rstrip('.'))})"
        for other in fix.alternatives:
            yield ""
            yield f"Or: {markdown(summary.offer(other))}"


def _page(check: Check) -> Iterator[str]:
    yield f"### `{check.id}`"
    yield ""
    yield f"{_own(check.title)} *({check.severity}, layer {check.layer})*"
    yield ""
    yield _own(summary.declared(check))
    for line in check.docs.splitlines():
        if line and not line.startswith(" "):
            yield ""
            yield f"**{line.strip()}**"
            yield ""
        elif line.strip().startswith("http"):
            yield f"- {_own(line.strip())}"
        else:
            yield _own(line.strip())


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A Markdown table of foreign text."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(markdown_cell(c) for c in row) + " |"


def _own(text: str) -> str:
    """Our own pages: addresses are links there, markup is text."""
    text = safe(text).replace("&", "&amp;")
    for character in "\\`*_[]<>":
        text = text.replace(character, "&lt;" if character == "<" else "\\" + character)
    return text.replace("@", "@\u200b")


def _block(text: str, indent: str) -> Iterator[str]:
    """A fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{indent}{fence}sh"
    for line in text.splitlines():
        yield indent + markdown_line(line)
    yield indent + fence

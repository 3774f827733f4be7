"""The report for GitHub Actions: workflow commands for the log, and Markdown for the summary of the job.

Limits (docs.github.com, "Workflow commands" and "Usage limits"): of each kind of annotation a step shows ten and drops
the rest without a word; a step's summary has at most 1 MiB, or it is lost as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.reports import findings, verdict
from doctor.reports.places import places
from doctor.reports.sinks import github_data, github_property
from doctor.reports.sinks import markdown as inert
from doctor.reports.text import safe

ANNOTATIONS_AT_MOST = 10  # of a kind and step
MESSAGE_LENGTH = 4000  # characters; the runner cuts longer ones
SUMMARY_BYTES = 1 << 20
_LEVELS = {"fault": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """Lines `::error title=…::…`, at most ten of a kind, then the verdict as plain text. Foreign text cannot start a
    workflow command: it is escaped as the runner expects."""
    lines: list[str] = []
    for severity, level in _LEVELS.items():
        roots = [f for f in report.findings if f.root and f.severity == severity]
        room = ANNOTATIONS_AT_MOST - (severity == "warning" and report.is_open)
        many = len(roots) > room
        shown = roots[: room - 1] if many else roots
        lines += [_annotation(report, finding, level) for finding in shown]
        if many:
            lines.append(_more(roots[len(shown) :], level))
    if report.is_open:
        asked = " ".join(f"{q.text} {q.command}".strip() for q in report.questions[:1])
        lines.append(f"::warning title=torchdoctor::{_message(f'{verdict.sentence(report)} {asked}'.strip())}")
    return "\n".join([*lines, safe(verdict.sentence(report))]) + "\n"


def job_summary(report: Report, room: int = SUMMARY_BYTES) -> str:
    """The report in Markdown, without the block that a machine reads back; where it does not fit into so many bytes,
    the verdict and what was left out."""
    from doctor.reports import markdown

    text = markdown.render(report, block=False)
    if len(text.encode()) <= room:
        return text
    short = f"**{inert(verdict.sentence(report))}**\n\nThe whole report is too long for a job summary.\n"
    return short if len(short.encode()) <= room else ""


def _annotation(report: Report, finding: Finding, level: str) -> str:
    found = places(report, finding)
    where = f"file={github_property(found[0].file)},line={found[0].line}," if found else ""
    title = github_property(f"torchdoctor {finding.id}")
    return f"::{level} {where}title={title}::{_message(findings.told(report, finding))}"


def _more(left: Sequence[Finding], level: str) -> str:
    ids = ", ".join(dict.fromkeys(f.id for f in left))
    return f"::{level} title=torchdoctor::{_message(f'{len(left)} more: {ids}')}"


def _message(text: str) -> str:
    return github_data(text if len(text) <= MESSAGE_LENGTH else text[: MESSAGE_LENGTH - 2] + " …")

"""The report as GitHub Actions workflow commands: one annotation a finding, then the verdict as plain text."""

from __future__ import annotations

from doctor.model.report import Report
from doctor.reports import summary
from doctor.reports.sinks import github_data, github_property
from doctor.reports.text import safe

_LEVELS = {"fault": "error", "warning": "warning", "note": "notice"}


def render(report: Report) -> str:
    """Lines `::error title=…::…`. Foreign text cannot start a workflow command: it is escaped as the runner expects."""
    lines = []
    for finding in report.findings:
        if not finding.root:
            continue
        fix = summary.fix_of(report, finding)
        text = f"{finding.title} {finding.detail}" + (f" Fix: {summary.offer(fix)}" if fix else "")
        title = github_property(f"torchdoctor {finding.id}")
        lines.append(f"::{_LEVELS[finding.severity]} title={title}::{github_data(text)}")
    return "\n".join([*lines, safe(summary.verdict(report))]) + "\n"

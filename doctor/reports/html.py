"""The report as one HTML file that needs nothing else: no scripts, no fonts, no network.

Needs jinja2, which comes with torchdoctor[html].
"""

from __future__ import annotations

from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from doctor.checks import check_of
from doctor.model.report import Report
from doctor.reports import sinks, summary

_WORDS = {
    "ok": "ok", "!!": "fault", "!": "warning", "^": "because of another layer", "?": "not explained",
    "-": "not looked at",
}  # fmt: skip


def render(report: Report) -> str:
    """The document. All foreign text is escaped by the template's autoescaping, after sinks.py's escapers."""
    windows = report.facts.host.system == "windows"
    return page(
        "report.html.j2",
        report=report,
        rows=summary.rows(report),
        words=_WORDS,
        verdict=summary.verdict(report),
        label=summary.label,
        hints=summary.hints,
        offer=summary.offer,
        says_more=summary.says_more,
        fix_of=lambda finding: summary.fix_of(report, finding),
        consequences=lambda finding: summary.consequences(report, finding),
        command=lambda step: summary.step_command(step, windows=windows),
        unfixed=dict(report.plan.unfixed),
        left_over=summary.left_over(report),
        how_likely=summary.how_likely,
        why=lambda h: summary.why(h, check.title if (check := check_of(h.id)) else ""),
        question=report.questions[0] if report.questions and report.is_open else None,
    )


def page(name: str, **values: object) -> str:
    """A template of doctor/reports, filled in."""
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(safe_text=sinks.html, safe_cell=sinks.html_cell, safe_lines=sinks.html_lines)
    template = files("doctor.reports").joinpath(name).read_text(encoding="utf-8")
    return environment.from_string(template).render(**values)

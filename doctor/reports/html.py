"""The report as one HTML file that needs nothing else: no fonts, no network, and nothing lost without its script.

Needs jinja2, which comes with torchdoctor[html].
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.checks import check_of, is_programs_own
from doctor.model.finding import ONLY_TOLD, SAID_LAST, Finding
from doctor.model.report import Report
from doctor.model.symptom import Symptom
from doctor.model.values import dataclass
from doctor.reports import findings, layers, measured, remedies, verdict, words
from doctor.reports.leaves import leaves, text_of
from doctor.reports.pages import page

_WORDS = {
    "ok": "ok", "!!": "fault", "!": "warning", "^": "because of another layer", "?": "not explained",
    "-": "not looked at or not known",
}  # fmt: skip
_CLASSES = {"ok": "ok", "!!": "fault", "!": "warning", "^": "fault", "?": "warning", "-": "quiet"}
_VALUE = 600  # characters of a fact's value
_LEAVES = 20  # symptoms drawn under one finding


@dataclass(frozen=True, kw_only=True)
class Cause:
    """A finding in the drawing of causes, with what follows from it."""

    finding: Finding
    consequences: tuple[Cause, ...]
    symptoms: tuple[Symptom, ...]
    more: int = 0  # symptoms that are not drawn


def render(report: Report) -> str:
    """The document. All foreign text is escaped by the template's autoescaping, after sinks.py's escapers."""
    windows = report.facts.host.system == "windows"
    roots = [f for f in report.findings if f.root and f.id not in SAID_LAST]
    return page(
        "report.html.j2",
        report=report,
        rows=layers.rows(report),
        words=_WORDS,
        classes=_CLASSES,
        verdict=verdict.sentence(report),
        state=_state(report),
        label=words.label,
        hints=remedies.hints,
        offer=remedies.offer,
        says_more=remedies.says_more,
        roots=roots,
        last=[f for f in report.findings if f.root and f.id in SAID_LAST],
        causes=causes(report),
        fix_of=lambda finding: findings.fix_of(report, finding),
        consequences=lambda finding: findings.consequences(report, finding),
        command=lambda step: remedies.step_command(step, windows=windows),
        unfixed=dict(report.plan.unfixed),
        left_over=verdict.left_over(report),
        how_likely=verdict.how_likely,
        why=lambda h: verdict.why(h, check.title if (check := check_of(h.id)) else ""),
        question=report.questions[0] if report.questions and report.is_open else None,
        explained=_explained,
        devices=measured.devices(report),
        memories=measured.memories(report),
        facts=list(_facts(report)),
        outcomes=_outcomes(report),
    )


def _state(report: Report) -> str:
    """What the colour of the verdict says in a word."""
    if report.verdict == "unknown":
        return "no verdict" if report.is_open else "not judged as a whole"
    return report.verdict


def causes(report: Report) -> tuple[Cause, ...]:
    """The roots from which something follows that was found or seen."""
    drawn = (_cause(report, finding, ()) for finding in report.findings if finding.root and finding.id not in SAID_LAST)
    return tuple(one for one in drawn if one.consequences or one.symptoms)


def _cause(report: Report, finding: Finding, above: tuple[str, ...]) -> Cause:
    above = (*above, finding.id)
    seen = {(s.text, s.place): s for s in report.symptoms if s.explained_by == finding.id}
    return Cause(
        finding=finding,
        consequences=tuple(
            _cause(report, f, above)
            for f in report.findings
            if f.explained_by == finding.id and f.id not in above
        ),
        symptoms=tuple(seen.values())[:_LEAVES],
        more=max(0, len(seen) - _LEAVES),
    )  # fmt: skip


def _explained(symptom: Symptom) -> str:
    """What accounts for a symptom, in words."""
    if symptom.explained_by is None:
        return "not explained"
    return "the program's own" if is_programs_own(symptom.explained_by) else symptom.explained_by


def _facts(report: Report) -> Iterator[tuple[str, str, str]]:
    """(name, value, source) of all facts, then of those that are not known with the reason."""
    facts = report.facts
    for name, value in leaves(facts):
        text = text_of(value)
        origin = facts.origins.get(name)
        yield name, text if len(text) <= _VALUE else f"{text[:_VALUE]} …", origin.source if origin else ""
    for gap in facts.gaps:
        yield gap.fact, f"not known: {gap.detail or gap.reason.replace('-', ' ')}", gap.source


_ORDER = ("found", "crashed", "skipped", "passed")


def _outcomes(report: Report) -> list[tuple[str, str, str, str]]:
    """(id, layer, how it ended, why) of each check, what was found first."""
    severities: dict[str, str] = {f.id: f.severity for f in report.findings if f.id not in ONLY_TOLD}
    words = {"passed": "ruled out", "skipped": "cannot say", "crashed": "crashed"}
    return [
        (o.id, o.layer, words.get(o.status, severities.get(o.id, "found")), o.reason)
        for o in sorted(report.outcomes, key=lambda o: _ORDER.index(o.status))
    ]

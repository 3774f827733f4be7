"""What a report says of one finding: its fix, its consequences, all of it in a paragraph."""

from __future__ import annotations

from doctor.model.finding import Finding
from doctor.model.fix import Fix
from doctor.model.report import Report
from doctor.reports.remedies import offer


def fix_of(report: Report, finding: Finding) -> Fix | None:
    """The fix made for that finding, or the one that cures it too. Of several findings of one id each has its own."""
    several = sum(f.id == finding.id for f in report.findings) > 1
    own = [f for f in report.plan.fixes if f.finding == finding.id and (not several or _is_made_of(f, finding))]
    if own:  # words of one may begin those of another
        return next((f for f in own if any(_same(f.title, r.text) for r in finding.remedies)), own[0])
    return next((f for f in report.plan.fixes if finding.id in f.also_cures), None)


def _is_made_of(fix: Fix, finding: Finding) -> bool:
    """Whether one of the finding's remedies became this fix; of an action that many have, by its words."""
    remedies = [r for r in finding.remedies if r.action == fix.action]
    words = [(r.text or r.details.get("reason", "")).casefold() for r in remedies]
    return any(fix.action != "none" or said in fix.title.casefold() for said in words) or not finding.remedies


def _same(title: str, said: str) -> bool:
    return title.casefold().rstrip(".") == said.casefold().rstrip(".")


def told(report: Report, finding: Finding) -> str:
    """A finding in one paragraph, for formats that have no more room: what it is, how sure that is, what to do."""
    fix = fix_of(report, finding)
    parts = (
        finding.title,
        finding.detail,
        "This is likely, not certain." if finding.confidence == "likely" else "",
        f"It follows from {finding.explained_by}." if finding.explained_by else f"Fix: {offer(fix)}" if fix else "",
    )
    return " ".join(part for part in parts if part)


def consequences(report: Report, root: Finding) -> tuple[Finding, ...]:
    """Findings that go away with that root, also indirectly, in the report's order."""
    caused = {root.id}
    while True:
        more = {f.id for f in report.findings if f.explained_by in caused} - caused
        if not more:
            return tuple(f for f in report.findings if f.id in caused and f.id != root.id)
        caused |= more

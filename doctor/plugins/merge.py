"""A report with what plugins said beside it. What the catalogue found, explains and plans stays as it is. Pure."""

from __future__ import annotations

from dataclasses import replace

from doctor.checks.runner import SEVERITIES
from doctor.fixes.plan import plan
from doctor.model.finding import Finding
from doctor.model.fix import Plan
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.model.symptom import Symptom
from doctor.plugins.run import Ran


def merged(report: Report, ran: Ran, request: Request) -> Report:
    """A fault of a plugin makes the verdict faulty. Nothing that it says makes anything healthy; a symptom that it
    quotes as evidence of a fault, and that nothing else explains, is explained by it."""
    faults = [f for f in ran.findings if f.severity == "fault"]
    symptoms = tuple(_explained(symptom, faults) for symptom in report.symptoms)
    still_open = {s.id for s in symptoms if s.explained_by is None}
    own = plan(ran.findings, report.facts, tool=request.tool, shell=request.shell) if request.fixes else Plan()
    facts = replace(report.facts, gaps=(*report.facts.gaps, *ran.gaps))
    changed = replace(
        report,
        facts=facts,
        plugins=ran.runs,
        outcomes=(*report.outcomes, *ran.outcomes),
        findings=tuple(sorted((*report.findings, *ran.findings), key=_order)),
        symptoms=symptoms,
        hypotheses=tuple(h for h in report.hypotheses if h.symptom in still_open),
        plan=Plan(fixes=(*report.plan.fixes, *own.fixes), unfixed=(*report.plan.unfixed, *own.unfixed)),
    )
    return replace(changed, verdict="faulty", unproven=()) if faults else changed


def _order(finding: Finding) -> tuple[int, bool]:
    """As runner.settle orders them; of equals the catalogue's come first, in their order."""
    return SEVERITIES.index(finding.severity), not finding.root


def _explained(symptom: Symptom, faults: list[Finding]) -> Symptom:
    said = symptom.text[:200]
    if symptom.explained_by is not None or not said:
        return symptom
    for fault in faults:
        if any(said in e.quote or (e.quote and e.quote in symptom.text) for e in fault.evidence):
            return replace(symptom, explained_by=fault.id)
    return symptom

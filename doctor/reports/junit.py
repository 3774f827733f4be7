"""The report as JUnit XML: one test case a check, so that any CI shows which failed and which could not look."""

from __future__ import annotations

from xml.etree import ElementTree as xml

from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.reports import findings, verdict
from doctor.reports.places import places
from doctor.reports.sinks import junit

LENGTH = 10_000  # characters of one text: GitLab reads 30 MB in all


def render(report: Report) -> str:
    """A <testsuites> document. A fault is a failure, a crashed check an error; warnings and notes are output."""
    findings = {f.id: f for f in report.findings}
    faults = {f.id for f in report.findings if f.severity == "fault"}
    suite = xml.Element(
        "testsuite",
        name="torchdoctor",
        tests=str(len(report.outcomes) + 1),
        failures=str(sum(o.id in faults for o in report.outcomes)),
        errors=str(sum(o.status == "crashed" for o in report.outcomes) + report.is_open),
        skipped=str(sum(o.status == "skipped" for o in report.outcomes)),
        time=f"{report.duration_ms / 1000:.3f}",
        timestamp=report.taken_at.rstrip("Z"),
    )
    for outcome in report.outcomes:
        case = xml.SubElement(suite, "testcase", classname=f"torchdoctor.{outcome.layer}", name=outcome.id, time="0")
        finding = findings.get(outcome.id)
        if outcome.status == "skipped":
            xml.SubElement(case, "skipped", message=junit(outcome.reason[:LENGTH]))
        elif outcome.status == "crashed":
            xml.SubElement(case, "error", message=junit(outcome.reason[:LENGTH]))
        elif finding is not None and outcome.id in faults:
            failure = xml.SubElement(case, "failure", type=finding.severity, message=junit(finding.title))
            failure.text = junit(_detail(report, finding))
        elif finding is not None:
            xml.SubElement(case, "system-out").text = junit(f"{finding.severity}: {finding.detail or finding.title}")
    _verdict(suite, report)
    suites = xml.Element("testsuites")
    suites.append(suite)
    xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(suites, encoding="unicode") + "\n"


def _detail(report: Report, finding: Finding) -> str:
    """What it is, what to do about it, and where."""
    where = "".join(f" {place.file}:{place.line}" for place in places(report, finding)[:1])
    return findings.told(report, finding)[:LENGTH] + where


def _verdict(suite: xml.Element, report: Report) -> None:
    """A case for the verdict itself: where no check failed and health is not proven, that is an error."""
    case = xml.SubElement(suite, "testcase", classname="torchdoctor", name="verdict", time="0")
    if report.is_open:
        xml.SubElement(case, "error", message=junit(verdict.sentence(report))).text = junit(
            "\n".join(f"{q.text} {q.command}".strip() for q in report.questions[:1])
        )
    else:
        xml.SubElement(case, "system-out").text = junit(verdict.sentence(report))

"""A fleet's report as JUnit XML: a test case for each node, link and collective operation."""

from __future__ import annotations

from xml.etree import ElementTree as xml

from doctor.model.fleet import FleetReport, Verdict
from doctor.reports.fleet import layout
from doctor.reports.sinks import junit


def render(report: FleetReport) -> str:
    """A <testsuites> document. What failed or is degraded is a failure, what was not measured an error."""
    suite = xml.Element("testsuite", name="torchdoctor fleet", timestamp=report.taken_at.rstrip("Z"))
    for node in report.nodes:
        text = "\n".join(f"{f.id}: {f.text}" for f in report.findings if node.host in f.hosts)
        _case(suite, "nodes", node.host, node.verdict, node.why, text)
    for finding in layout.accused(report):
        if finding.kind in ("link", "fleet"):
            _case(suite, "links" if finding.kind == "link" else "fleet", f"{finding.id} {finding.subject}",
                  finding.verdict, finding.text, "\n".join(finding.evidence))  # fmt: skip
    for one in report.collectives:
        _case(suite, "collectives", one.name, one.verdict, one.why, "")
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", str(len(suite.findall("testcase/error"))))
    suites = xml.Element("testsuites")
    suites.append(suite)
    xml.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + xml.tostring(suites, encoding="unicode") + "\n"


def _case(suite: xml.Element, group: str, name: str, verdict: Verdict, why: str, text: str) -> None:
    case = xml.SubElement(suite, "testcase", classname=f"torchdoctor.fleet.{group}", name=junit(name), time="0")
    if verdict == "pass":
        return
    kind = "error" if verdict == "not-measured" else "failure"
    problem = xml.SubElement(case, kind, type=verdict, message=junit(why))
    problem.text = "\n".join(map(junit, text.splitlines()))

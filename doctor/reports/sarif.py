"""The report as SARIF 2.1.0, for code scanning: a result for each finding, at the line that brings the build in.

Format: OASIS SARIF 2.1.0 with Errata 01. GitHub's limits (docs.github.com, "SARIF support for code scanning"): a
result needs a physical location; at most 25,000 results of a run, 1,000 locations of a result. A report has far fewer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from doctor.checks import check_of
from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.reports import findings, verdict
from doctor.reports.places import Place, places
from doctor.reports.sinks import json_text, sarif_message
from doctor.reports.text import safe

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
NO_FILE = Place("no-file-of-the-project-names-torch", 1)  # GitHub refuses a result without a file
NO_VERDICT = "no-verdict"  # the rule of a report in which health is not proven and no fault is found
RELATED_AT_MOST = 20
LEVELS = {"fault": "error", "warning": "warning", "note": "note"}


def render(report: Report) -> str:
    """One run, as one JSON object."""
    return json_text(json.dumps(document(report), indent=2)) + "\n"


def document(report: Report) -> dict[str, Any]:
    """The SARIF log as JSON values."""
    results = list(_results(report))
    ids = list(dict.fromkeys(result["ruleId"] for result in results))
    for result in results:
        result["ruleIndex"] = ids.index(result["ruleId"])
    name, _, version = report.tool.partition(" ")
    driver: dict[str, Any] = {"name": safe(name), "rules": [_rule(report, id) for id in ids]}
    if version:
        driver["version"] = safe(version)
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "automationDetails": {"id": "torchdoctor/check/"},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": True,  # of the examination: what it found are results
                "endTimeUtc": safe(report.taken_at),
                "toolExecutionNotifications": [
                    {"level": "error", "message": _message(f"{outcome.id} crashed: {outcome.reason}")}
                    for outcome in report.outcomes
                    if outcome.status == "crashed"
                ],
            }
        ],
        "results": results,
        "properties": {"verdict": report.verdict, "redacted": report.redacted},
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _results(report: Report) -> Iterator[dict[str, Any]]:
    seen: dict[str, int] = {}
    for finding in report.findings:
        found = places(report, finding) or (NO_FILE,)
        seen[finding.id] = seen.get(finding.id, 0) + 1
        yield {
            "ruleId": finding.id,
            "level": LEVELS[finding.severity],
            "message": _message(findings.told(report, finding)),
            "locations": [{**_location(found[0]), "logicalLocations": [{"fullyQualifiedName": finding.layer}]}],
            "relatedLocations": [
                {"id": number, **_location(place)} for number, place in enumerate(found[1 : 1 + RELATED_AT_MOST], 1)
            ],
            "partialFingerprints": {"finding/v1": _fingerprint(finding, seen[finding.id])},
            "properties": {
                "confidence": finding.confidence, "root": finding.root, "explained_by": finding.explained_by,
            },
        }  # fmt: skip
    if report.is_open:
        question = report.questions[0] if report.questions else None
        asked = f" {question.text} {question.command}".rstrip() if question else ""
        yield {
            "ruleId": NO_VERDICT,
            "level": "warning",
            "message": _message(verdict.sentence(report) + asked),
            "locations": [_location(_whole(report))],
            "partialFingerprints": {"finding/v1": hashlib.sha256(NO_VERDICT.encode()).hexdigest()[:16]},
        }


def _whole(report: Report) -> Place:
    """Where what is said of the whole belongs: the line that brings torch in, or the text that was read."""
    if report.target.evidence:
        return Place(report.target.evidence[0], 1)
    return next((Place(d.file, d.line) for d in report.facts.declared or () if d.what == "torch"), NO_FILE)


def _rule(report: Report, id: str) -> dict[str, Any]:
    check = check_of(id)
    if check is None:
        finding = next((f for f in report.findings if f.id == id), None)
        title = finding.title if finding else "Neither health nor a fault is proven."
        return {"id": id, "shortDescription": _message(title)}
    return {
        "id": id,
        "shortDescription": _message(check.title),
        "fullDescription": _message(" ".join(_meaning(check.docs).split())),
        "help": {"text": sarif_message(check.docs, keep_lines=True)},
        "defaultConfiguration": {"level": LEVELS[check.severity]},
        "properties": {"tags": [check.layer]},
    }


def _meaning(docs: str) -> str:
    return docs.partition("How to see it yourself")[0].partition("What it means")[2]


def _message(text: str) -> dict[str, str]:
    return {"text": sarif_message(text)}


def _location(place: Place) -> dict[str, Any]:
    uri = quote(safe(place.file).replace("\\", "/").lstrip("/"), safe="/._-~+") or NO_FILE.file
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": max(1, place.line)}}}


def _fingerprint(finding: Finding, number: int) -> str:
    """The same for the same diagnosis of the same kind, so that an alert stays one when the line moves."""
    return hashlib.sha256(f"{finding.id} {number}".encode()).hexdigest()[:16]

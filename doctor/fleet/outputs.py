"""All files that a report is left in, beside the records."""

from __future__ import annotations

import os
from importlib.util import find_spec

from doctor.fleet import folder
from doctor.model.fleet import FleetReport


def write_all(report: FleetReport, path: str) -> list[str]:
    """Write every form of the report; what was left out, and why. OSError where the folder cannot be written."""
    from doctor.reports.fleet import json, junit, lists, markdown, openmetrics, text

    os.makedirs(path, exist_ok=True)
    files = {
        "fleet.json": json.render(report), "fleet.txt": text.render(report, verbose=True),
        "fleet.md": markdown.render(report), "fleet.xml": junit.render(report),
        "fleet.prom": openmetrics.render(report), "good_nodes.txt": lists.good(report),
        "bad_nodes.txt": lists.bad(report), "drain_reasons.txt": lists.drain(report),
        "node_conditions.json": lists.conditions(report),
    }  # fmt: skip
    notes = []
    if find_spec("jinja2") is None:
        notes.append("fleet.html was left out: it needs jinja2 (torchdoctor fleet --merge writes it elsewhere)")
    else:
        from doctor.reports.fleet import html

        files["fleet.html"] = html.render(report)
    for name, content in files.items():
        folder.replace(os.path.join(path, name), content)
    return notes


def summary(report: FleetReport) -> str:
    """What rank 0 prints."""
    from doctor.reports.fleet import text

    return text.render(report)

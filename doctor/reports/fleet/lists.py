"""The short files for schedulers: node lists for Slurm, drain reasons, a node condition for Kubernetes."""

from __future__ import annotations

import json

from doctor.model.fleet import FleetReport, NodeVerdict
from doctor.regex import Regex
from doctor.reports.fleet import layout
from doctor.reports.text import safe

# What Slurm and Kubernetes take for a node's name; nothing else gets into a list that is pasted into a command.
_NODE = Regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?\Z")
MESSAGE = 1000  # characters of a condition's message


def good(report: FleetReport) -> str:
    """good_nodes.txt: one line, names with commas."""
    return _line(layout.good_nodes(report))


def bad(report: FleetReport) -> str:
    """bad_nodes.txt: one line, as `srun --exclude="$(cat bad_nodes.txt)"` takes it."""
    return _line(layout.bad_nodes(report))


def _line(hosts: list[str]) -> str:
    return ",".join(host for host in hosts if _NODE.match(host)) + "\n"


def drain(report: FleetReport) -> str:
    """drain_reasons.txt: NODE, a tab, REASON; for a loop over `scontrol update`."""
    lines = [
        f"{node.host}\t{safe(layout.drain_reason(node, report))}\n"
        for node in report.nodes if node.verdict in ("fail", "not-measured") and _NODE.match(node.host)
    ]  # fmt: skip
    return "".join(lines)


def conditions(report: FleetReport) -> str:
    """node_conditions.json: by node the body of a PATCH of its status (Kubernetes, core/v1 NodeCondition: status is
    "True", "False" or "Unknown")."""
    made = {
        node.host: {"status": {"conditions": [_condition(node, report)]}}
        for node in report.nodes if _NODE.match(node.host)
    }  # fmt: skip
    return json.dumps(made, indent=2) + "\n"


def _condition(node: NodeVerdict, report: FleetReport) -> dict[str, str]:
    status = {"pass": "True", "degraded": "False", "fail": "False", "not-measured": "Unknown"}[node.verdict]
    reason = {"pass": "Passed", "degraded": "Degraded", "fail": "Failed", "not-measured": "NotMeasured"}[node.verdict]
    told = "; ".join(f"{f.id}: {f.text}" for f in layout.accused(report) if node.host in f.hosts)
    return {
        "type": "TorchDoctorFleetHealthy", "status": status, "reason": reason,
        "message": safe(told or node.why or "all that was measured passed")[:MESSAGE],
        "lastHeartbeatTime": report.taken_at, "lastTransitionTime": report.taken_at,
    }  # fmt: skip

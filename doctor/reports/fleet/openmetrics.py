"""A fleet's report as an OpenMetrics textfile, for the textfile collector of a node exporter.

Format: OpenMetrics 1.0 (github.com/prometheus/OpenMetrics): # TYPE and # HELP first, label values with escaped
backslash, quote and newline, # EOF last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from doctor.fleet.judge.judgement import EXIT_CODES
from doctor.model.fleet import FleetReport
from doctor.reports.sinks import openmetrics_label

STATES = ("pass", "degraded", "fail", "not-measured")


def render(report: FleetReport) -> str:
    """The whole file."""
    return "\n".join(_lines(report)) + "\n# EOF\n"


def _lines(report: FleetReport) -> Iterator[str]:
    yield from _head("torchdoctor_fleet_verdict", "gauge", "Verdict of the fleet: 0 pass, 1 degraded, 2 fail, 3 not "
                     "measured.")  # fmt: skip
    yield _sample("torchdoctor_fleet_verdict", {}, EXIT_CODES[report.verdict])
    yield from _head("torchdoctor_fleet_taken_timestamp_seconds", "gauge", "When the report was made.")
    yield _sample("torchdoctor_fleet_taken_timestamp_seconds", {}, _seconds(report.taken_at))
    yield from _head("torchdoctor_fleet_ranks", "gauge", "Ranks expected and heard.")
    for state, count in (("expected", report.expected), ("heard", report.heard)):
        yield _sample("torchdoctor_fleet_ranks", {"state": state}, count)
    yield from _head("torchdoctor_fleet_node_verdict", "gauge", "Verdict of each node: 0 pass, 1 degraded, 2 fail, "
                     "3 not measured.")  # fmt: skip
    for node in report.nodes:
        yield _sample("torchdoctor_fleet_node_verdict", {"node": node.host}, EXIT_CODES[node.verdict])
    yield from _head("torchdoctor_fleet_gpu_rate", "gauge", "Rates of each rank's device, in the unit of the rate.")
    units = {y.rate: y.unit for c in report.classes for y in c.yardsticks}
    for gpu in report.gpus:
        for rate, value in gpu.rates.items():
            labels = {"node": gpu.host, "rank": str(gpu.rank), "rate": rate, "unit": units.get(rate, "")}
            yield _sample("torchdoctor_fleet_gpu_rate", labels, value)
    yield from _head("torchdoctor_fleet_busbw_gigabytes_per_second", "gauge", "Bus bandwidth of each operation.")
    for one in report.collectives:
        if one.busbw_gbs is not None:
            labels = {"operation": one.name, "ranks": str(one.members)}
            yield _sample("torchdoctor_fleet_busbw_gigabytes_per_second", labels, one.busbw_gbs)
    yield from _head("torchdoctor_fleet_finding", "gauge", "1 for each finding.")
    seen = set()
    for finding in report.findings:
        key = (finding.id, finding.subject)
        if not finding.because and key not in seen:
            seen.add(key)
            labels = {"id": finding.id, "subject": finding.subject, "verdict": finding.verdict}
            yield _sample("torchdoctor_fleet_finding", labels, 1)


def _head(name: str, kind: str, text: str) -> Iterator[str]:
    yield f"# TYPE {name} {kind}"
    yield f"# HELP {name} {text}"


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{openmetrics_label(text)}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:.10g}"


def _seconds(taken_at: str) -> float:
    try:
        return datetime.strptime(taken_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0

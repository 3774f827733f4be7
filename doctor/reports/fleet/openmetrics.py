"""A fleet's report as an OpenMetrics textfile, for the textfile collector of a node exporter."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.fleet import EXIT_CODES, FleetReport
from doctor.reports.metrics import Gauge, seconds
from doctor.reports.metrics import render as rendered

STATES = ("pass", "degraded", "fail", "not-measured")


def render(report: FleetReport) -> str:
    """The whole file."""
    return rendered(_gauges(report))


def _gauges(report: FleetReport) -> Iterator[Gauge]:
    units = {y.rate: y.unit for c in report.classes for y in c.yardsticks}
    yield Gauge("torchdoctor_fleet_verdict", "Verdict of the fleet: 0 pass, 1 degraded, 2 fail, 3 not measured.",
                [({}, EXIT_CODES[report.verdict])])  # fmt: skip
    yield Gauge("torchdoctor_fleet_taken_timestamp_seconds", "When the report was made.",
                [({}, seconds(report.taken_at))])  # fmt: skip
    yield Gauge("torchdoctor_fleet_ranks", "Ranks expected and heard.",
                [({"state": "expected"}, report.expected), ({"state": "heard"}, report.heard)])  # fmt: skip
    yield Gauge("torchdoctor_fleet_node_verdict",
                "Verdict of each node: 0 pass, 1 degraded, 2 fail, 3 not measured.",
                [({"node": node.host}, EXIT_CODES[node.verdict]) for node in report.nodes])  # fmt: skip
    yield Gauge("torchdoctor_fleet_gpu_rate", "Rates of each rank's device, in the unit of the rate.",
                [({"node": gpu.host, "rank": str(gpu.rank), "rate": rate, "unit": units.get(rate, "")}, value)
                 for gpu in report.gpus for rate, value in gpu.rates.items()])  # fmt: skip
    yield Gauge("torchdoctor_fleet_busbw_gigabytes_per_second", "Bus bandwidth of each operation.",
                [({"operation": one.name, "ranks": str(one.members)}, one.busbw_gbs)
                 for one in report.collectives if one.busbw_gbs is not None])  # fmt: skip
    yield Gauge("torchdoctor_fleet_finding", "1 for each finding.",
                [({"id": f.id, "subject": f.subject, "verdict": f.verdict}, 1)
                 for f in report.findings if not f.because])  # fmt: skip

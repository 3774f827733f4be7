"""The report as an OpenMetrics textfile, for the textfile collector of a node exporter."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.facts import Torch
from doctor.model.report import Report
from doctor.reports.metrics import Gauge, Sample, seconds
from doctor.reports.metrics import render as rendered

VERDICTS = {"healthy": 0, "faulty": 1, "unknown": 3}  # the exit codes of check
_RATE = "_tflops_burst"


def render(report: Report) -> str:
    """The whole file: verdict, findings, checks, and what each device did."""
    return rendered(_gauges(report))


def _gauges(report: Report) -> Iterator[Gauge]:
    yield Gauge("torchdoctor_verdict", "Verdict: 0 healthy, 1 faulty, 3 neither is proven.",
                [({}, VERDICTS[report.verdict])])  # fmt: skip
    yield Gauge("torchdoctor_taken_timestamp_seconds", "When the report was made.", [({}, seconds(report.taken_at))])
    yield Gauge("torchdoctor_duration_seconds", "How long the examination took.", [({}, report.duration_ms / 1000)])
    yield Gauge("torchdoctor_info", "Always 1; the labels say what was examined.", [(_info(report), 1)])
    yield Gauge("torchdoctor_findings", "Findings by severity.",
                [({"severity": s}, sum(f.severity == s for f in report.findings))
                 for s in ("fault", "warning", "note")])  # fmt: skip
    yield Gauge("torchdoctor_finding", "1 for each finding.",
                [({"id": f.id, "layer": f.layer, "severity": f.severity, "confidence": f.confidence,
                   "root": str(f.root).lower()}, 1) for f in report.findings])  # fmt: skip
    yield Gauge("torchdoctor_checks", "Checks by how they ended.",
                [({"status": s}, sum(o.status == s for o in report.outcomes))
                 for s in ("passed", "found", "skipped", "crashed")])  # fmt: skip
    yield Gauge("torchdoctor_device_ok", "Whether the probe of a device passed: 1 it did, 0 it did not.",
                [({"device": p.device}, int(p.status == "ok"))
                 for p in report.facts.probes or () if p.status != "skipped"])  # fmt: skip
    yield Gauge("torchdoctor_device_rate_tflops", "Rate of matrix products that a device reached, in TFLOP/s.",
                list(_rates(report)))  # fmt: skip


def _info(report: Report) -> dict[str, str]:
    torch = report.facts.torch
    host, driver = report.facts.host, report.facts.nvidia.driver
    return {
        "tool": report.tool,
        "torch": (torch.version or "") if isinstance(torch, Torch) else "",
        "python": report.facts.interpreter.version or "",
        "driver": driver if isinstance(driver, str) else "",
        "system": host.system or "",
    }


def _rates(report: Report) -> Iterator[Sample]:
    for probe in report.facts.probes or ():
        for stage in (probe.data, *(s.data for s in probe.stages)):
            for name, value in stage.items():
                if name.endswith(_RATE) and isinstance(value, int | float) and not isinstance(value, bool):
                    yield {"device": probe.device, "dtype": name.removesuffix(_RATE)}, float(value)

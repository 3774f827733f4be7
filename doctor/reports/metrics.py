"""How OpenMetrics are written: one writer for all reports. Metrics are gauges; a file ends with # EOF.

Format: OpenMetrics 1.0 (github.com/prometheus/OpenMetrics): # TYPE and # HELP first, then the samples of that metric,
label values with escaped backslash, quote and newline. The textfile collector of a node exporter reads it, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone

from doctor.model.values import dataclass
from doctor.reports.sinks import openmetrics_label

Sample = tuple[Mapping[str, str], float]  # labels, value


@dataclass(frozen=True)
class Gauge:
    """A metric: its name, what it says, its samples. Of samples with equal labels the first counts."""

    name: str
    help: str
    samples: Iterable[Sample]


def render(gauges: Iterable[Gauge]) -> str:
    """The whole file. A gauge without samples is left out."""
    return "\n".join([*(line for gauge in gauges for line in _lines(gauge)), "# EOF", ""])


def _lines(gauge: Gauge) -> Iterator[str]:
    samples: dict[str, float] = {}
    for labels, value in gauge.samples:
        samples.setdefault(",".join(f'{key}="{openmetrics_label(text)}"' for key, text in labels.items()), value)
    if samples:
        yield f"# TYPE {gauge.name} gauge"
        yield f"# HELP {gauge.name} {gauge.help}"
    for inside, value in samples.items():
        yield f"{gauge.name}{{{inside}}} {value:.10g}" if inside else f"{gauge.name} {value:.10g}"


def seconds(taken_at: str) -> float:
    """A report's time in seconds since 1970; 0 where it is not a date."""
    try:
        return datetime.strptime(taken_at, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()
    except ValueError:
        return 0.0

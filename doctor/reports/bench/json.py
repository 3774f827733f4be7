"""A benchmark's report as JSON and back, by the same means as the report of an examination (reports/json.py)."""

from __future__ import annotations

from typing import Any

from doctor.decode import Refused, decode, loads
from doctor.model.bench import METHOD, SCHEMA, BenchReport, Row
from doctor.reports.json import schema_of, written

SCHEMA_ID = f"urn:torchdoctor:{SCHEMA}"


def render(value: object, *, indent: int | None = 2) -> str:
    """A report, a comparison or a merged table as one JSON object, ASCII only."""
    return written(value, indent=indent)


def parse(text: str | bytes) -> BenchReport:
    """The report that `render` made, whoever changed it since. Raises Refused, whose text is one line: it is no JSON,
    no report of a benchmark, of a newer schema, or its numbers cannot be times."""
    data = loads(text)
    said = data.get("schema") if isinstance(data, dict) else None
    if said != SCHEMA:
        if isinstance(said, str) and said.startswith("bench-") and said[6:].isdigit() and int(said[6:][:9]) > 1:
            raise Refused(f"it has schema {said[:20]}, made by a newer torchdoctor; this one reads {SCHEMA}")
        if said == "1":
            raise Refused("it is the report of an examination (torchdoctor check), not of a benchmark")
        raise Refused(f"it is not a report of torchdoctor bench (schema {SCHEMA})")
    report = decode(BenchReport, data)
    seen: set[str] = set()
    for number, row in enumerate(report.rows, 1):
        if problem := _problem(row):
            raise Refused(f"row {number}: {problem}")
        if row.key in seen:
            raise Refused(f"row {number}: the same key as in a row before it")
        seen.add(row.key)
    return report


def _problem(row: Row) -> str | None:
    """Why a row cannot be one that was measured."""
    if not 1 <= row.method <= 1_000_000:
        return "its method is no version"
    if row.batch < 1 or row.batch_wanted < 1:
        return "its batch is below 1"
    timing = row.timing
    if timing is None:
        return "it says ok and has no time" if row.gate.status == "ok" else None
    if row.gate.status != "ok":
        return f"it says {row.gate.status} and has a time"
    if not 0 < timing.low_ms <= timing.median_ms <= timing.high_ms < 1e12:
        return "its median does not lie in its interval"
    if not 0 < timing.p5_ms <= timing.p95_ms or min(timing.rounds_ms, default=1.0) <= 0:
        return "its percentiles are not in order"
    ratio = row.speedup
    if ratio is not None and not 0 < ratio.low <= ratio.ratio <= ratio.high:
        return "its speed-up does not lie in its interval"
    return None


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a benchmark's report."""
    return schema_of(
        BenchReport,
        SCHEMA_ID,
        title="torchdoctor benchmark",
        description=(
            f'Schema "{SCHEMA}". It only changes compatibly: fields may be added, so ignore those you do not know. '
            "null is not known, or not to be had on this device. A row has a timing only where its gate is ok. Rows of "
            f"different methods (this version measures by method {METHOD}) are not comparable. Times are UTC, ISO "
            "8601; units are in the names. Nothing in it names a person, a host or a path."
        ),
    )

"""A fleet's report as JSON and back (schema "fleet-1"), by the same means as the report of an examination."""

from __future__ import annotations

from typing import Any

from doctor.model.fleet import METHOD, SCHEMA, FleetReport
from doctor.reports.json import read_back, schema_of, written

SCHEMA_ID = f"urn:torchdoctor:{SCHEMA}"
SIZE, ITEMS = 64 << 20, 4_000_000  # of 8,192 GPUs


def render(report: FleetReport, *, indent: int | None = 2) -> str:
    """The report as one JSON object, ASCII only."""
    return written(report, indent=indent)


def parse(text: str | bytes) -> FleetReport:
    """The report that `render` made. Raises Refused."""
    return read_back(FleetReport, text, SCHEMA, "a report of torchdoctor fleet", size=SIZE, items=ITEMS)


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a fleet's report."""
    return schema_of(
        FleetReport,
        SCHEMA_ID,
        title="torchdoctor fleet",
        description=(
            f'Schema "{SCHEMA}". It only changes compatibly: fields may be added, so ignore those you do not know. '
            f"null is not known. Rates of different methods (this version measures by method {METHOD}) are not "
            "comparable. Times are UTC, ISO 8601; units are in the names. It names hosts unless it was made with "
            "--redact."
        ),
    )

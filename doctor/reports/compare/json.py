"""A comparison as JSON and back (schema "compare-1"), by the same means as the report of an examination."""

from __future__ import annotations

from typing import Any

from doctor.model.compare import SCHEMA, Comparison
from doctor.reports.json import read_back, schema_of, written

SCHEMA_ID = f"urn:torchdoctor:{SCHEMA}"


def render(comparison: Comparison, *, indent: int | None = 2) -> str:
    """The comparison as one JSON object, ASCII only."""
    return written(comparison, indent=indent)


def parse(text: str | bytes) -> Comparison:
    """The comparison that `render` made. Raises Refused."""
    return read_back(Comparison, text, SCHEMA, "a comparison of torchdoctor")


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a comparison."""
    return schema_of(
        Comparison,
        SCHEMA_ID,
        title="torchdoctor comparison",
        description=(
            f'Schema "{SCHEMA}". It only changes compatibly: fields may be added, so ignore those you do not know. '
            "Machines are named by their files; texts are for people, `subject`, `rank`, `facts` and the ids of "
            "findings for programs. Times are UTC, ISO 8601."
        ),
    )

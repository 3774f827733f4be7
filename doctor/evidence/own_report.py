"""Our own JSON report as evidence: its facts. Strict about the schema ("1"), tolerant of keys that this version
doesn't know. Whoever passed it on may have changed it: a part that is not of its type is refused, and is a gap."""

from __future__ import annotations

from typing import Any

from doctor.decode import Refused, check_probe_data, check_shapes, decode_fields, loads
from doctor.model.facts import Facts, Gap, ProbeResult

SCHEMA = "1"


def facts_of(data: bytes) -> Facts | None:
    """The facts of a report; None where the text is none of ours."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"facts"' not in data:
        return None
    try:
        said = loads(data)
        if said.get("schema") != SCHEMA or "torchdoctor" not in str(said.get("tool")):
            return None
        values, refused = decode_fields(Facts, said.get("facts"))
    except Refused:
        return None
    for part, value in list(values.items()):
        try:
            check_shapes(value, part)
            if part == "probes":
                _check_probes(value or ())
        except Refused as error:
            del values[part]
            refused[part] = str(error)
    gaps = tuple(
        Gap(fact=part, reason="unreadable", detail=f"torchdoctor's report: {why}", source="report")
        for part, why in refused.items()
    )
    return _with_gaps(values, gaps)


def _check_probes(probes: tuple[ProbeResult, ...]) -> None:
    for probe in probes:
        check_probe_data(probe.data)
        for stage in probe.stages:
            check_probe_data(stage.data)


def _with_gaps(values: dict[str, Any], gaps: tuple[Gap, ...]) -> Facts:
    return Facts(**{**values, "gaps": (*values.get("gaps", ()), *gaps)})

"""Our own JSON report as evidence: its facts. Strict about the schema ("1"), tolerant of keys that this version
doesn't know. Whoever passed it on may have changed it: doctor/decode.py refuses what is not of the types."""

from __future__ import annotations

from doctor.decode import Refused, decode, loads
from doctor.model.facts import Facts

SCHEMA = "1"


def facts_of(data: bytes) -> Facts | None:
    """The facts of a report; None where the text is none of ours or does not fit the schema."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"facts"' not in data:
        return None
    try:
        said = loads(data)
        if said.get("schema") != SCHEMA or "torchdoctor" not in str(said.get("tool")):
            return None
        return decode(Facts, said.get("facts"))
    except Refused:
        return None

"""Our own JSON report as evidence: its facts. Strict about the schema ("1"), tolerant of keys that this version
doesn't know."""

from __future__ import annotations

import json

from doctor.model.facts import Facts

SCHEMA = "1"


def facts_of(data: bytes) -> Facts | None:
    """The facts of a report; None where the text is none of ours or does not fit the schema."""
    if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] != b"{" or b'"facts"' not in data:
        return None
    from doctor.reports.json import decode

    try:
        said = json.loads(data.decode("utf-8-sig"))
        if not isinstance(said, dict) or said.get("schema") != SCHEMA or "torchdoctor" not in str(said.get("tool")):
            return None
        return decode(Facts, said["facts"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return None

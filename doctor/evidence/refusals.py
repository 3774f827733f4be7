"""What is no evidence of a machine although a program wrote it, and why, in one line. Pure."""

from __future__ import annotations

from doctor.decode import Refused, loads
from doctor.evidence.own_report import SCHEMA
from doctor.evidence.text import decode

_OURS = '"tool": "torchdoctor'
_OTHERS = {
    "bench": "it is a benchmark: compare those with torchdoctor bench --compare",
    "fleet": "it is a fleet's report, of many machines: torchdoctor fleet --merge judges its folder",
    "compare": "it is a comparison, not a report",
    "facts": "these are stated facts: torchdoctor check --facts FILE --json makes a report of them",
}


def refusal(data: bytes) -> str | None:
    """Why a text is no report of ours although it began as one: a newer schema, cut short, another kind of document.
    None where it can be read, as a report or as any other evidence."""
    text = decode(data).lstrip("\ufeff \t\r\n")
    if not text.startswith("{"):
        return None
    try:
        said = loads(text)
    except Refused as why:
        ours = _OURS in text[:400] or '"tool":"torchdoctor' in text[:400]
        return f"it began as a report of torchdoctor, but {why}: cut short, or changed" if ours else None
    schema = said.get("schema")
    kind = schema.partition("-")[0] if isinstance(schema, str) else ""
    if kind in _OTHERS:
        return _OTHERS[kind]
    if schema == SCHEMA or "torchdoctor" not in str(said.get("tool"))[:40]:
        return None
    harmless = isinstance(schema, str) and schema.isascii() and schema.isprintable() and len(schema) < 20
    called = schema if harmless else "?"
    return f'it is a report of schema "{called}", and this version of torchdoctor reads schema "{SCHEMA}": update it'

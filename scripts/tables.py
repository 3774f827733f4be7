"""How the files of the knowledge tables are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def table_text(data: Mapping[str, Any], *, ascii: bool = False) -> str:
    """A table as its file: one row a line, so that a diff shows rows. `ascii`: other letters are escaped, which makes a
    large file three times as fast to read."""
    parts = []
    for key, value in data.items():
        if isinstance(value, list):
            lines = ",\n".join("  " + json.dumps(row, ensure_ascii=ascii) for row in value)
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        elif isinstance(value, dict) and value:
            lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, ensure_ascii=ascii)}" for k, v in value.items())
            parts.append(f" {json.dumps(key)}: {{\n{lines}\n }}")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=ascii)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"

"""What became of the beds, kept in results.json: the first run of each, and the newest."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.ward.stay import Row

FILE = Path(__file__).parent / "results.json"


def kept() -> dict[str, dict[str, Any]]:
    """{"first": {bed: row}, "newest": {bed: row}}"""
    if not FILE.exists():
        return {"first": {}, "newest": {}}
    said: dict[str, dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    return said


def keep(rows: Iterable[Row]) -> None:
    """Add rows; the first run of a bed is never written over."""
    said = kept()
    for row in rows:
        data: dict[str, Any] = asdict(row)
        said["first"].setdefault(row.bed, data)
        before = said["newest"].get(row.bed) or {}
        if row.cured is None and not row.problems:  # only examined: what became of its fix is known from before
            data |= {key: before.get(key) for key in ("cured", "undone")}
        said["newest"][row.bed] = data
    FILE.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n", encoding="utf-8")

"""What came of the rows, kept in one JSON file that is written after each row, so that a run can be resumed."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.ward.gpu.machine import Machine
from tests.ward.gpu.row import Row
from tests.ward.gpu.run import Result

REPORTS = 40  # of rows with problems, so that the file stays small


def kept(file: Path) -> dict[str, Any]:
    """{"machine": …, "rows": {name: result}}; empty where there is no file. ValueError where it is another one."""
    if not file.exists():
        return {"machine": {}, "rows": {}}
    said = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(said, dict) or not isinstance(said.get("rows"), dict):
        raise ValueError(f"{file} holds no results of the ward")
    return said


def keep(file: Path, said: dict[str, Any], result: Result) -> None:
    """Add a row's result, and write the file as a whole."""
    data = asdict(result)
    held = sum(bool(row["reports"]) for row in said["rows"].values())
    if held >= REPORTS:
        data["reports"] = []
    said["rows"][result.row] = data
    new = file.with_suffix(".new")
    new.write_text(json.dumps(said, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(new, file)


def described(here: Machine) -> dict[str, Any]:
    """What of the machine belongs to the results."""
    return {"gpus": here.gpus, "nodes": list(here.nodes), "namespaces": here.namespaces, "cpus": os.cpu_count()}


def left_to_run(rows: list[Row], said: dict[str, Any], *, again: bool) -> list[Row]:
    """The rows that can be run here and have no result yet: first those that run side by side."""
    todo = [row for row in rows if not row.missing and (again or row.name not in said["rows"])]
    return sorted(todo, key=lambda row: row.alone)

"""The table of the ward for GPUs as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tests.ward.gpu.row import Row
from tests.ward.gpu.rows import shown
from tests.ward.markdown import cell, share

HEAD = """# The ward on a machine with NVIDIA GPUs

What is broken on purpose, in the row's own processes alone, and what `check` says of it. The expectation was written
down before the first run: the first fault (or the verdict where none may be found), the exit code, and the limit.
Made by `scripts/ward_gpu.py`; the table is tests/ward/gpu/rows.py.

"""
_cell = partial(cell, most=240)


def page(rows: Sequence[Row], said: Mapping[str, Any]) -> str:
    """The whole page."""
    results: Mapping[str, Any] = said["rows"]
    ran = [row for row in rows if row.name in results]
    right = sum(not results[row.name]["problems"] for row in ran)
    falsely = [r for r in ran if r.ids and results[r.name]["verdict"] == "healthy"]
    alarms = [r for r in ran if not r.ids and results[r.name]["faults"]]
    of_ran = f" ({share(right, len(ran))})" if ran else ""
    machine = said.get("machine") or {}
    lines = [
        f"{machine.get('gpus', '?')} GPUs, {machine.get('cpus', '?')} CPUs: {len(rows)} rows, {len(ran)} run, {right} "
        f"as expected{of_ran}; {len(falsely)} broken ones called healthy, {len(alarms)} false alarms.",
        "",
        "| group | row | how | expected | said | exit | seconds |",
        "| --- | --- | --- | --- | --- | ---: | ---: |",
        *(_line(row, results.get(row.name)) for row in rows),
    ]
    missed = [row for row in ran if results[row.name]["problems"]]
    if missed:
        lines += ["", "## What went wrong", "", "| row | what | said beside it |", "| --- | --- | --- |"]
        lines += [
            f"| {_cell(row.name)} | {_cell('; '.join(results[row.name]['problems']))} | "
            f"{_cell(', '.join(results[row.name]['faults'] + results[row.name]['others']))} |"
            for row in missed
        ]
    return HEAD + "\n".join(lines) + "\n"


def _line(row: Row, result: Mapping[str, Any] | None) -> str:
    expected = f"{row.expected}, exit {row.code}, {row.limit_s:g} s"
    if row.noted:
        expected += f", with {', '.join(row.noted)}"
    start = f"| {row.group} | {_cell(row.name)} | `{_cell(shown(row)).replace('`', '')}` | {expected} | "
    if result is None:
        return start + f"not run{f': {row.missing}' if row.missing else ''} | | |"
    said = "yes" if not result["problems"] else f"**{', '.join(result['faults'][:2]) or result['verdict'] or '-'}**"
    code = "-" if result["code"] is None else result["code"]
    return start + f"{said} | {code} | {result['seconds']} |"

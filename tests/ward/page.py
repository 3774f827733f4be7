"""docs/ward.md, from the beds and results.json."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.ward.bed import Bed, all_beds
from tests.ward.markdown import cell, share
from tests.ward.results import kept

HEAD = """# The ward

Real environments, broken in the ways that real ones break, each examined, fixed and put back by the installed command.
What must be found was written down before the first run. A bed is *named* where exactly the expected root is found,
with the expected exit code and fix, within its limit. *Fix*: `run` is `fix --run` from a folder of wheels, `hand` a
step that the user takes (here the test does); *cured* means that a new `check` then finds no fault; *undone* that
`fix --undo` put back every file, and that the same fault is found again. Written by `scripts/ward.py page`; the beds
are in tests/ward/beds.

"""
_cell = partial(cell, most=400)


def page() -> str:
    """The whole page."""
    results, beds = kept(), all_beds()
    newest: dict[str, dict[str, Any]] = results["newest"]
    ran = [b for b in beds if b.name in newest]
    named = [b for b in ran if _named(newest[b.name])]
    first = [b for b in beds if b.name in results["first"] and not results["first"][b.name]["problems"]]
    tried = [newest[b.name] for b in ran if newest[b.name]["cured"] is not None]
    undone = [row for row in tried if row["undone"] is not None]
    falsely = [b for b in ran if b.id and b.code and newest[b.name]["verdict"] == "healthy"]
    lines = [
        f"{len(beds)} beds, {len(ran)} run: {len(named)} named right ({share(len(named), len(ran))}), "
        f"{len(first)} right at their first run; {len(falsely)} sick ones called healthy.",
        f"{len(tried)} fixes tried, {sum(row['cured'] for row in tried)} cured; {len(undone)} undone, "
        f"{sum(row['undone'] for row in undone)} as before.",
        "",
        "| bed | how it is broken | expected | named | fix | cured | undone | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | ---: |",
        *(_line(b, newest.get(b.name)) for b in beds),
    ]
    missed = [b for b in ran if newest[b.name]["problems"]]
    if missed:
        lines += ["", "## What went wrong", "", "| bed | what |", "| --- | --- |"]
        lines += [f"| {b.name} | {_cell('; '.join(newest[b.name]['problems']))} |" for b in missed]
    return HEAD + "\n".join(lines) + "\n"


def _named(row: dict[str, Any]) -> bool:
    """Whether the judgement was right, whatever became of the fix."""
    fixing = ("fix --", "after the ", "nobody knows")
    return all(problem.startswith(fixing) for problem in row["problems"])


def _line(b: Bed, row: dict[str, Any] | None) -> str:
    expected = b.id or "nothing"
    if row is None:
        return f"| {b.name} | {_cell(b.says)} | {expected} | not run | | | | |"
    fix = b.why_not if b.cure == "none" and b.id else row["fix"]
    words = {None: "", True: "yes", False: "**no**"}
    named = "yes" if _named(row) else "**" + (", ".join(row["named"]) or row["verdict"] or "no report") + "**"
    return (
        f"| {b.name} | {_cell(b.says)} | {expected} | {named} | {_cell(fix)} | {words[row['cured']]} | "
        f"{words[row['undone']]} | {row['seconds']} |"
    )

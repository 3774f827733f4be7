"""One bed: made, examined, fixed, examined, undone, examined; and what of it was as it was written down."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doctor.model.finding import ONLY_TOLD
from tests.ward.bed import Bed
from tests.ward.place import Place
from tests.ward.store import Store

FIX_S = 600.0
UNKNOWN = 3


@dataclass
class Row:
    """What became of a bed. `named`: the roots that were found, faults and warnings; `fix`: "run", "hand", "not here"
    or "" where none is expected; `cured`, `undone`: None where it was not tried."""

    bed: str
    wanted: str | None
    named: list[str] = field(default_factory=list)
    verdict: str = ""
    code: int = -1
    seconds: float = 0.0
    action: str = ""
    fix: str = ""
    cured: bool | None = None
    undone: bool | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def right(self) -> bool:
        """Whether it was named right: the root, the exit code, the fix, in time."""
        return not self.problems


def stay(bed: Bed, store: Store, *, fixes: bool = True) -> Row:
    """Run one bed."""
    with store.place(bed.base, bed.name) as place:
        try:
            bed.breaks(place)
        except (OSError, AssertionError, subprocess.SubprocessError, StopIteration) as error:
            return Row(bed.name, bed.id, problems=[f"the bed can't be made: {error!r}"])
        return examined(bed, place, fixes=fixes)


def examined(bed: Bed, place: Place, *, fixes: bool) -> Row:
    row = Row(bed.name, bed.id)
    report = _check(bed, place, row)
    if report is None:
        return row
    _compare(bed, report, row)
    if bed.id is None or not fixes:
        return row
    row.fix = {"none": "not here"}.get(bed.cure, bed.cure)
    if bed.cure != "none" and not row.problems:
        _run(bed, place, row) if bed.cure == "run" else _by_hand(bed, place, report, row)
    return row


# ---- the judgement


def _check(bed: Bed, place: Place, row: Row) -> dict[str, Any] | None:
    started = time.monotonic()
    try:
        done = place.doctor(*bed.command, "--json", "--no-redact", timeout=bed.limit_s)
    except subprocess.TimeoutExpired:
        row.problems.append(f"no report after {bed.limit_s:g} s")
        return None
    row.seconds, row.code = round(time.monotonic() - started, 1), done.returncode
    try:
        report = json.loads(done.stdout)
    except ValueError:
        row.problems.append(f"no report, exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return None
    return report if isinstance(report, dict) else None


def _compare(bed: Bed, report: dict[str, Any], row: Row) -> None:
    row.verdict, row.named = report["verdict"], roots(report)
    if [id for id in row.named if id not in bed.also] != ([bed.id] if bed.id else []):
        row.problems.append(f"named {', '.join(row.named) or 'nothing'}, not {bed.id or 'nothing'}")
    if row.code != bed.code:
        row.problems.append(f"exit {row.code}, not {bed.code}")
    fix = next((fix for fix in report["plan"]["fixes"] if fix["finding"] == bed.id), None)
    row.action = fix["action"] if fix else ""
    if bed.action and row.action != bed.action:
        row.problems.append(f"fix is {row.action or 'none'}, not {bed.action}")
    for key, value in bed.details.items():
        if fix and fix["details"].get(key) != value:
            row.problems.append(f"fix says {key} {fix['details'].get(key)}, not {value}")


def roots(report: dict[str, Any]) -> list[str]:
    """The ids of the roots that are faults or warnings, each once, without those that change no verdict."""
    counted = (f for f in report["findings"] if f["id"] not in ONLY_TOLD)
    found = (f["id"] for f in counted if f["root"] and f["severity"] in ("fault", "warning"))
    return list(dict.fromkeys(found))


# ---- the cure


def _run(bed: Bed, place: Place, row: Row) -> None:
    """fix --run from the wheels of the store, and back."""
    before, old = place.exact(), place.environments()
    done = place.doctor("fix", "--run", "--yes", "--no-probe", *place.sources, timeout=FIX_S)
    row.cured = done.returncode == 0
    if not row.cured:
        row.problems.append(f"fix --run: exit {done.returncode}: {_last(done)}")
        return
    new = sorted(place.environments() - old)
    target, place.target = place.target, new[0] if new else place.target
    row.cured = _healthy(bed, place, row, "after the fix")
    if new:  # nothing that was there is changed: the way back is to remove the folder
        shutil.rmtree(new[0])
    else:
        done = place.doctor("fix", "--undo", timeout=FIX_S)
    place.target = target
    row.undone = done.returncode == 0 and place.exact() == before
    if not row.undone:
        after = place.exact()
        changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        said = _last(done) if done.returncode else f"{len(changed)} files differ: {', '.join(sorted(changed)[:3])}"
        row.problems.append(f"fix --undo: {said}")
        return
    again = Row(bed.name, bed.id)
    if (second := _check(bed, place, again)) is None or roots(second) != row.named:
        row.undone = False
        row.problems.append(f"after the undo: {', '.join(roots(second) if second else again.problems)}")


def _healthy(bed: Bed, place: Place, row: Row, when: str) -> bool:
    after = Row(bed.name, None)
    report = _check(bed, place, after)
    if report is None or after.code != 0 or bed.id in roots(report):
        named = ", ".join(roots(report)) if report else "; ".join(after.problems)
        row.problems.append(f"{when}: exit {after.code}, {after.verdict or ''}{named or 'nothing named'}")
        return False
    return True


def _by_hand(bed: Bed, place: Place, report: dict[str, Any], row: Row) -> None:
    """Do what the first fix says, where its steps are the user's."""
    fix = next(fix for fix in report["plan"]["fixes"] if fix["finding"] == bed.id)
    details = fix["details"]
    if fix["action"] == "unset-env":
        place.environ[details["name"]] = None
    elif fix["action"] == "set-env":
        place.environ[details["name"]] = details["value"]
    elif fix["action"] == "rename-file":
        Path(details["path"]).rename(details["path"] + ".moved")
    elif fix["action"] == "change-directory":
        place.work = place.root / "home"
    elif fix["action"] == "activate-environment":
        place.target = details["path"]
    elif fix["action"] == "raise-limit":
        place.wrapper = ()
    else:
        row.problems.append(f"nobody knows how to do {fix['action']} by hand")
        return
    row.cured = _healthy(bed, place, row, "after the fix")


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return " ".join((done.stderr.strip() or done.stdout.strip())[-300:].split())

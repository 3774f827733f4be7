"""Score the judgement on labelled cases: scripts/score_cases.py DIR… [--floor tests/cases/floor.json] [--command]

Every ticket below DIR (scripts/tickets.py) is one case; its label names the cause, what is right too, what would be
wrong, and the fix. Rules:
  * top-1: the first finding of severity fault is `cause` or in `also`; `healthy`: verdict healthy and no fault.
    Where no fault
    is claimed, the first warning or note counts for ids that claim none (program-error, backend-impossible-here, …);
    where `healthy` is right, so is a first finding harmless-warning or no-fault-described without a fault: it says
    of the text what the label says;
  * recall: the id is among the findings (where `healthy` is right, such a note, too);
  * specificity: share of healthy cases without a fault;
  * wrong: share of the cases with a fault, or a cause that tickets like it had, whose id is in `not`;
  * action: one of the first two fixes, or the first alternative of each, is of the labelled family;
  * erratum: where the label has `errata`, one of these rows is the one that a finding names;
  * backend: `details.backend` of the first torch action among those is one of the labelled ones.
Exit code 1 if a score is below the floors given with --floor.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.model.finding import NO_FAULT, ONLY_TOLD  # noqa: E402
from doctor.model.symptom import RESEMBLES  # noqa: E402
from scripts.tickets import Ticket, tickets_below  # noqa: E402

TORCH_ACTIONS = ("install-torch", "reinstall-torch", "upgrade-torch", "downgrade-torch")
FAMILIES = {
    **dict.fromkeys(TORCH_ACTIONS, "torch"),
    **dict.fromkeys(
        (
            "pin-package", "install-package", "reinstall-package", "remove-package", "use-other-build",
            "no-build-isolation",
        ),
        "package",
    ),
    **dict.fromkeys(("system-setting", "set-compute-mode", "raise-limit", "enable-long-paths"), "system-setting"),
    "free-disk": "free-disk-space",
    "add-index": "fix-index",
}  # fmt: skip
Examine = Callable[[Ticket], Mapping[str, Any]]
MEASURES = ("top1", "recall", "specificity", "wrong", "action", "backend", "erratum")
HIGHER_IS_WORSE = ("wrong",)


@dataclass
class Score:
    """What came of one case. None: the measure does not apply to it."""

    case: Ticket
    layer: str
    top1: bool
    recall: bool | None = None
    specificity: bool | None = None
    wrong: bool | None = None
    action: bool | None = None
    backend: bool | None = None
    erratum: bool | None = None
    said: str = ""
    notes: list[str] = field(default_factory=list)


def examine_in_process(case: Ticket) -> Mapping[str, Any]:
    """The report as --json has it, without a process for each case; made once for all who ask."""
    key = (case.said, case.label["date"])
    if key not in _made:
        _made[key] = _examined(*key)
    said: Mapping[str, Any] = json.loads(_made[key])
    return said


def examine_all(cases: Iterable[Ticket]) -> None:
    """Make the reports of all cases, on all cores, before they are asked for."""
    keys = list(dict.fromkeys((case.said, case.label["date"]) for case in cases))
    with ProcessPoolExecutor() as workers:
        _made.update(zip(keys, workers.map(_examined, *zip(*keys, strict=True), chunksize=64), strict=True))


_made: dict[tuple[bytes, str], str] = {}  # text and date of a case -> its report as JSON


def _examined(text: bytes, date: str) -> str:
    from doctor.pipeline import Request, examine
    from doctor.reports import json as json_report

    return json_report.render(examine(Request(evidence=(("input.txt", text),), as_of=date)))


def examine_by_command(case: Ticket) -> Mapping[str, Any]:
    """The report of the installed command."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "doctor",
            "check",
            "--from",
            "-",
            "--as-of",
            case.label["date"],
            "--json",
        ],
        input=case.text,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    try:
        said: Mapping[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{case.name}: exit {done.returncode}\n{done.stderr[-2000:]}") from None
    return said


def score(case: Ticket, report: Mapping[str, Any]) -> Score:
    """Compare a report with the label."""
    findings = [f for f in report["findings"] if f["id"] not in ONLY_TOLD]
    faults = [f["id"] for f in findings if f["severity"] == "fault"]
    ids = [f["id"] for f in findings]
    first = findings[0]["id"] if findings else report["verdict"]
    healthy = case.label["cause"] == "healthy"
    result = Score(case=case, layer=_layer(case.label["cause"]), top1=_top1(case, report, faults, ids), said=first)
    if faults[1:] or (not faults and ids[1:]):
        result.said += f" (also {', '.join(ids[1:4])})"
    if healthy:
        result.specificity = not faults
    else:
        result.recall = any(i in ids or (i == "healthy" and not {*NO_FAULT}.isdisjoint(ids)) for i in case.right)
    if "errata" in case.label:
        named = [f.get("values", {}).get("erratum") for f in findings]
        result.erratum = any(row in named for row in case.label["errata"])
        if not result.erratum:
            result.notes.append(f"names no erratum of {'/'.join(case.label['errata']) or 'the table'}")
    if named := faults + alike(findings):
        result.wrong = any(i in case.label.get("not", ()) for i in named)
    if not healthy:
        _score_fix(case, report, result)
    return result


def alike(findings: Iterable[Mapping[str, Any]]) -> list[str]:
    """The causes that are told because the text reads like other tickets: no faults, and an answer all the same."""
    told = (f for f in findings if any(e["fact"] == RESEMBLES for e in f.get("evidence", ())))
    return [f["id"] for f in told if f["id"] not in NO_FAULT]


def _top1(case: Ticket, report: Mapping[str, Any], faults: list[str], ids: list[str]) -> bool:
    if faults:
        return faults[0] in case.right
    if report["verdict"] in case.right:  # "healthy", or "unknown" where the text cannot prove it
        return True
    return bool(ids) and (ids[0] in case.right or (ids[0] in NO_FAULT and "healthy" in case.right))


def _score_fix(case: Ticket, report: Mapping[str, Any], result: Score) -> None:
    wanted = case.label["fix"]
    offered = [f for fix in report["plan"]["fixes"][:2] for f in (fix, *fix["alternatives"][:1])]
    families = {_family(f["action"]) for f in offered}
    result.action = _family(wanted["action"]) in families or (wanted["action"] == "none" and not offered)
    if not result.action:
        result.notes.append(f"action {'/'.join(f['action'] for f in offered) or 'nothing'}, not {wanted['action']}")
    if backends := wanted.get("backend"):
        torch = [f for f in offered if f["action"] in TORCH_ACTIONS]
        backend = torch[0]["details"].get("backend") if torch else None
        result.backend = backend in backends
        if not result.backend:
            result.notes.append(f"backend {backend}, not {'/'.join(backends)}")


def _family(action: str) -> str:
    return FAMILIES.get(action, action)


def _layer(id: str) -> str:
    from doctor.checks import check_of

    check = check_of(id)
    return check.layer if check else "healthy" if id == "healthy" else "?"


def shares(scores: Iterable[Score]) -> dict[str, tuple[float | None, int]]:
    """(share, number of cases) of every measure; None where it applies to no case."""
    found: dict[str, tuple[float | None, int]] = {}
    scores = list(scores)
    for measure in MEASURES:
        values = [v for v in (getattr(s, measure) for s in scores) if v is not None]
        found[measure] = (sum(values) / len(values) if values else None, len(values))
    return found


def table(scores: list[Score]) -> str:
    """The scores: all, per layer, per cause."""
    rows = [("", "cases", *MEASURES), _row("all", scores)]
    for title, key in (("per layer", lambda s: s.layer), ("per cause", lambda s: s.case.label["cause"])):
        groups: dict[str, list[Score]] = defaultdict(list)
        for one in scores:
            groups[key(one)].append(one)
        rows.append((title,) + ("",) * (len(MEASURES) + 1))
        rows += [_row(f"  {name}", group) for name, group in sorted(groups.items())]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join([r[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(r[1:], widths[1:], strict=True))]).rstrip()
        for r in rows
    )


def _row(name: str, scores: list[Score]) -> tuple[str, ...]:
    found = shares(scores)
    return (name, str(len(scores)), *("-" if found[m][0] is None else f"{found[m][0]:.2f}" for m in MEASURES))


def misses(scores: Iterable[Score]) -> str:
    """One line for every case that is not right in everything, with what was said instead."""
    lines = []
    for one in scores:
        wrong = [] if one.top1 else [f"said {one.said}, not {'/'.join(one.case.right)}"]
        if one.wrong:
            wrong.append("a wrong fault")
        wrong += one.notes
        if wrong:
            lines.append(f"  {one.case.name}: {'; '.join(wrong)}")
    return "\n".join(lines)


def below_floor(scores: list[Score], floors: Mapping[str, float]) -> list[str]:
    """The measures that are worse than their floor."""
    found = []
    for measure, (value, _) in shares(scores).items():
        floor = floors.get(measure)
        if floor is None or value is None:
            continue
        if value > floor if measure in HIGHER_IS_WORSE else value < floor:
            found.append(f"{measure} {value:.3f}, floor {floor}")
    return found


def main() -> int:
    """Score the folders, print the tables, compare with the floors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument(
        "--floor", type=Path, help='JSON: {"bank": {"top1": 0.97, …}, "own": {…}}, by the name of the folder below'
    )
    parser.add_argument("--command", action="store_true", help="run the installed command on each case")
    parser.add_argument("--brief", action="store_true", help="no table per cause")
    options = parser.parse_args()
    examine = examine_by_command if options.command else examine_in_process
    if not any(tickets_below(options.folders)):
        parser.error("there are no cases below these folders")
    return scored(options.folders, options.floor, examine, brief=options.brief)


def scored(folders: Iterable[Path], floor: Path | None, examine: Examine, *, brief: bool) -> int:
    """Print the tables, then what is below the floors of that file: exit code 1 if anything is."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for case in tickets_below(folders):
        groups[_collection(case.collection)].append(score(case, examine(case)))
    floors = json.loads(floor.read_text(encoding="utf-8")) if floor else {}
    failed = []
    for name, scores in groups.items():
        print(f"\n== {name}: {len(scores)} cases")
        print("\n".join(table(scores).splitlines()[:2]) if brief else table(scores))
        if lines := misses(scores):
            print(f"misses\n{lines}")
        failed += [f"{name}: {line}" for line in below_floor(scores, floors.get(name, {}))]
    for line in failed:
        print(f"below the floor: {line}", file=sys.stderr)
    return 1 if failed else 0


def _collection(folder: Path) -> str:
    """ "bank" or "own": the folder below tests/cases; elsewhere its own name."""
    parts = folder.resolve().parts
    for name in ("bank", "own"):
        if name in parts:
            return name
    return folder.name


if __name__ == "__main__":
    raise SystemExit(main())

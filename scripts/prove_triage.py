"""How good `torchdoctor triage` is on labelled tickets: how often a fault that it names is the right one.

python scripts/prove_triage.py [DIR…]     default: tests/cases/bank; exit code 1 where precision is below 0.9

Each case becomes the event of an opened issue. Counted:
  * precision: of the comments that name a fault, the share whose first one is the labelled cause, or as right;
  * false alarms: comments that name a fault on a labelled healthy machine;
  * asked: comments without a fault and without a verdict that ask a question;
  * inert: comments that hold no mention, link or markup but our own, with a hostile text added to each issue.
"""

from __future__ import annotations

import json
import random
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
FLOOR = 0.9


@dataclass
class Tally:
    """What came of all cases."""

    cases: int = 0
    named: int = 0
    right: int = 0
    alarms: int = 0
    asked: int = 0
    silent: int = 0
    healthy: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.right / self.named if self.named else 0.0


def event(text: str, date: str) -> bytes:
    """The webhook of an issue with that body. Its title is empty: the labels are of the text alone."""
    issue = {"number": 1, "title": "", "body": text, "created_at": f"{date}T00:00:00Z",
             "user": {"login": "somebody", "type": "User"}, "labels": []}  # fmt: skip
    return json.dumps({"action": "opened", "issue": issue}).encode()


def answer(data: bytes) -> dict[str, Any]:
    """What the command prints for an event."""
    from doctor.cli.triage import answer_of
    from doctor.triage.event import event_of
    from doctor.triage.labels import Labels

    return answer_of(event_of(data), Labels())


def tally(folders: list[Path]) -> Tally:
    """Go through the cases below the folders."""
    from scripts.tickets import tickets_below

    result = Tally()
    for case in tickets_below(folders):
        said = answer(event(case.text, case.label["date"]))
        result.cases += 1
        result.silent += said["action"] == "none"
        result.healthy += said["verdict"] == "healthy"
        result.asked += bool(said["question"])
        if said["findings"]:
            result.named += 1
            result.alarms += case.label["cause"] == "healthy"
            if said["findings"][0] in case.right:
                result.right += 1
            else:
                result.wrong.append(f"{case.name}: {said['findings'][0]}, and it is {case.label['cause']}")
    return result


def inert(folders: list[Path]) -> tuple[int, list[str]]:
    """How many comments were looked at, and the issues of which something survived."""
    from scripts.tickets import tickets_below
    from tests.reports.hostile import hostile_ticket
    from tests.triage.survivors import survivors

    r, alive, count = random.Random(1), list[str](), 0
    for case in tickets_below(folders):
        foreign = f"{hostile_ticket(r)}\n{case.text}\n{hostile_ticket(r)}"
        said = answer(event(foreign, case.label["date"]))
        count += said["body"] is not None
        if found := survivors(said["body"] or "", foreign):
            alive.append(f"{case.name}: {found[:3]}")
    return count, alive


def main(arguments: list[str]) -> int:
    """Print the numbers; exit code 1 below the floor."""
    folders = [Path(a) for a in arguments] or [ROOT / "tests" / "cases" / "bank"]
    done = tally(folders)
    print(f"{done.cases} tickets: {done.named} comments name a fault, {done.right} of them the right one first:"
          f" precision {done.precision:.2f}")  # fmt: skip
    print(f"false alarms on healthy machines: {done.alarms}; said to be in order: {done.healthy}; asked: {done.asked};"
          f" silent: {done.silent}")  # fmt: skip
    print("\n".join(f"  wrong: {line}" for line in done.wrong))
    count, alive = inert(folders)
    print(f"{count} comments on issues with hostile text: in {len(alive)} something survived")
    print("\n".join(f"  {line}" for line in alive))
    return 1 if done.precision < FLOOR or alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

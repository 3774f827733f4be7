"""Take from each labelled case what decides it: scripts/prove_accounting.py DIR… [--most N] [-v]

A case that is judged right and certain loses the line that its first finding rests on, and further ones of them until
that finding is no longer certain. Then the verdict must become a likely finding or a question, never `healthy`, and the
first question must ask for what was taken. Prints the shares; exit code 1 where one is too low.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.tickets import Ticket, tickets_below  # noqa: E402

NEVER_HEALTHY, ASKED_FOR = 0, 0.8
AT_MOST = 6  # lines taken from one case


@dataclass(frozen=True)
class Taken:
    """What came of one case. `how`: "likely", "question", "healthy", "other" (another certain finding), "silent",
    "nothing left" (the text then shows a torch that uses every GPU, and nothing that speaks of a failure)."""

    case: str
    how: str
    fact: str
    line: str
    said: str
    asked: bool
    right: bool  # its first finding is still one of the labelled causes


def examined(case: Ticket, text: bytes) -> Any:
    from doctor.pipeline import Request, examine

    return examine(Request(evidence=(("input.txt", text),), as_of=case.label["date"]))


def deciding(finding: Any, text: str) -> Iterator[tuple[str, str]]:
    """(fact, line of the text) for everything that the finding rests on and that stands in the text."""
    lines = text.splitlines()
    for item in finding.evidence:
        for words in (item.quote, item.value):
            words = words.strip()
            found = [line for line in lines if len(words) >= 3 and words[:80] in line] or [
                line for line in lines if len(line.strip()) >= 8 and line.strip() in words
            ]
            if found:
                yield item.fact, found[0]
                break


def without(case: Ticket) -> Taken | None:
    """The case without what decides it; None where it is not judged right and certain, or rests on nothing quoted."""
    text = case.text
    report = examined(case, text.encode())
    first = report.findings[0] if report.findings else None
    if first is None or first.severity != "fault" or first.id not in case.right or first.confidence != "certain":
        return None
    id, fact, line = first.id, "", ""
    for _ in range(AT_MOST):
        took = next(deciding(report.findings[0], text), None)
        if took is None:
            break
        fact, line = took
        text = "\n".join(kept for kept in text.splitlines() if kept.strip() != line.strip()) + "\n"
        report = examined(case, text.encode())
        now = report.findings[0] if report.findings else None
        if now is None or now.id != id or now.confidence != "certain":
            break
    if not line:
        return None
    right = bool(report.findings) and report.findings[0].id in case.right
    return Taken(case.name, how_judged(report), fact, line, said(report), asks_for(report, fact), right)


def how_judged(report: Any) -> str:
    faults = [f for f in report.findings if f.severity == "fault"]
    if faults:
        return "likely" if faults[0].confidence == "likely" else "other"
    if report.verdict == "healthy":
        return "healthy" if report.symptoms else "nothing left"
    return "question" if report.questions else "silent"


def said(report: Any) -> str:
    first = report.questions[0] if report.questions else None
    asked = f"; asks {first.command or first.text}" if first else ""
    return f"{report.verdict} {', '.join(f.id for f in report.findings[:2])}{asked}"


def asks_for(report: Any, fact: str) -> bool:
    """Whether the first question's answer would hold the fact that was taken."""
    from doctor.accounting.questions import ASKS

    if not report.questions:
        return False
    said = report.questions[0]
    first = next((a for a in ASKS if (a.text, a.command) == (said.text, said.command)), ASKS[0])
    name = {"message": "messages", "gpu": "gpus", "asked for": "attempts"}.get(fact, fact)
    name = "environ" if name.isupper() or name.startswith("environ") else name
    held = any(name == one or name.startswith(one + ".") or one.startswith(name + ".") for one in first.holds)
    return held or (name == "messages" and "errors" in first.holds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--most", type=int, default=10_000, help="cases at the most")
    parser.add_argument("-v", "--verbose", action="store_true", help="each case that is not as it should be")
    options = parser.parse_args()
    taken = []
    for case in tickets_below(options.folders):
        if len(taken) < options.most and (one := without(case)):
            taken.append(one)
    counts = Counter(one.how for one in taken)
    questions = [one for one in taken if one.how == "question"]
    share = sum(one.asked for one in questions) / max(1, len(questions))
    print(f"{len(taken)} cases without their deciding lines: {dict(counts)}")
    likely = [one for one in taken if one.how == "likely"]
    print(f"of {len(likely)} likely findings {sum(one.right for one in likely)} name the labelled cause")
    print(f"of {len(questions)} questions {share:.2f} ask for what was taken")
    for one in taken if options.verbose else ():
        good = {"question": one.asked, "likely": one.right, "nothing left": True}
        if not good.get(one.how, False):
            print(f"  {one.case}: {one.how}; took {one.fact}: {one.line.strip()[:90]!r}; {one.said}")
    return 1 if counts["healthy"] > NEVER_HEALTHY or counts["silent"] or share < ASKED_FOR else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""docs/accuracy.md: how often the answer is right, on every collection of labelled tickets.

python scripts/accuracy.py                            score tests/cases and write the page
python scripts/accuracy.py --check [--floor FILE]     exit 1 if the page is not current; with floors (score_cases.py),
                                                      also if a score is below one: each case is examined once
python scripts/accuracy.py --record DIR --tool COMMIT write DIR/first-run.json, once, before anything is changed for DIR

A first run is recorded once and never again: the figure is that of tickets that the tool had not seen. The file holds
a digest of the tickets and their labels, so a label that is changed later shows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from math import sqrt
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.model.finding import ONLY_TOLD  # noqa: E402
from scripts.score_cases import alike, examine_all, examine_in_process, score, scored  # noqa: E402
from scripts.tickets import Ticket, digest, tickets_below  # noqa: E402

CASES = ROOT / "tests/cases"
PAGE = ROOT / "docs/accuracy.md"
FIRST_RUN = "first-run.json"
COLLECTIONS = {
    "bank": "pytorch's own tracker and large projects; the tool was made with them",
    "own": "further tickets; the tool was made with them",
    "blind": "labelled before the tool first read them; since then, what it missed has been worked on",
    "hard": "tickets of the kinds that are hard to tell; worked on, and learned",
    "unseen": "the first round from users' projects, labelled before the first run; worked on since then",
    "unseen2": "the second round; worked on since then",
    "unseen3": "the third round; worked on since then",
    "unseen4": "the fourth round; worked on since then",
    "unseen5": "the fifth round; worked on since then",
    "unseen6": "the sixth round, nearly every ticket of another cause; worked on since then",
    "unseen7": "the seventh round, of what users paste most often; worked on since then",
    "unseen8": "the eighth round, of image and video programs, as they come; worked on since then",
    "unseen9": "the ninth round, of all other kinds of programs, as they come; worked on since then",
    "unseen10": "the tenth round, of all kinds of programs, as they come; worked on since then",
    "unseen11": "the eleventh round, large, of all kinds of programs, as they come; worked on since then",
    "unseen12": "the twelfth round, of small programs and of rare kinds of faults, as they come; learned since then",
    "unseen13": "the thirteenth round: a fifth of the tickets that were collected with the eleventh, chosen by the "
    "digest of their addresses and held back until the work on the others was done; learned since then",
    "unseen14": "the fourteenth round, small, of all kinds of programs, as they come; learned since then",
    "unseen15": "the fifteenth round, large, of all kinds of programs, as they come, many of them short questions; "
    "learned and worked on since then",
    "unseen16": "the sixteenth round: a fifth of the tickets that were collected with the fifteenth, chosen by the "
    "digest of their addresses and held back; learned since then",
    "unseen17": "the seventeenth round: faults of all kinds, as they come, and a fifth of questions and programs' own "
    "errors, taken from the sixteenth by their digests; learned since then",
    "unseen18": "the eighteenth round, large, nearly all of it faults, of all kinds of programs, as they come; learned "
    "and worked on since then",
    "unseen19": "the nineteenth round, nearly all of it faults, of all kinds of programs, as they come; learned since "
    "then",
    "unseen20": "the twentieth round, large, of all kinds of programs, also such as only resemble torch's; learned "
    "since then",
    "unseen21": "the twenty-first round: a quarter of the tickets that were collected with the twentieth, chosen by "
    "the digest of their addresses and held back, a fifth of them questions and programs' own errors; worked on since "
    "then",
    "unseen22": "the twenty-second round, small, collected after the network of phrases had learned, from programs "
    "that use torch, a fifth of it questions and programs' own errors; learned since then",
    "unseen23": "the twenty-third round, collected in the same way; learned since then",
    "unseen24": "the twenty-fourth round, collected in the same way, but without tickets whose deciding message is cut "
    "off or only in a picture; learned since then",
}
# with a recorded first run, in their order
ROUNDS = (
    "unseen", "unseen2", "unseen3", "unseen4", "unseen5", "unseen6", "unseen7", "unseen8", "unseen9", "unseen10",
    "unseen11", "unseen12", "unseen13", "unseen14", "unseen15", "unseen16", "unseen17", "unseen18",
    "unseen19", "unseen20", "unseen21", "unseen22", "unseen23", "unseen24",
)  # fmt: skip
TOLD_OF = 3  # the last rounds, of which the page tells more
SHORT = 8  # lines
OFTEN = 2  # tickets in which the same was said instead


@dataclass(frozen=True)
class Outcome:
    """What came of one ticket."""

    label: str  # the labelled cause
    said: str  # the first finding's id, or the verdict
    verdict: str
    lines: int
    right: bool  # as scripts/score_cases.py counts: `cause` or one of `also`
    exact: bool  # `cause` itself
    other_fault: bool  # the first fault is not among the right ones
    wrong: bool  # a fault that the label rules out, or any fault on a healthy machine
    falsely_healthy: bool
    hinted: bool  # unknown, and a likely finding or one of the first three hypotheses is right
    near: bool  # hinted, and not counted as right
    asked: bool  # unknown, and a question is asked


# measure -> (head of its column, what it counts)
MEASURES = {
    "right": ("right", "the first answer is the labelled cause, or one that the label counts as right, too"),
    "exact": ("exact", "the first answer is the labelled cause itself"),
    "other_fault": ("another fault", "it names a fault, but another one"),
    "wrong": ("wrong", "it names a fault, or a likely cause, that the label rules out, or any fault where all is well"),
    "falsely_healthy": ("falsely healthy", "it says healthy, and there is a fault"),
    "unknown": ("unknown", "it gives no verdict"),
    "hinted": ("hinted", "of these, a likely finding or one of the first three hypotheses is right"),
    "near": ("near", "the same, without those that already count as right"),
    "asked": ("asked", "of these, it asks what to show next"),
}


def outcome(case: Ticket, report: Mapping[str, Any]) -> Outcome:
    """Compare one report with its label."""
    scored = score(case, report)
    findings = [f for f in report["findings"] if f["id"] not in ONLY_TOLD]
    ids = [f["id"] for f in findings]
    faults = [f["id"] for f in findings if f["severity"] == "fault"]
    named = faults or alike(findings)
    verdict, cause = report["verdict"], case.label["cause"]
    said = (faults or ids or [verdict])[0] if verdict != "healthy" else "healthy"
    unknown = verdict == "unknown"
    hinted = unknown and not {*ids[:3], *(h["id"] for h in report["hypotheses"][:3])}.isdisjoint(case.right)
    return Outcome(
        label=cause,
        said=said,
        verdict=verdict,
        lines=len(case.text.splitlines()),
        right=scored.top1,
        exact=cause in (said, verdict),
        other_fault=bool(named) and named[0] not in case.right,
        wrong=bool(scored.wrong) or (cause == "healthy" and bool(faults)),
        falsely_healthy=verdict == "healthy" and "healthy" not in case.right and _is_fault(cause),
        hinted=hinted,
        near=hinted and not scored.top1,
        asked=unknown and bool(report["questions"]),
    )


def _is_fault(id: str) -> bool:
    from doctor.checks import check_of

    check = check_of(id)
    return check is None or check.severity == "fault"


def outcomes(folder: Path) -> dict[str, Outcome]:
    """Case name -> outcome, of all cases below the folder."""
    return {case.name: outcome(case, examine_in_process(case)) for case in tickets_below([folder])}


def count(found: Iterable[Outcome], measure: str) -> int:
    """How many tickets meet the measure."""
    return sum(one.verdict == "unknown" if measure == "unknown" else getattr(one, measure) for one in found)


def interval(hits: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z, share = 1.96, hits / of
    middle, spread = share + z * z / (2 * of), z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / (1 + z * z / of), (middle + spread) / (1 + z * z / of)


def record(folder: Path, tool: str) -> dict[str, Any]:
    """The first run on the folder, as it is written beside its cases."""
    cases = outcomes(folder)
    return {
        "date": date.today().isoformat(),
        "tool": tool,
        "digest": digest(folder),
        "counts": {"cases": len(cases), **{name: count(cases.values(), name) for name in MEASURES}},
        "cases": {name: asdict(one) for name, one in cases.items()},
    }


def first_run(name: str) -> dict[str, Outcome]:
    """Case name -> outcome of the recorded first run on a round."""
    said = json.loads((CASES / name / FIRST_RUN).read_text(encoding="utf-8"))
    return {case: Outcome(**one) for case, one in said["cases"].items()}


def page() -> str:
    """The whole page."""
    last = json.loads((CASES / ROUNDS[-1] / FIRST_RUN).read_text(encoding="utf-8"))
    then = {name: first_run(name) for name in ROUNDS}
    now = {name: outcomes(CASES / name) for name in COLLECTIONS}
    counts = last["counts"]
    low, high = interval(counts["right"], counts["cases"])
    return "\n".join([
        "# How often the answer is right",
        "",
        "Made by scripts/accuracy.py from the labelled tickets in tests/cases. A ticket is what somebody pasted when "
        "asking for help; its label was taken from the thread.",
        "",
        f"**On the {counts['cases']} tickets of the last round, which it had never seen, torchdoctor's first answer "
        f"was right {counts['right']} times ({_share(counts['right'], counts['cases'])}; 95 % interval {low:.0%} to "
        f"{high:.0%}).** That was on {last['date']}, at commit `{last['tool'][:7]}`; the labels were committed before "
        "the run. Each round is run once and then worked on, so what is right «now» is no estimate for a new ticket.",
        "",
        "## First runs",
        "",
        *_table({name: found.values() for name, found in then.items()}),
        "",
        "## Now",
        "",
        *_table({name: found.values() for name, found in now.items()}),
        "",
        "## What is counted",
        "",
        *(f"- **{head}**: {what}." for head, what in MEASURES.values()),
        "",
        "## The collections",
        "",
        *(f"- **{name}**: {what}." for name, what in COLLECTIONS.items()),
        "",
        *(line for name in reversed(ROUNDS[-TOLD_OF:]) for line in _round(name, then[name])),
    ])  # fmt: skip


def _table(collections: Mapping[str, Iterable[Outcome]]) -> list[str]:
    """One row a collection."""
    heads = ["", "tickets", *(head for head, _ in MEASURES.values())]
    rows = []
    for name, outcomes in collections.items():
        found = list(outcomes)
        rows.append([name, str(len(found)), *(_cell(found, measure) for measure in MEASURES)])
    return ["| " + " | ".join(row) + " |" for row in (heads, ["---", *["---:"] * (len(heads) - 1)], *rows)]


def _round(name: str, found: Mapping[str, Outcome]) -> list[str]:
    short = [one for one in found.values() if one.lines <= SHORT]
    return [
        f"## {name}: the first run, by what the ticket is about",
        "",
        *_by_layer(found),
        "",
        f"Of the tickets of at most {SHORT} lines {_of(short, 'right')}, of the longer ones "
        f"{_of((one for one in found.values() if one.lines > SHORT), 'right')} were answered right.",
        "",
        f"## {name}: the first run, what was said instead",
        "",
        "| label | said | tickets |",
        "| --- | --- | ---: |",
        *(f"| {label} | {said} | {n} |" for (label, said), n in _confusion(found.values()) if n >= OFTEN),
        "",
    ]


def _share(hits: int, of: int) -> str:
    return f"{hits / of:.0%}"


def _cell(found: Iterable[Outcome], measure: str) -> str:
    found = list(found)
    if measure in ("hinted", "near", "asked"):
        unknown = [one for one in found if one.verdict == "unknown"]
        return f"{count(found, measure)} of {len(unknown)}"
    return f"{count(found, measure)} ({_share(count(found, measure), len(found))})"


def _of(found: Iterable[Outcome], measure: str) -> str:
    found = list(found)
    return f"{count(found, measure)} of {len(found)}"


def _by_layer(found: Mapping[str, Outcome]) -> list[str]:
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for name, one in found.items():
        groups[name.split("/")[0]].append(one)
    return [
        "| layer | tickets | right | another fault | unknown |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {layer} | {len(group)} | {count(group, 'right')} | {count(group, 'other_fault')} | "
            f"{count(group, 'unknown')} |"
            for layer, group in sorted(groups.items())
        ),
    ]


def _confusion(found: Iterable[Outcome]) -> list[tuple[tuple[str, str], int]]:
    """(label, said) -> tickets, of all where the labelled cause itself was not said; the most frequent first."""
    counts = Counter((one.label, one.said) for one in found if not one.exact)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def main() -> int:
    """Write the page, check it, or record a first run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if the page is not current")
    parser.add_argument("--floor", type=Path, help="with --check: also what score_cases.py --floor FILE --brief says")
    parser.add_argument("--record", type=Path, metavar="DIR", help="record the first run on these cases")
    parser.add_argument("--tool", metavar="COMMIT", help="with --record: the commit of the tool that ran")
    options = parser.parse_args()
    if options.record:
        target = options.record / FIRST_RUN
        if target.exists():
            parser.error(f"{target} exists: there is one first run")
        if not options.tool:
            parser.error("--record needs --tool COMMIT")
        target.write_text(json.dumps(record(options.record, options.tool), indent=1) + "\n", encoding="utf-8")
        return 0
    examine_all(tickets_below([CASES]))
    text, code = page(), 0
    if options.check and options.floor:
        code = scored([CASES], options.floor, examine_in_process, brief=True)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
        print(f"{PAGE.relative_to(ROOT)} is not current; run scripts/accuracy.py", file=sys.stderr)
        return 1
    return code


if __name__ == "__main__":
    raise SystemExit(main())

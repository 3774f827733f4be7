"""Count how often each cause was behind each symptom on the labelled cases: scripts/count_causes.py DIR… [--write]

For every case whose label names a cause, each of its symptoms (by id, those that no message names also by subject)
counts once for that cause, if the symptom can have it. Writes doctor/knowledge/tables/causes.json, which weighs the
hypotheses about a symptom that no finding explains. Collections with a first-run.json are left out: they measure the
tool (scripts/accuracy.py) and must not teach it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from scripts.tables import table_text  # noqa: E402
from scripts.tickets import tickets_below  # noqa: E402

WITH_SUBJECT = ("accelerator-unused", "cuda-not-available")  # what no message names
TABLE = ROOT / "doctor/knowledge/tables/causes.json"


def counted(folders: Iterable[Path]) -> tuple[dict[str, Counter[str]], int]:
    """(symptom -> cause -> number of cases, number of cases read)."""
    from doctor.accounting.symptoms import symptoms_of
    from doctor.evidence.read import read

    counts: dict[str, Counter[str]] = defaultdict(Counter)
    cases = 0
    for ticket in tickets_below(folders):
        if (ticket.collection / "first-run.json").is_file():
            continue
        cases += 1
        cause = ticket.label["cause"]
        seen = set()
        for symptom in symptoms_of(read((("input.txt", ticket.said),)).facts):
            if cause in symptom.causes:
                seen.add(f"{symptom.id}/{symptom.subject}" if symptom.id in WITH_SUBJECT else symptom.id)
        for name in seen:
            counts[name][cause] += 1
    return counts, cases


def table(counts: dict[str, Counter[str]], cases: int) -> dict[str, object]:
    """The content of the table."""
    source = f"{cases} labelled tickets (tests/cases), counted by scripts/count_causes.py"
    rows = [
        {"symptom": name, "counts": dict(sorted(found.items())), "sources": ["cases"], "status": "verified"}
        for name, found in sorted(counts.items())
    ]
    return {"schema": 1, "table": "causes", "date": date.today().isoformat(), "sources": {"cases": source},
            "rows": rows}  # fmt: skip


def rendered(folders: Iterable[Path]) -> str:
    """The table of the tickets in these folders, as text."""
    return table_text(table(*counted(folders)))


def command(description: str | None, file: Path, rendered: Callable[[Iterable[Path]], str]) -> int:
    """Count in the folders that the command line names, and print the table or replace its file."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--write", action="store_true", help="replace the table; else print it")
    options = parser.parse_args()
    text = rendered(options.folders)
    if options.write:
        file.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(command(__doc__, TABLE, rendered))

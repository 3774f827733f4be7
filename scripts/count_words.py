"""Count in how many labelled tickets of each cause a word occurs: scripts/count_words.py DIR… [--write]

Writes doctor/knowledge/tables/words.json, by which a text that nothing else explains is compared with the labelled
tickets (doctor/knowledge/words.py). Rare terms and common ones are left out. So are collections with a first-run.json:
they measure the tool (scripts/accuracy.py) and must not teach it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from doctor.knowledge.words import terms_of  # noqa: E402
from scripts.count_causes import command  # noqa: E402
from scripts.tables import table_text  # noqa: E402

TABLE = ROOT / "doctor/knowledge/tables/words.json"
HEALTHY = "healthy"  # the label of a ticket in which nothing is wrong
AT_LEAST = 3  # tickets with a term
AT_MOST = 0.3  # of all tickets


def counted(folders: Iterable[Path]) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """(cause -> number of tickets, term -> cause -> number of tickets with it)."""
    tickets: Counter[str] = Counter()
    terms: dict[str, Counter[str]] = defaultdict(Counter)
    for folder in folders:
        for label in sorted(folder.rglob("case.json")):
            text = label.parent / "input.txt"
            if not text.is_file() or any((above / "first-run.json").is_file() for above in label.parents):
                continue
            cause = json.loads(label.read_text(encoding="utf-8"))["cause"] or HEALTHY
            tickets[cause] += 1
            for term in terms_of(text.read_text(encoding="utf-8", errors="replace")):
                terms[term][cause] += 1
    return tickets, terms


def telling(tickets: Counter[str], terms: dict[str, Counter[str]]) -> dict[str, Counter[str]]:
    """The terms that are worth a row."""
    most = AT_MOST * sum(tickets.values())
    return {term: n for term, n in terms.items() if AT_LEAST <= sum(n.values()) <= most}


def table(tickets: Counter[str], terms: dict[str, Counter[str]]) -> dict[str, object]:
    """The content of the table."""
    source = f"{sum(tickets.values())} labelled tickets (tests/cases), counted by scripts/count_words.py"
    cited = {"sources": ["cases"], "status": "verified"}
    return {
        "schema": 1, "table": "words", "date": date.today().isoformat(), "sources": {"cases": source},
        "causes": [{"cause": cause, "tickets": n, **cited} for cause, n in sorted(tickets.items())],
        "terms": [{"term": term, "counts": dict(sorted(n.items()))} for term, n in sorted(terms.items())],
    }  # fmt: skip


def rendered(folders: Iterable[Path]) -> str:
    """The table of the tickets in these folders, as text."""
    tickets, terms = counted(folders)
    return table_text(table(tickets, telling(tickets, terms)))


if __name__ == "__main__":
    raise SystemExit(command(__doc__, TABLE, rendered))

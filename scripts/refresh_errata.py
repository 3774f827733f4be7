"""What to look at again in the table of errata.

refresh_errata.py                       list it; exit 1 if there is anything
refresh_errata.py --today 2027-01-31    as of another day than the newest date of the tables

Four lists, from the tables alone:
  fixed     the release with the fix was not out when the row was last looked at, and is now in tables/releases.json
  newer     no fix is known, and releases came after the newest one that is known to have the fault
  stale     no fix is known, and the sources were last read more than a year ago
  untried   a row of a kind that a computation can show has no trigger
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.knowledge import lookup  # noqa: E402
from doctor.knowledge.errata import Erratum, is_stale, newest_in  # noqa: E402
from doctor.knowledge.load import TABLES, table  # noqa: E402
from doctor.knowledge.versions import compared  # noqa: E402

SHOWABLE = ("wrong-result", "nan", "crash", "leak", "hang", "error")


def to_look_at(rows: Iterable[Erratum], today: str) -> Iterator[tuple[str, str, str]]:
    """(list, id, why) of what has changed since a row was last looked at, or is due."""
    for erratum in rows:
        released = lookup.release_date(erratum.fixed_in) if erratum.fixed_in else None
        if released and erratum.looked < released <= today:
            yield "fixed", erratum.id, f"torch {erratum.fixed_in} came out on {released}: try it, and look again"
        newest = newest_in(erratum.versions)
        if erratum.fixed_in is None and newest:
            later = [
                v for v in lookup.torch_versions(as_of=today)
                if compared(v) > compared(newest) and (lookup.release_date(v) or "") > erratum.looked
            ]  # fmt: skip
            if later:
                yield "newer", erratum.id, f"known up to {newest}; since then: {', '.join(later)}"
        if is_stale(erratum, today):
            yield "stale", erratum.id, f"no fix is known, last looked at {erratum.looked}"
        if not erratum.trigger and erratum.severity == "grave" and erratum.kind in SHOWABLE:
            yield "untried", erratum.id, f"{erratum.kind} without a trigger"


def main(arguments: list[str]) -> int:
    """Exit code 0; 1 where a row is to be looked at (those without a trigger do not count)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--today", default=max(table(name)["date"] for name in TABLES))
    today = parser.parse_args(arguments).today
    due = 0
    for name, id, why in sorted(to_look_at(lookup.errata(), today)):
        print(f"{name:<8} {id:<44} {why}")
        due += name != "untried"
    print(f"{due} rows to look at again, as of {today}")
    return 1 if due else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

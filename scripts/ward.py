"""The ward: build its cache, list its beds, run them.

python scripts/ward.py build                 fetch wheels (about 4 GB) and make the base environments (about 9 GB)
python scripts/ward.py list                  beds and what is expected of them
python scripts/ward.py run [BED ...]         those, or --all: check, fix, undo; writes docs/ward.md
python scripts/ward.py page                  docs/ward.md, from what was kept

The cache lies in .cache/ward, or where TORCHDOCTOR_WARD says. Needs Linux; beds with mounts and limits need root.
Exit code 1 where a bed is not as it was written down.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ward.bed import Bed, all_beds  # noqa: E402
from tests.ward.page import page  # noqa: E402
from tests.ward.results import keep  # noqa: E402
from tests.ward.stay import Row, stay  # noqa: E402
from tests.ward.store import BASES, Store, interpreter  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("build", "list", "run", "page"))
    parser.add_argument("beds", nargs="*", metavar="BED")
    parser.add_argument("--all", action="store_true", help="run all beds")
    parser.add_argument("--no-fix", action="store_true", help="only examine")
    parser.add_argument("--after", metavar="BED", help="with --all: only those that come after this one")
    parser.add_argument("--forget", action="store_true", help="don't keep the results")
    options = parser.parse_intermixed_args()
    store = Store.configured()
    if options.what == "build":
        store.build()
    elif options.what == "list":
        for bed in all_beds():
            print(f"{bed.name:34} {bed.id or 'nothing':24} {bed.says}")
    elif options.what == "page":
        write_page()
    else:
        return run(options, store)
    return 0


def run(options: argparse.Namespace, store: Store) -> int:
    known = {bed.name: bed for bed in all_beds()}
    if unknown := sorted(set(options.beds) - set(known)):
        sys.exit(f"ward.py: there is no bed {', '.join(unknown)} (ward.py list)")
    if not options.beds and not options.all:
        sys.exit("ward.py: name beds, or say --all")
    chosen = [known[name] for name in options.beds] or list(known.values())
    if options.after:
        chosen = chosen[[bed.name for bed in chosen].index(options.after) + 1 :]
    failed = 0
    for bed in chosen:
        if reason := cannot(bed, store):
            print(f"{bed.name:34} skipped: {reason}")
            continue
        row = stay(bed, store, fixes=not options.no_fix)
        failed += not row.right
        print(told(row), flush=True)
        if not options.forget and not any(p.startswith("the bed can't be made") for p in row.problems):
            keep([row])
    if not options.forget:
        write_page()
    return 1 if failed else 0


def cannot(bed: Bed, store: Store) -> str | None:
    """Why a bed can't be made here."""
    if not store.has(bed.base):
        return f"the cache has no environment {bed.base} (Python {BASES[bed.base].python}): scripts/ward.py build"
    for program in bed.needs:
        if program.startswith("python:"):
            found: object = importlib.util.find_spec(program[7:])
        else:
            found = interpreter(program[6:]) if program.startswith("python") else shutil.which(program)
        if not found:
            return f"there is no {program}"
    return None


def told(row: Row) -> str:
    cured = {None: "", True: "cured", False: "NOT CURED"}[row.cured]
    undone = {None: "", True: "undone", False: "NOT UNDONE"}[row.undone]
    words = " ".join(word for word in (row.verdict, ",".join(row.named), row.action, cured, undone) if word)
    return f"{row.bed:34} {'ok ' if row.right else 'BAD'} {row.seconds:5.1f} s  {words}  {'; '.join(row.problems)}"


def write_page() -> None:
    (ROOT / "docs" / "ward.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

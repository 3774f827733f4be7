"""The ward on a machine with NVIDIA GPUs: things are broken on purpose, and the verdicts compared with a table.

python scripts/ward_gpu.py --list                        the rows, and what is expected of each
python scripts/ward_gpu.py --output DIR --jobs 6         run them; results in DIR/ward_gpu.json and DIR/ward_gpu.md
python scripts/ward_gpu.py --output DIR --only libcuda   rows whose group or name contains this
python scripts/ward_gpu.py --output DIR --only full      the full probe's rows, a minute each

A run goes on where the file in DIR ends; --again runs all rows anew. Needs Linux and a Python with torch and CUDA; rows
with mounts need root. No setting of the driver or a GPU is touched. Exit code 1 where a row is not as it was written
down, 3 where some could not be run in time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.ward.gpu.machine import machine  # noqa: E402
from tests.ward.gpu.page import page  # noqa: E402
from tests.ward.gpu.results import described, keep, kept, left_to_run  # noqa: E402
from tests.ward.gpu.row import Row  # noqa: E402
from tests.ward.gpu.rows import FOLDERS, PREFIX, rows, shown  # noqa: E402
from tests.ward.gpu.run import Result, run  # noqa: E402

WARM = "import torch; torch.cuda.init(); print(torch.__version__, torch.cuda.get_device_name(0))"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python with torch (default: this one)")
    parser.add_argument("--output", type=Path, default=Path("."), help="the folder for the results (default: here)")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="rows with this word (repeatable)")
    parser.add_argument("--jobs", type=int, default=1, help="rows at once (default: 1)")
    parser.add_argument("--seconds", type=float, default=480.0, help="begin no row after so many (default: 480)")
    parser.add_argument("--again", action="store_true", help="also run rows that have a result")
    parser.add_argument("--list", action="store_true", help="print the rows, and run nothing")
    options = parser.parse_args()
    started = time.monotonic()
    try:
        here = machine(options.python)
        file = options.output / "ward_gpu.json"
        said = kept(file)
    except (RuntimeError, ValueError, OSError) as error:
        sys.exit(f"ward_gpu.py: {error}")
    with tempfile.TemporaryDirectory(dir=FOLDERS, prefix=PREFIX) as folder:
        os.chmod(folder, 0o755)
        table = rows(here, Path(folder))
        words = [word.lower() for word in options.only]
        chosen = [row for row in table if is_chosen(row, words)]
        if options.list:
            return listed(chosen)
        options.output.mkdir(parents=True, exist_ok=True)
        said["machine"] = described(here)
        warm_up(options.python)
        todo = left_to_run(chosen, said, again=options.again)
        begun = 0
        for result in results(todo, options, started):
            begun += 1
            keep(file, said, result)
            (options.output / "ward_gpu.md").write_text(page(table, said), encoding="utf-8")
            tell(result)
    wrong = [row for row in chosen if row.name in said["rows"] and said["rows"][row.name]["problems"]]
    cannot = [row for row in chosen if row.missing]
    print(f"{len(chosen)} rows, {begun} run now, {len(wrong)} not as they should be, {len(cannot)} can't be run here; "
          f"{time.monotonic() - started:.0f} s")  # fmt: skip
    if wrong:
        return 1
    return 3 if begun < len(todo) else 0


def is_chosen(row: Row, words: list[str]) -> bool:
    """All rows, or those that a word names; the full probe only by its name."""
    named = any(word in f"{row.group} {row.name}".lower() for word in words)
    return named or not (words or row.full)


def listed(table: list[Row]) -> int:
    for row in table:
        print(f"{row.group:12} {row.name:52} {row.expected}, exit {row.code}, {row.limit_s:g} s")
        print(f"{'':12} {shown(row)[:160]}{f'   NOT HERE: {row.missing}' if row.missing else ''}")
    print(f"{len(table)} rows, {sum(bool(row.missing) for row in table)} of them can't be run here")
    return 0


def warm_up(python: str) -> None:
    """Read torch's files once: on a fresh machine this takes longer than everything that is measured."""
    started = time.monotonic()
    done = subprocess.run([python, "-c", WARM], capture_output=True, text=True, timeout=300, check=False)
    said = done.stdout.strip() or " ".join(done.stderr.split())[-160:]
    print(f"{said} ({time.monotonic() - started:.1f} s)", flush=True)


def results(todo: list[Row], options: argparse.Namespace, started: float) -> Iterator[Result]:
    """Run rows side by side, then those that must be alone; none begins when the time is over."""

    def one(row: Row) -> Result | None:
        return run(row, options.python) if time.monotonic() - started < options.seconds else None

    for alone in (False, True):
        with ThreadPoolExecutor(1 if alone else max(1, options.jobs)) as pool:
            for done in as_completed([pool.submit(one, row) for row in todo if row.alone is alone]):
                if result := done.result():
                    yield result


def tell(result: Result) -> None:
    found = ", ".join(result.faults[:3]) or result.verdict or "no verdict"
    print(f"{'ok ' if result.right else 'BAD'} {result.seconds:5.1f} s  exit {result.code}  {result.row}: {found}"
          + "".join(f"\n      {problem}" for problem in result.problems), flush=True)  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())

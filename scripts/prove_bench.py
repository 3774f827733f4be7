#!/usr/bin/env python
"""Show that the benchmark calls each injected fault by its name, and a healthy cell healthy.

    scripts/prove_bench.py [--times 10] [--device cpu] [--one-child] [FAULT …]

Needs TORCHDOCTOR_TEST_PYTHON, an interpreter with torch. The faults are those of tests/inside/faulty_bench.py, put into
cells that the benchmark's own child code runs. Exit code 1 where one was not called right.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.model.bench import Row  # noqa: E402
from tests.inside.bench_faults import FAULTS, faulty_rows  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--one-child", action="store_true", help="All runs in one child: torch is imported once.")
    parser.add_argument("faults", nargs="*", choices=[*FAULTS, []], metavar="FAULT")
    options = parser.parse_args()
    python = os.environ.get("TORCHDOCTOR_TEST_PYTHON")
    if not python:
        parser.error("TORCHDOCTOR_TEST_PYTHON is not set")
    here = [n for n, fault in FAULTS.items() if options.device == "cpu" or not fault.only_cpu]
    names = options.faults or here
    right: Counter[str] = Counter()
    wrong: dict[str, Row] = {}
    said: dict[str, str] = {}
    started = time.perf_counter()
    each = options.times if options.one_child else 1
    for _ in range(options.times // each):  # all faults in turn: what disturbs the machine hits each
        for name, row in faulty_rows(python, options.device, names * each):
            holds = FAULTS[name].holds(row)
            right[name] += holds
            print(f"{time.perf_counter() - started:6.0f} s  {name}: {'right' if holds else 'WRONG'}", flush=True)
            if holds:
                said[name] = row.gate.why or next((r.text for r in row.reasons), f"ok, {row.timing and 'timed'}")
            else:
                wrong[name] = row
    print(f"\n| fault on {options.device} | called right | as |\n| --- | --- | --- |")
    for name in names:
        print(f"| {name} | {right[name]} of {options.times} | {said.get(name, '')} |")
    print(f"\n{time.perf_counter() - started:.0f} s")
    for name, row in wrong.items():
        print(f"{name}: {row.gate.status} {row.gate.why} {[r.text for r in row.reasons]}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

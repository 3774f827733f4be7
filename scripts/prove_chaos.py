"""Thousands of examinations of recorded machines, with commands that fail, hang, flood, lie, or speak another language.

python scripts/prove_chaos.py [--seed N] [--runs 2000] [--machine NAME] [-v]

Of each machine every command goes wrong in every way, alone; then sets of three are drawn by the seed, until there are
so many runs. Nothing is started: recorded answers are played in one process (tests/chaos). Exit code 1 where a law of
tests/chaos/laws.py is broken; `--only K` repeats run K.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.chaos.faults import FAULTS  # noqa: E402
from tests.chaos.laws import broken  # noqa: E402
from tests.chaos.played import MACHINES, Command, Machine  # noqa: E402

Run = tuple[Machine, dict[Command, str]]


def runs(machines: list[Machine], chance: Random, count: int) -> Iterator[Run]:
    """Every command alone in every way, then sets of three."""
    made = 0
    for machine in machines:
        for command in machine.commands:
            for fault in FAULTS:
                yield machine, {command: fault}
                made += 1
    while made < count:
        machine = chance.choice(machines)
        commands = chance.sample(machine.commands, k=min(3, len(machine.commands)))
        yield machine, {command: chance.choice(list(FAULTS)) for command in commands}
        made += 1


def one(machine: Machine, spoiled: dict[Command, str], seed: str) -> tuple[str, list[str]]:
    """(the verdict, the laws that were broken)"""
    chance = Random(seed)
    play = {c: lambda answer, how=how: FAULTS[how](answer, chance) for c, how in spoiled.items()}
    try:
        report = machine.examined(play)
        return report.verdict, list(broken(machine, spoiled, report))
    except Exception:
        return "none", [f"no report: {traceback.format_exc(limit=-3)}"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--machine", action="append", help="only this one (repeatable)")
    parser.add_argument("--only", type=int, help="only this run")
    parser.add_argument("-v", "--verbose", action="store_true", help="name every run")
    options = parser.parse_args()
    names = options.machine or sorted(p.parent.name for p in MACHINES.glob("*/machine.json"))
    machines = [Machine.recorded(name) for name in names]
    started, verdicts, failed = time.monotonic(), Counter[str](), 0
    slowest = 0.0
    for number, (machine, spoiled) in enumerate(runs(machines, Random(options.seed), options.runs)):
        if options.only not in (None, number):
            continue
        since = time.monotonic()
        verdict, laws = one(machine, spoiled, f"{options.seed} {number}")
        slowest = max(slowest, time.monotonic() - since)
        verdicts[verdict] += 1
        failed += bool(laws)
        if laws or options.verbose:
            told = "; ".join(f"{' '.join(c)[:60]} {how}" for c, how in spoiled.items())
            print(f"{number} {machine.name}: {told}: {verdict}")
            for law in laws:
                print(f"    {law}")
    total = sum(verdicts.values())
    print(
        f"seed {options.seed}: {total} runs on {len(machines)} machines in {time.monotonic() - started:.0f} s (the "
        f"slowest {slowest:.1f} s), {dict(verdicts)}; {failed} broke a law"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

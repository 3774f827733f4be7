"""How fast tickets are read and judged: scripts/bench_evidence.py [--rounds N]

Prints, as JSON: one ticket of 10 kB in a fresh process against --help (ms; as text, and as redacted JSON), tickets a
second in one process (reading alone; the whole examination and the line that a folder of tickets gets for it; the same
with the fixes and the report in JSON, as it is redacted and as it is), and what an examination costs in runs of a plain
Python loop. Times are those of the processor, where the system tells them, and the best of some rounds, in which the
measures take turns: other programs change them less. As in the command, Python's garbage collector is asked seldom.
Exit code 1 if a limit is missed: 100 ms beyond --help, 300 tickets of a folder a second.
The commands run with their byte code cached, as an installed program's is, whatever PYTHONDONTWRITEBYTECODE says here.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from doctor.cli import check  # noqa: E402
from doctor.cli.main import COLLECTED_EVERY  # noqa: E402
from doctor.evidence.read import read  # noqa: E402
from doctor.model.report import Report  # noqa: E402
from doctor.pipeline import Request, examine  # noqa: E402

BEYOND_HELP_MS = 100.0
TICKETS_PER_S = 300.0
SIZE = 10_000  # bytes of the single ticket


def main() -> int:
    """Measure, print, compare with the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="of each measure; the best one counts")
    options = parser.parse_args()
    gc.set_threshold(COLLECTED_EVERY)
    tickets = [p.read_bytes() for p in sorted((ROOT / "tests/cases/bank").glob("*/*/input.txt"))]
    commands = {"help_ms": ["--help"], "ticket_ms": [], "ticket_json_ms": ["--json"]}
    works = {"read_per_s": _read, "examined_per_s": _examine, "json_per_s": _in_json, "redacted_per_s": _redacted}
    said: dict[str, float] = {
        **{name: round(ms, 1) for name, ms in best_ms(commands, one_ticket(tickets), options.rounds).items()},
        **{name: round(per_s) for name, per_s in per_second(tickets, works, options.rounds).items()},
        "loops_a_ticket": round(loops_a_ticket(tickets), 3),
    }
    said["beyond_help_ms"] = round(said["ticket_ms"] - said["help_ms"], 1)
    print(json.dumps(said))
    return int(said["beyond_help_ms"] > BEYOND_HELP_MS or said["examined_per_s"] < TICKETS_PER_S)


def one_ticket(tickets: list[bytes]) -> bytes:
    """A real ticket, padded with a log to SIZE bytes."""
    ticket = max((t for t in tickets if len(t) < SIZE), key=len)
    log = b"".join(b"step %05d  loss 0.12345  lr 0.0001  12.3 it/s\n" % i for i in range(SIZE // 40))
    return (log + ticket)[-SIZE:]


def best_ms(commands: dict[str, list[str]], ticket: bytes, rounds: int) -> dict[str, float]:
    """Best time of each command, in ms: of the program's help, and of a check of the ticket with options. They take
    turns, so that what other programs do meets all of them."""
    best = dict.fromkeys(commands, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "ticket.txt")
        path.write_bytes(ticket)
        environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(Path(folder, "code"))}
        for turn in range(1 + rounds):
            for name, options in commands.items():
                arguments = options if "--help" in options else ["check", "--from", str(path), *options]
                started = _clock()
                subprocess.run([sys.executable, "-m", "doctor", *arguments], cwd=ROOT, env=environ,
                               capture_output=True, timeout=60, check=False)  # fmt: skip
                if turn:  # the first one compiles
                    best[name] = min(best[name], (_clock() - started) * 1000)
    return best


def _clock() -> float:
    """Seconds that the children of this process computed; elsewhere those that went by."""
    if resource is None:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def per_second(tickets: list[bytes], works: dict[str, Callable[[bytes], object]], rounds: int) -> dict[str, float]:
    """Tickets a second in this process, of each work in its best round after one to warm up. They take turns, too."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(1 + rounds):
        for name, work in works.items():
            started = time.process_time()
            for ticket in tickets:
                work(ticket)
            best[name] = min(best[name], time.process_time() - started)
    return {name: len(tickets) / seconds for name, seconds in best.items()}


def loops_a_ticket(tickets: list[bytes], rounds: int = 3) -> float:
    """CPU time of a whole examination, in runs of a loop of a million additions in Python: a number that a busy or a
    slower machine changes little."""
    best = float("inf")
    for _ in range(rounds):
        started, total = time.process_time(), 0
        for i in range(1_000_000):
            total += i % 7
        loop, started = time.process_time() - started, time.process_time()
        for ticket in tickets:
            _examine(ticket)
        best = min(best, (time.process_time() - started) / len(tickets) / loop)
    return best


def _read(ticket: bytes) -> object:
    return read((("ticket", ticket),))


def _examine(ticket: bytes) -> object:
    return check._OF_FOLDERS["terminal"](_report(ticket, fixes=False), {})


def _in_json(ticket: bytes) -> object:
    return check._OF_FOLDERS["json"](_report(ticket), {"no_redact": True})


def _redacted(ticket: bytes) -> object:
    return check._OF_FOLDERS["json"](_report(ticket), {"quiet": True})


def _report(ticket: bytes, *, fixes: bool = True) -> Report:
    return examine(Request(evidence=(("ticket", ticket),), plugins=None, fixes=fixes))


if __name__ == "__main__":
    raise SystemExit(main())

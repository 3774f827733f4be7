"""Put each fault of a table into real runs of torchdoctor fleet on gloo, and count how often it is named at its place.

python scripts/prove_fleet.py FOLDER [--times 20] [--clean 100] [--only NAME ...] [--jobs 4] [--seed 0] [--until S]
python scripts/prove_fleet.py FOLDER --table

Every run leaves its records in FOLDER, so that the work can be done in pieces: what is there is not run again, and the
table is made by judging all records anew. A seed draws which rank is sick, and the order. Needs
TORCHDOCTOR_TEST_PYTHON, a Python with torch. Every rank is a host of its own (tests/fleet/hosts.py), which needs root
on Linux; elsewhere all is skipped, with the reason. A run counts as right where something is found, and everything that
is found is at the right place. Exit code 1 where a run was not right.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.fleet import merge  # noqa: E402
from doctor.model.fleet import FleetReport  # noqa: E402
from tests.fleet import hosts  # noqa: E402

PYTHON = os.environ.get("TORCHDOCTOR_TEST_PYTHON", sys.executable)
MAIN = ROOT / "doctor" / "fleet" / "__main__.py"
FAULTY = ROOT / "tests" / "fleet" / "faulty.py"
LIMITS = ("--limit", "20", "--join-limit", "60", "--device-limit", "60")
RUN_S = 400.0  # far beyond the sum of the limits: a run that takes longer has failed
CLEAN = "clean"
FILL = "mount -t tmpfs -o size=128k none /dev/shm && head -c 131072 /dev/zero > /dev/shm/full"
LINK = "{link}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault of one rank, and what it is to be called. `ids`: one of them must be told; `places`: all that is told
    must name one of these ({host}, {rank}: of the sick rank; {link}: the sick link, either way). `fault`: of
    tests/fleet/faulty.py; `net`: of the link between two nodes; `noisy`: it may also be not measured, and said so."""

    name: str
    ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ("{host}",)
    fault: str = ""
    ranks: int = 3
    environ: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    absent: bool = False
    before: str = ""  # a shell command, run before the rank
    truncated: bool = False
    net: str = ""
    stages: str = "BC"
    noisy: bool = False


CASES = (
    Case(name="corrupts one element", ids=("fleet-collective-wrong", "fleet-node-links"), fault="corrupt"),
    Case(name="85 % of the speed", ids=("device-slow",), fault="speed:0.85", ranks=5, stages="A", noisy=True),
    Case(name="dies in A", ids=("fleet-rank-died",), fault="die-A", stages="ABC"),
    Case(name="dies in B", ids=("fleet-rank-died",), fault="die-B"),
    Case(name="dies in C", ids=("fleet-rank-died",), fault="die-C"),
    Case(name="its process dies", ids=("fleet-rank-died",), fault="gone"),
    Case(name="hangs in A", ids=("fleet-rank-hung",), fault="hang-A", options=("--device-limit", "20"), stages="ABC"),
    Case(name="hangs in B", ids=("fleet-rank-hung",), fault="hang-B"),
    Case(name="hangs in C", ids=("fleet-rank-hung",), fault="hang-C"),
    Case(name="never joins", ids=("fleet-rank-missing",), places=("{host}", "{rank}"), absent=True),
    Case(name="wrong MASTER_ADDR", ids=("fleet-config-differs", "fleet-rendezvous-failed"),
         environ=(("MASTER_ADDR", "192.0.2.1"),)),
    Case(name="another torch", ids=("fleet-config-differs",), fault="other-torch"),
    Case(name="a clock ten minutes off", ids=("fleet-clock-differs",), fault="clock"),
    Case(name="full /dev/shm", ids=("shared-memory-too-small",), before=FILL),
    Case(name="unwritable output", ids=("fleet-output-unwritable",), options=("--output", "/proc/none")),
    Case(name="truncated record", ids=("fleet-record-damaged",), places=("{host}", "{rank}"), truncated=True),
    Case(name="a link of 200 Mbit/s", ids=("fleet-link-slow",), places=(LINK,), net="rate"),
    Case(name="a link that drops packets", ids=("fleet-link-slow", "fleet-link-broken"), places=(LINK,), net="loss"),
    Case(name=CLEAN, ranks=4, stages="ABC"),
)  # fmt: skip
BY_NAME = {case.name: case for case in CASES}


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a case: all that was drawn for it, and how it went. `late`: ranks that had not ended after RUN_S."""

    case: str
    number: int
    seed: int
    sick: int  # of a link its lower end; -1: nobody
    commit: str = ""
    at: str = ""
    seconds: float = 0.0
    late: int = 0
    problem: str = ""  # why it could not be run


def drawn(case: Case, number: int, seed: int) -> Run:
    """Rank 0 keeps the meeting point, and so is never the one that is absent or gone; links are those of the others."""
    draw = random.Random(f"{seed} {case.name} {number}")
    sick = -1 if case.name == CLEAN else 1 if case.net else draw.randrange(1, case.ranks)
    return Run(case=case.name, number=number, seed=seed, sick=sick)


def planned(cases: Sequence[Case], times: int, clean: int, seed: int) -> Iterator[Run]:
    """All runs, in rounds of every case once, each round in an order of its own, so that no case has a quiet hour."""
    of_case = {case.name: clean if case.name == CLEAN else times for case in cases}
    rounds = max(times, 1)
    for number in range(rounds):
        one = [
            drawn(case, k, seed) for case in cases
            for k in range(of_case[case.name] * number // rounds, of_case[case.name] * (number + 1) // rounds)
        ]  # fmt: skip
        random.Random(f"{seed} {number}").shuffle(one)
        yield from one


def path_of(folder: Path, run: Run) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in run.case)
    return folder / f"{name}-{run.seed}-{run.number:03d}"


# ---- a run

_numbers = iter(range(os.getpid() % 200 * 200, 1 << 30))
_lock = threading.Lock()


def perform(planned: Run, folder: Path, commit: str) -> Run:
    """Run all ranks; what they leave and how it went are in the folder."""
    case, path = BY_NAME[planned.case], path_of(folder, planned)
    shutil.rmtree(path, ignore_errors=True)  # of a run that was broken off
    path.mkdir(parents=True)
    with _lock:
        number = next(_numbers)
    own_network = bool(case.net) or (case.name == CLEAN and planned.number % 2 == 1)
    started, late, problem = time.monotonic(), 0, ""
    try:
        with ExitStack() as stack:
            names: list[str] = []
            if own_network:
                link = (1, 2) if case.net else None
                names = stack.enter_context(hosts.network(case.ranks, number, link, case.net))
            late = start_all(case, planned.sick, path / "out", names, hosts.address(number, 0))
    except OSError as error:
        problem = str(error)
    seconds = round(time.monotonic() - started, 1)
    if case.truncated and not problem:
        record = path / "out" / f"rank-{planned.sick:05d}.json"
        record.write_bytes(record.read_bytes()[:300])
    at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    done = Run(case=case.name, number=planned.number, seed=planned.seed, sick=planned.sick, commit=commit, at=at,
               seconds=seconds, late=late, problem=problem)  # fmt: skip
    (path / "run.json").write_text(json.dumps(vars(done)), encoding="utf-8")
    return done


def start_all(case: Case, sick: int, out: Path, names: Sequence[str], address: str) -> int:
    """Run all ranks; how many were still there after RUN_S."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    children = []
    for rank in range(case.ranks):
        bad = rank == sick and not case.net
        if bad and case.absent:
            continue
        program = [str(FAULTY), case.fault, "--"] if bad and case.fault else [str(MAIN)]
        words = [PYTHON, *program, "--output", str(out), "--backend", "gloo", "--no-merge", *LIMITS, "--stages",
                 case.stages, *(case.options if bad else ())]  # fmt: skip
        environ = {
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(case.ranks), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": address if names else "127.0.0.1", "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "eth0" if names else "lo", **dict(case.environ if bad else ()),
        }  # fmt: skip
        words = hosts.as_host(words, f"node{rank}", names[rank] if names else "", case.before if bad else "")
        children.append(
            subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
        )  # fmt: skip
    until, late = time.monotonic() + RUN_S, 0
    for child in children:
        try:
            child.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            late += 1
            child.kill()
            child.wait()
    return late


# ---- what came of it


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`how`: "named", "noisy" (nothing told, and the rank is not measured because of noise), "clean", "not right"."""

    run: Run
    how: str
    told: list[str]


def outcome(run: Run, folder: Path) -> Outcome:
    """A run, judged from its records."""
    case, path = BY_NAME[run.case], path_of(folder, run)
    if run.problem or run.late:
        return Outcome(run=run, how="not right", told=[run.problem or f"{run.late} ranks did not end"])
    try:
        report = merge.merge(str(path / "out"), expect=case.ranks, hosts=[f"node{i}" for i in range(case.ranks)])
    except merge.NothingThere as error:
        return Outcome(run=run, how="not right", told=[str(error)])
    told = [f for f in report.findings if not f.because]
    return Outcome(run=run, how=how_it_went(case, run.sick, report),
                   told=[f"{f.id} at {f.subject}: {f.text}" for f in told])  # fmt: skip


def how_it_went(case: Case, sick: int, report: FleetReport) -> str:
    """One of Outcome.how. Named: something of the fault is told, at its place, and nothing anywhere else."""
    told = [(f.id, f.subject) for f in report.findings if not f.because]
    if case.name == CLEAN:
        return "not right" if told else "clean"
    ends = (f"node{sick}", f"node{sick + 1}")
    link = [f"{a} {arrow} {b}" for a, b in (ends, ends[::-1]) for arrow in ("<->", "->")]
    places = [p.format(host=ends[0], rank=f"rank {sick}", link=LINK) for p in case.places]
    places = [p for place in places for p in (link if place == LINK else [place])]
    if any(id in case.ids for id, _ in told) and all(any(p in subject for p in places) for _, subject in told):
        return "named"
    gpu = next((g for g in report.gpus if g.rank == sick), None)
    noisy = gpu is not None and gpu.verdict == "not-measured" and "noisy" in gpu.why
    return "noisy" if case.noisy and not told and noisy else "not right"


def recorded(folder: Path) -> list[Run]:
    """All runs that came to their end, by their time."""
    runs = [Run(**json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*/run.json")]
    return sorted((r for r in runs if r.case in BY_NAME), key=lambda r: r.at)


def table(outcomes: Sequence[Outcome]) -> str:
    """Markdown: a line a case."""
    heads = ("fault", "runs", "named right", "not measured (noisy)", "not right", "longest run")
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for case in CASES:
        mine = [o for o in outcomes if o.run.case == case.name]
        if mine:
            right, noisy, wrong = (
                sum(o.how in how for o in mine) for how in (("named", "clean"), ("noisy",), ("not right",))
            )
            longest = f"{max(o.run.seconds for o in mine):.0f} s"
            cells = (case.name, len(mine), right, noisy or "", wrong or "", longest)
            lines.append(f"| {' | '.join(map(str, cells))} |")
    seeds = ", ".join(sorted({str(o.run.seed) for o in outcomes}))
    commits = ", ".join(dict.fromkeys(o.run.commit for o in outcomes))
    lines.append(f"\nSeed {seeds}; from {outcomes[0].run.at} to {outcomes[-1].run.at}; commits {commits}.")
    return "\n".join(lines)


def current_commit() -> str:
    words = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--until", type=float, default=1e9, help="seconds after which no run is begun")
    parser.add_argument("--commit", default=current_commit(), help="what is noted as the version, outside a checkout")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args(arguments)
    if not given.table:
        if why := hosts.why_not():
            print(f"skipped: every case, because {why}")
            return 0
        wanted = [c for c in CASES if not given.only or any(word in c.name for word in given.only)]
        plan = [run for run in planned(wanted, given.times, given.clean, given.seed)
                if not (path_of(given.folder, run) / "run.json").exists()]  # fmt: skip
        ends, stop = time.monotonic() + given.until, threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stop.set())  # what runs goes on to its end, nothing is begun

        def one(run: Run) -> None:
            if time.monotonic() < ends and not stop.is_set():
                made = outcome(perform(run, given.folder, given.commit), given.folder)
                print(f"{made.how}: {run.case} {run.number}, {made.run.seconds:.0f} s {made.told}", flush=True)

        with ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(one, plan))
    outcomes = [outcome(run, given.folder) for run in recorded(given.folder)]
    for made in outcomes:
        if made.how == "not right":
            print(f"not right: {path_of(given.folder, made.run).name}: {made.told}")
    if outcomes:
        print(table(outcomes))
    return 1 if any(made.how == "not right" for made in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

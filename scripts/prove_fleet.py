"""Put each fault of a table into real runs of torchdoctor fleet on gloo, and count how often it is named at its place.

python scripts/prove_fleet.py [--times 20] [--only NAME ...] [--jobs 2] [--clean 100] [--json FILE]

Needs TORCHDOCTOR_TEST_PYTHON, a Python with torch. Every rank is a host of its own by its name (a UTS namespace), the
two faults of links are in network namespaces joined by veth pairs and a bridge: both need root and Linux, and are
skipped otherwise, with the reason. All that is made is removed again. A run counts as right where something is found,
and everything that is found is at the right place. Exit code 1 where a run was not right.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.fleet import merge  # noqa: E402
from doctor.model.fleet import FleetReport  # noqa: E402

PYTHON = os.environ.get("TORCHDOCTOR_TEST_PYTHON", sys.executable)
MAIN = ROOT / "doctor" / "fleet" / "__main__.py"
FAULTY = ROOT / "tests" / "fleet" / "faulty.py"
LIMITS = ("--limit", "12", "--join-limit", "25", "--device-limit", "30")
KEEP = bool(os.environ.get("PROVE_FLEET_KEEP"))  # the folders of the runs, to look at
RUN_S = 300.0  # far beyond the sum of the limits: a run that takes longer has failed


@dataclass
class Case:
    """A fault: what the sick rank runs with, and where it is to be found. `ids`: one of them must be told; `places`:
    all that is told must name one of these (with `{host}` of the sick rank)."""

    name: str
    ids: tuple[str, ...]
    places: tuple[str, ...] = ("{host}",)
    fault: str = ""
    ranks: int = 3
    sick: int = 1
    environ: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    absent: bool = False
    shell: str = ""  # run before the rank, in its mount namespace
    after: Callable[[Path], None] | None = None
    others: str = ""  # a fault of all the others
    net: str = ""  # tc of the link between rank 1 and rank 2
    stages: str = "ABC"


def truncate(folder: Path) -> None:
    path = folder / "rank-00001.json"
    path.write_bytes(path.read_bytes()[:300])


FILL = "mount -t tmpfs -o size=128k none /dev/shm && head -c 131072 /dev/zero > /dev/shm/full; "
CASES = (
    Case("corrupts one element", ("fleet-collective-wrong", "fleet-node-links"), fault="corrupt", stages="BC"),
    Case("85 % of the speed", ("device-slow",), fault="speed:0.085", others="speed:0.1", ranks=5, sick=2),
    Case("dies in A", ("fleet-rank-died",), fault="die-A"),
    Case("dies in B", ("fleet-rank-died",), fault="die-B", stages="BC"),
    Case("dies in C", ("fleet-rank-died",), fault="die-C", stages="BC"),
    Case("its process dies", ("fleet-rank-died",), fault="gone"),
    Case("hangs in A", ("fleet-rank-hung",), fault="hang-A", options=("--device-limit", "8")),
    Case("hangs in B", ("fleet-rank-hung",), fault="hang-B", stages="BC"),
    Case("hangs in C", ("fleet-rank-hung",), fault="hang-C", stages="BC"),
    Case("never starts", ("fleet-rank-missing",), places=("{host}", "rank 1"), absent=True, stages="BC"),
    Case("wrong MASTER_ADDR", ("fleet-config-differs", "fleet-rendezvous-failed"),
         environ={"MASTER_ADDR": "192.0.2.1"}, stages="BC"),
    Case("another torch", ("fleet-config-differs",), fault="other-torch", stages="BC"),
    Case("a clock ten minutes off", ("fleet-clock-differs",), fault="clock", stages="BC"),
    Case("full /dev/shm", ("shared-memory-too-small",), shell=FILL, stages="BC"),
    Case("unwritable output", ("fleet-output-unwritable",), options=("--output", "/proc/none"), stages="BC"),
    Case("truncated record", ("fleet-record-damaged",), places=("{host}", "rank 1"), after=truncate, stages="BC"),
    Case("a link of 200 Mbit/s", ("fleet-link-slow",), places=("node1 <-> node2", "node1 -> node2", "node2 -> node1"),
         net="rate", stages="BC"),
    Case("a link that drops packets", ("fleet-link-slow", "fleet-link-broken"),
         places=("node1 <-> node2", "node1 -> node2", "node2 -> node1"), net="loss", stages="BC"),
)  # fmt: skip
CLEAN = Case("clean", (), sick=-1)


@dataclass
class Outcome:
    """How one run went."""

    case: str
    right: bool
    seconds: float
    told: list[str]
    note: str = ""


# ---- hosts


def can_make_hosts() -> str:
    """"" where namespaces can be made, else why not."""
    if sys.platform != "linux" or os.geteuid():
        return "it needs root on Linux"
    for program in ("unshare", "ip", "tc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    done = subprocess.run(["unshare", "-u", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "namespaces cannot be made here"


@contextmanager
def network(count: int, kind: str, number: int) -> Iterator[list[str]]:
    """Network namespaces on a bridge, one a node, with the link between the second and the third as bad as wanted. The
    names of the namespaces. All is removed again."""
    bridge, names = f"tdb{number}", [f"tdf{number}n{i}" for i in range(count)]
    made: list[list[str]] = []

    def ip(*words: str) -> None:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")

    try:
        ip("ip", "link", "add", bridge, "type", "bridge")
        made.append(["ip", "link", "del", bridge])
        ip("ip", "link", "set", bridge, "up")
        for i, name in enumerate(names):
            ip("ip", "netns", "add", name)
            made.append(["ip", "netns", "del", name])
            ip("ip", "link", "add", f"tdv{number}n{i}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("ip", "link", "set", f"tdv{number}n{i}", "master", bridge, "up")
            inside = ("ip", "netns", "exec", name)
            ip(*inside, "ip", "addr", "add", f"10.213.{number % 250}.{i + 1}/24", "dev", "eth0")
            ip(*inside, "ip", "link", "set", "eth0", "up")
            ip(*inside, "ip", "link", "set", "lo", "up")
        if kind:
            for one, other in ((1, 2), (2, 1)):
                tc = ("ip", "netns", "exec", names[one], "tc")
                ip(*tc, "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "10")
                ip(*tc, "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:10", "htb", "rate", "10gbit")
                rate = "200mbit" if kind == "rate" else "10gbit"
                ip(*tc, "class", "add", "dev", "eth0", "parent", "1:", "classid", "1:20", "htb", "rate", rate)
                if kind == "loss" and not drops(*tc, "qdisc", "add", "dev", "eth0", "parent", "1:20"):
                    raise OSError("this kernel has neither netem nor tbf")
                ip(*tc, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst",
                   f"10.213.{number % 250}.{other + 1}/32", "flowid", "1:20")  # fmt: skip
        yield names
    finally:
        for words in reversed(made):
            subprocess.run(words, capture_output=True, check=False)


def drops(*tc: str) -> bool:
    """Make a class drop packets: a quarter at random; where the kernel has no netem, all that does not fit in a queue
    of a few packets."""
    ways = (("netem", "loss", "25%"), ("tbf", "rate", "100mbit", "burst", "8k", "limit", "10k"))
    return any(subprocess.run([*tc, *way], capture_output=True, check=False).returncode == 0 for way in ways)


# ---- a run

_numbers = iter(range(os.getpid() % 200 * 200, 1 << 30))
_lock = threading.Lock()


def run(case: Case, namespaces: bool) -> Outcome:
    """One run of all its ranks, judged."""
    with _lock:
        number = next(_numbers)
    folder = Path(tempfile.mkdtemp(prefix="prove-fleet-"))
    started = time.monotonic()
    try:
        if case.net:
            with network(case.ranks, case.net, number) as names:
                late = start_all(case, folder / "out", names, f"10.213.{number % 250}.1", namespaces)
        else:
            late = start_all(case, folder / "out", [], "127.0.0.1", namespaces)
        seconds = time.monotonic() - started
        if case.after:
            case.after(folder / "out")
        hosts = [f"node{i}" for i in range(case.ranks)] if namespaces else ()
        report = merge.merge(str(folder / "out"), expect=case.ranks, hosts=hosts)
        return judged(case, report, seconds, late)
    except (OSError, merge.NothingThere) as error:
        return Outcome(case.name, False, time.monotonic() - started, [], str(error))
    finally:
        if KEEP:
            print(f"{case.name}: {folder}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def start_all(case: Case, out: Path, names: Sequence[str], address: str, namespaces: bool) -> int:
    """Run all ranks; how many were still there after RUN_S."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    children = []
    for rank in range(case.ranks):
        sick = rank == case.sick
        if sick and case.absent:
            continue
        fault = case.fault if sick else case.others
        program = [str(FAULTY), fault, "--"] if fault else [str(MAIN)]
        words = [PYTHON, *program, "--output", str(out), "--backend", "gloo", "--no-merge", *LIMITS]
        words += ["--stages", case.stages, *(case.options if sick else ())]
        environ = {
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(case.ranks), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1",
            "MASTER_ADDR": address, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "eth0" if names else "lo",
            **(case.environ if sick else {}),
        }  # fmt: skip
        if namespaces:
            shell = f"hostname node{rank} && {case.shell if sick else ''} exec \"$@\""
            words = ["unshare", "-u", "-m", "sh", "-c", shell, "sh", *words]
        if names:
            words = ["ip", "netns", "exec", names[rank], *words]
        children.append(
            subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             start_new_session=True)
        )  # fmt: skip
    until = time.monotonic() + RUN_S
    late = 0
    for child in children:
        try:
            child.wait(max(0.1, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            late += 1
            child.kill()
            child.wait()
    return late


def judged(case: Case, report: FleetReport, seconds: float, late: int) -> Outcome:
    """Right: nothing of a clean run is told; of a fault something is, at its place and nowhere else."""
    told = [(f.id, f.subject, f.text) for f in report.findings if not f.because]
    shown = [f"{id} at {subject}: {text}" for id, subject, text in told]
    if late:
        return Outcome(case.name, False, seconds, shown, f"{late} ranks did not end")
    if not case.ids:
        return Outcome(case.name, not told, seconds, shown)
    host = f"node{case.sick}"
    places = [place.format(host=host) for place in case.places]
    named = any(id in case.ids for id, _, _ in told)
    right = named and all(any(place in subject for place in places) for _, subject, _ in told)
    return Outcome(case.name, right, seconds, shown)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--clean", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--until", type=float, help="seconds after which no run is begun")
    given = parser.parse_args(arguments)
    why = can_make_hosts()
    if why:
        print(f"skipped: every case, because {why}")
        return 0
    wanted = [c for c in CASES if not given.only or any(word in c.name for word in given.only)]
    plan = [case for _ in range(given.times) for case in wanted]
    clean = given.clean if not given.only or "clean" in given.only else 0
    step = max(1, len(plan) // max(1, clean))
    for i in range(clean):
        plan.insert(min(len(plan), i * (step + 1)), CLEAN)
    ends = time.monotonic() + (given.until or 1e9)
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for outcome in pool.map(lambda c: run(c, True) if time.monotonic() < ends else None, plan):
            if outcome is None:
                continue
            outcomes.append(outcome)
            if not outcome.right:
                print(f"NOT RIGHT  {outcome.case}: {outcome.note} {outcome.told}", flush=True)
            if given.json:
                Path(given.json).write_text(json.dumps([vars(o) for o in outcomes], indent=1))
    count, right = Counter(o.case for o in outcomes), Counter(o.case for o in outcomes if o.right)
    longest = {name: max(o.seconds for o in outcomes if o.case == name) for name in count}
    for name in [c.name for c in (*CASES, CLEAN)]:
        if name in count:
            print(f"{name:28} {right[name]:3} of {count[name]:3} right, longest run {longest[name]:.0f} s")
    return 0 if sum(right.values()) == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

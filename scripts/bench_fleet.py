"""How long the records of a large fleet take to be merged, in how much memory, and whether every fault is found.

python scripts/bench_fleet.py [--nodes 1024] [--gpus 8] [--faults 0.01] [--seed 0]

Simulated records (tests/fleet/simulated.py) of two GPU models, with noise, and with faults of six kinds in one per cent
of the nodes. Exit code 1 where a fault was not found, somebody else was accused, or the merge took more than 30 s of a
CPU or 1 GB: it is one process, and the clock on the wall also counts what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.fleet import folder  # noqa: E402
from tests.fleet import simulated as sim  # noqa: E402

SECONDS, BYTES = 30.0, 1e9
# In a process of its own, so that its memory is that of the merge alone.
MERGE = """
import json, resource, sys, time
sys.path.insert(0, sys.argv[1])
from doctor.fleet.merge import merge
from doctor.fleet.outputs import write_all
started, cpu = time.perf_counter(), time.process_time()
report = merge(sys.argv[2], expect=int(sys.argv[3]), hosts=sys.argv[4].split(","))
merged, worked = time.perf_counter() - started, time.process_time() - cpu
write_all(report, sys.argv[2])
print(json.dumps({
    "merged_s": merged, "cpu_s": worked, "all_s": time.perf_counter() - started,
    "memory_bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, "verdict": report.verdict,
    "links": report.links_measured,
    "told": [[f.id, f.kind, f.subject, list(f.hosts)] for f in report.findings if not f.because],
}))
"""


def plant(records: sim.Records, nodes: list[str], draw: random.Random) -> dict[str, tuple[str, tuple[str, ...]]]:
    """One fault for each of the nodes, the six kinds in turn: {node: (kind, the ids it may have)}."""
    planted = {}
    for number, host in enumerate(nodes):
        ranks = [r for r, one in records.items() if one.host == host]
        rank = draw.choice(ranks)
        kind = number % 6
        if kind == 0:
            sim.slow_gpu(records, rank, 0.87)
            planted[host] = ("slow GPU", ("device-slow",))
        elif kind == 1:
            sim.slow_network(records, host, 0.6)
            planted[host] = ("slow adapter", ("fleet-node-links",))
        elif kind == 2:
            sim.other_torch(records, host)
            planted[host] = ("another torch", ("fleet-config-differs",))
        elif kind == 3:
            sim.memory_errors(records, rank)
            planted[host] = ("memory errors", ("gpu-hardware-fault",))
        elif kind == 4:
            sim.wrong_part(records, rank)
            planted[host] = ("wrong results", ("fleet-collective-wrong",))
        else:
            sim.missing_node(records, host)
            planted[host] = ("missing node", ("fleet-rank-missing",))
    return planted


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=1024)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--faults", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="a folder for the records and the report")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    records = sim.fleet(given.nodes, given.gpus, models=("H200", "A100"), seed=given.seed)
    world = given.nodes * given.gpus
    hosts = [records[node * given.gpus].host for node in range(given.nodes)]
    # Not the first and the last: they are the collectors, and their records are long.
    sick = draw.sample(hosts[1:-1], max(6, round(given.faults * given.nodes)))
    planted = plant(records, sick, draw)
    path = Path(given.keep or tempfile.mkdtemp(prefix="bench-fleet-"))
    try:
        for record in records.values():
            if why := folder.write(str(path), record):
                raise SystemExit(why)
        size = sum(p.stat().st_size for p in path.glob("rank-*.json"))
        words = [sys.executable, "-c", MERGE, str(ROOT), str(path), str(world), ",".join(hosts)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    finally:
        if not given.keep:
            shutil.rmtree(path, ignore_errors=True)
    result = json.loads(done.stdout)
    found = {host for host, (_, ids) in planted.items()
             if any(id in ids and host in accused for id, _, _, accused in result["told"])}  # fmt: skip
    wrongly = [(id, subject) for id, _, subject, accused in result["told"] if not set(accused) & set(planted)]
    print(f"{given.nodes} nodes x {given.gpus} GPUs of two models, {size / 1e6:.0f} MB of records, "
          f"{result['links']} links, {len(planted)} faults of six kinds")  # fmt: skip
    print(f"found {len(found)} of {len(planted)}, {len(wrongly)} accused wrongly {wrongly[:5]}")
    for host in sorted(set(planted) - found):
        print(f"  not found: {host}, {planted[host][0]}")
    print(f"merged in {result['merged_s']:.1f} s ({result['cpu_s']:.1f} s of a CPU), with all files in "
          f"{result['all_s']:.1f} s, {result['memory_bytes'] / 1e6:.0f} MB; verdict {result['verdict']}")  # fmt: skip
    good = len(found) == len(planted) and not wrongly
    return 0 if good and result["cpu_s"] <= SECONDS and result["memory_bytes"] <= BYTES else 1


if __name__ == "__main__":
    sys.exit(main())

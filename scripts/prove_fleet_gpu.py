"""torchdoctor fleet on one machine with several GPUs: right, fast, and faults named. Prints JSON.

python scripts/prove_fleet_gpu.py FOLDER [--only NAME ...]

Records and reports go to FOLDER. The Python that runs this is the target: it needs torch with NCCL. Exit code 1 where
something that was proved is not so.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.fleet.launch import free_port  # noqa: E402

MAIN, FAULTY = ROOT / "doctor" / "fleet" / "__main__.py", ROOT / "tests" / "fleet" / "faulty.py"
WITHIN = 0.05  # of the bandwidth of the loop written by hand
LONGEST_S = 90.0  # stages A to C
ELEMENTS = 10**9  # of the operations of which one is wrong

# All-reduce of 1 GiB, 20 times after 5: the loop that everybody writes.
BY_HAND = """
import os, time, torch, torch.distributed as dist
rank, count = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", init_method="tcp://127.0.0.1:" + os.environ["MASTER_PORT"], rank=rank, world_size=count,
                        device_id=torch.device("cuda", rank))
x = torch.ones(1 << 28, dtype=torch.int32, device="cuda")
for _ in range(5):
    dist.all_reduce(x)
best = None
for _ in range(3):
    dist.barrier(); torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(20):
        dist.all_reduce(x)
    torch.cuda.synchronize()
    took = (time.perf_counter() - started) / 20
    best = took if best is None else min(best, took)
if rank == 0:
    print("BUSBW", 4 * x.numel() / best * 2 * (count - 1) / count / 1e9)
dist.destroy_process_group()
"""
LOAD = """
import sys, torch
x = torch.randn(8192, 8192, device=sys.argv[1], dtype=torch.bfloat16)
print("busy", flush=True)
while True:
    for _ in range(50):
        y = x @ x
    torch.cuda.synchronize()
"""


def local(folder: Path, *options: str) -> tuple[dict[str, Any], float]:
    """torchdoctor fleet --local: (its report, seconds)."""
    started = time.monotonic()
    words = [sys.executable, "-m", "doctor", "fleet", "--local", "--python", sys.executable, "--output", str(folder)]
    done = subprocess.run([*words, "--json", *options], cwd=ROOT, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    sys.stderr.write(done.stderr[-3000:])
    return json.loads(done.stdout), seconds


def ranks(folder: Path, count: int, environ: Mapping[int, Mapping[str, str]], faults: Mapping[int, str],
          *options: str) -> dict[str, Any]:  # fmt: skip
    """Ranks started one by one, some with another environment or a fault; the report of what they left."""
    from doctor.fleet.merge import merge
    from doctor.reports.fleet.json import render

    port = free_port()
    children = []
    for rank in range(count):
        program = [str(FAULTY), faults[rank], "--"] if rank in faults else [str(MAIN)]
        mine = {
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            **environ.get(rank, {}),
        }  # fmt: skip
        words = [sys.executable, *program, "--output", str(folder), "--no-merge", *options]
        children.append(subprocess.Popen(words, env=mine, cwd=ROOT))
    for child in children:
        child.wait(240)
    report: dict[str, Any] = json.loads(render(merge(str(folder), expect=count)))
    return report


def told(report: Mapping[str, Any]) -> list[str]:
    return [f"{f['id']} at {f['subject']}: {f['text']}" for f in report["findings"] if not f["because"]]


def only(report: Mapping[str, Any], id: str, place: str) -> dict[str, Any]:
    """Right where this finding is told at its place, and nothing else: consequences accuse nobody."""
    found = told(report)
    follows = [f"{f['id']} at {f['subject']}: {f['text']}" for f in report["findings"] if f["because"]]
    return {"told": found, "because_of_that": follows,
            "ok": bool(found) and all(f.startswith(id) and place in f for f in found)}  # fmt: skip


def by_hand(count: int) -> float:
    """GB/s of the loop written by hand."""
    port = str(free_port())
    children = [
        subprocess.Popen([sys.executable, "-c", BY_HAND], stdout=subprocess.PIPE, text=True, cwd="/",
                         env={**os.environ, "RANK": str(r), "WORLD_SIZE": str(count), "MASTER_PORT": port})
        for r in range(count)
    ]  # fmt: skip
    lines = [child.communicate(timeout=120)[0] for child in children]
    return float(next(line.split()[1] for text in lines for line in text.splitlines() if line.startswith("BUSBW")))


# ---- what is proved


def clean(folder: Path, count: int) -> dict[str, Any]:
    """All pairs and operations right, nobody accused, in time, and the bandwidth that a loop by hand gives."""
    before = by_hand(count)
    report, seconds = local(folder)
    after = by_hand(count)
    busbw = {c["name"]: c["busbw_gbs"] for c in report["collectives"]}
    hand = max(before, after)
    stages = []
    for path in sorted(folder.glob("rank-*.json")):
        stages.append({s["name"]: s["seconds"] for s in json.loads(path.read_text())["stages"]})
    right = all(c["verdict"] == "pass" for c in report["collectives"]) and len(report["collectives"]) == 4
    pairs = [link for link in report["links"] if link["verdict"] == "pass"]
    return {
        "verdict": report["verdict"], "told": told(report), "seconds": seconds, "stages_s": stages, "busbw_gbs": busbw,
        "by_hand_gbs": [before, after], "ratio": busbw.get("all-reduce", 0) / hand, "pairs": len(pairs),
        "pair_gbs": [min(p["gbs"] for p in pairs), max(p["gbs"] for p in pairs)] if pairs else None,
        "rates": [g["rates"] for g in report["gpus"]], "not_judged": report["not_judged"],
        "ok": right and len(pairs) == count * (count - 1) and not told(report)
        and abs(busbw.get("all-reduce", 0) / hand - 1) <= WITHIN
        and max(sum(s.values()) for s in stages) <= LONGEST_S,
    }  # fmt: skip


def hidden(folder: Path, count: int) -> dict[str, Any]:
    """A variable hides the last GPU from the last rank."""
    shown = ",".join(map(str, range(count - 1)))
    report = ranks(folder, count, {count - 1: {"CUDA_VISIBLE_DEVICES": shown}}, {}, "--join-limit", "60")
    return only(report, "gpu-hidden", f"(rank {count - 1})")


def foreign(folder: Path, count: int) -> dict[str, Any]:
    """Another program computes on GPU 1."""
    load = subprocess.Popen([sys.executable, "-c", LOAD, "cuda:1"], stdout=subprocess.PIPE, text=True, cwd="/")
    try:
        assert load.stdout
        load.stdout.readline()
        time.sleep(3)
        report, _ = local(folder)
    finally:
        load.kill()
        load.wait()
    return only(report, "gpu-busy", "GPU 1 ")


def corrupt(folder: Path, count: int) -> dict[str, Any]:
    """Rank 2 (of two GPUs rank 1) sends one wrong element of a thousand million."""
    sick = min(2, count - 1)
    large = ("--collective-bytes", str(4 * ELEMENTS))
    report = ranks(folder, count, {}, {sick: "corrupt"}, "--stages", "BC", "--backend", "nccl", *large)
    found = told(report)
    return {"told": found, "ok": bool(found) and all(f"(rank {sick})" in f for f in found)}


def hang(folder: Path, count: int) -> dict[str, Any]:
    """Rank 1 does not come back from an all-gather."""
    report = ranks(folder, count, {}, {1: "hang-C"}, "--stages", "BC", "--backend", "nccl", "--limit", "15")
    found = told(report)
    return {"told": found, "ok": bool(found) and all("(rank 1)" in f for f in found)}


PROOFS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "clean": clean, "hidden": hidden, "foreign": foreign, "corrupt": corrupt, "hang": hang,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="*", default=list(PROOFS))
    given = parser.parse_args()
    count = int(
        subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], capture_output=True,
                       text=True, check=True, cwd="/").stdout
    )  # fmt: skip
    results: dict[str, Any] = {"gpus": count}
    for name in given.only:
        started = time.monotonic()
        try:
            results[name] = PROOFS[name](given.folder / name, count)
        except Exception as error:  # the others go on
            results[name] = {"ok": False, "error": f"{type(error).__name__}: {error}"}
        results[name]["took_s"] = round(time.monotonic() - started, 1)
        print(json.dumps({name: results[name]}), flush=True)
        (given.folder / "results.json").write_text(json.dumps(results, indent=1))
    return 0 if all(r["ok"] for r in results.values() if isinstance(r, dict)) else 1


if __name__ == "__main__":
    sys.exit(main())

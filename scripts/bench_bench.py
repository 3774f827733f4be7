"""How true the benchmark's clock is: its step times against a plain, hand-written, synchronised loop in the same
process, and runs of one thing compared with each other (A/A).

    python scripts/bench_bench.py --python PATH [--device cuda:0] [--dtype fp32] [--workload mlp …]
    python scripts/bench_bench.py --python PATH [--device cuda:0] --pairs 10 [--suite mlp …] [--seconds N]

The plain loop is what a careful person writes: warm up, synchronise, take the time of many steps, synchronise. It uses
the workload's model, data and optimizer, and nothing of the benchmark's cell or meter. Both take turns.

A/A: each suite is run once more than there are pairs, and each run is compared with the one before it by the command's
own verdict. At most 5 % of the rows may be FASTER or SLOWER, and 95 % must be UNSURE or within 3 %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from doctor.bench.compare import SAME, compare  # noqa: E402
from doctor.model.bench import BenchReport  # noqa: E402
from doctor.reports.bench.json import parse  # noqa: E402

INSIDE = ROOT / "doctor" / "inside"
CHILD = r'''
import importlib.util, json, sys, time

inside, device, dtype, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
spec = importlib.util.spec_from_file_location("probe", inside + "/probe.py")
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
import torch

FILES = ["stages/monitor", "stages/training"]
FILES += ["bench/" + n for n in ("clock", "cell", "gate", "meter", "need", "operations", "loader", "run")]


def source(path):
    with open(inside + "/" + path + ".py") as file:
        return (path[len("stages/"):] if path.startswith("stages/") else path), file.read()


def synchronize():
    if device.startswith("cuda"):
        torch.cuda.synchronize()
    elif device == "mps":
        torch.mps.synchronize()
    elif device.startswith("xpu"):
        torch.xpu.synchronize()


def plain(cell, cells, start, steps):
    """A closure that gives the seconds of a step of a loop like anybody's."""
    model = cells.copied(start.model).to(device)
    work, trains = start.work, cell.trains
    model.train(trains)
    optimizer = cells.optimizer_of(torch, work, model.parameters()) if cell.spec["phase"] == "training" else None
    batches = [tuple(t.to(device) for t in start.drawn(cell.batch, n)) for n in (0, 1)]
    kind = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(dtype)
    autocast = torch.autocast(device.partition(":")[0], dtype=kind or torch.bfloat16, enabled=kind is not None)

    def step(inputs, targets):
        if not trains:
            with torch.no_grad(), autocast:
                return model(inputs)
        (optimizer or model).zero_grad()
        with autocast:
            loss = cells.loss_of(torch, work, model(inputs), targets)
        loss.backward()
        if optimizer is not None:
            optimizer.step()

    def measured():
        synchronize()
        started = time.perf_counter()
        for number in range(steps):
            step(*batches[number % 2])
        synchronize()
        return (time.perf_counter() - started) / steps

    return measured


def main():
    files = FILES + ["bench/workloads/" + n for n in ("bert_base", "resnet18")]
    files += ["bench/workloads/" + n.split(":")[0] for n in names if "bench/workloads/" + n.split(":")[0] not in files]
    pieces = probe.load_pieces([source(f) for f in files])
    pieces = pieces["bench/run"].by_short_names(pieces)
    one = probe.Probe(torch, device, 0)
    one.pieces = pieces
    cells, clock = pieces["cell"], pieces["clock"]
    others = {n.partition(".")[2]: p for n, p in pieces.items() if n.startswith("workloads.")}
    for name in names:
        workload, phase, batch = name.split(":")
        start = cells.Start(torch, pieces["workloads." + workload], None, 0, others)
        spec = {"phase": phase, "dtype": dtype, "compile": False, "channels_last": False}
        cell = cells.Cell(one, start, spec, int(batch))
        cell.prepare()
        meter = pieces["meter"].Meter(cell, pieces)
        meter.first_call()
        meter.calibrate()
        meter.warm_up(1.0, 2.0)
        ours, theirs = [], []
        plain_block = plain(cell, cells, start, meter.steps)
        began = time.perf_counter()
        while time.perf_counter() - began < 6 or len(ours) < 5:
            ours.append(meter.block())
            theirs.append(plain_block())
        print(json.dumps({"name": name, "ours_ms": 1000 * clock.median(ours), "plain_ms": 1000 * clock.median(theirs),
                          "ours": clock.interval(ours), "plain": clock.interval(theirs), "blocks": len(ours)}))


main()
'''


def against_a_plain_loop(python: str, device: str, dtype: str, workloads: list[str]) -> bool:
    """Print a line for each workload; whether all agree within 3 %, or their intervals overlap."""
    argv = [python, "-c", CHILD, str(INSIDE), device, dtype, *workloads]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    good = True
    for line in done.stdout.splitlines():
        row = json.loads(line)
        ratio = row["ours_ms"] / row["plain_ms"]
        overlap = row["ours"][0] <= row["plain"][1] and row["plain"][0] <= row["ours"][1]
        good &= abs(ratio - 1) <= 0.03 or overlap
        words = f"{row['ours_ms']:9.4g} ms, plain {row['plain_ms']:9.4g} ms, ratio {ratio:.4f}"
        print(f"{row['name']:32} {words}  ({row['blocks']} blocks each{', intervals overlap' if overlap else ''})")
    return good


def a_against_a(python: str, device: str, suites: list[str], pairs: int, seconds: int | None) -> bool:
    """Print a line for each row of each pair; whether few enough are called different though nothing has changed."""
    verdicts: Counter[str] = Counter()
    good = 0
    for suite in suites:
        reports: list[BenchReport] = []
        for _ in range(pairs + 1):
            with tempfile.NamedTemporaryFile(suffix=".json") as file:
                argv = [sys.executable, "-m", "doctor", "bench", "--suite", suite, "--json", "-o", file.name, "-q"]
                argv += ["--python", python, "--device", device] + (["--seconds", str(seconds)] if seconds else [])
                subprocess.run(argv, check=False, timeout=400, stdin=subprocess.DEVNULL, cwd=ROOT)
                reports.append(parse(Path(file.name).read_bytes()))
            for row in compare(*reports[-2:]).rows if len(reports) > 1 else ():
                if row.ratio is not None:
                    verdicts[row.verdict] += 1
                    good += row.verdict == "UNSURE" or 1 / SAME <= row.ratio <= SAME
                    words = f"{row.old_ms:9.4g} {row.new_ms:9.4g} ms  {row.ratio:.3f} ({row.low:.3f} to {row.high:.3f})"
                    print(f"{row.key:44} {words}  {row.verdict}", flush=True)
    total, false = verdicts.total(), verdicts["FASTER"] + verdicts["SLOWER"]
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    print(f"A/A, {total} rows: {said}; {good} within 3 % or UNSURE")
    return total > 0 and false <= 0.05 * total and good >= 0.95 * total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--pairs", type=int, default=0, help="A/A instead of the plain loop.")
    parser.add_argument("--suite", nargs="*", default=["mlp", "mnist"])
    parser.add_argument("--seconds", type=int, help="Of each run of A/A.")
    parser.add_argument("--workload", nargs="*", default=["mlp:forward-backward:1024", "mnist_cnn:training:64"],
                        help="FILE:PHASE:BATCH")  # fmt: skip
    options = parser.parse_args()
    if options.pairs:
        good = a_against_a(options.python, options.device, options.suite, options.pairs, options.seconds)
    else:
        good = against_a_plain_loop(options.python, options.device, options.dtype, options.workload)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

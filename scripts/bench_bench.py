"""How true the benchmark's clock is: its step times against a plain, hand-written, synchronised loop in the same
process, and the same report twice (A/A).

    python scripts/bench_bench.py --python PATH [--device cuda:0] [--dtype fp32] [--workload mlp …] [--pairs 5]

The plain loop is what a careful person writes: warm up, synchronise, take the time of many steps, synchronise. It uses
the workload's model, data and optimizer, and nothing of the benchmark's cell or meter. Both take turns. A/A: the
command `bench --suite mlp --quick` twice; a pair counts as false where the intervals of the two medians do not overlap
and the medians differ by more than 3 %. """

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

INSIDE = Path(__file__).resolve().parent.parent / "doctor" / "inside"
CHILD = r'''
import importlib.util, json, sys, time

inside, device, dtype, names = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
spec = importlib.util.spec_from_file_location("probe", inside + "/probe.py")
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
import torch

FILES = ["stages/monitor", "stages/training"]
FILES += ["bench/" + n for n in ("clock", "cell", "gate", "meter", "loader", "run")]


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


def a_against_a(python: str, device: str, pairs: int) -> bool:
    """The same report twice; whether at most 5 % of the pairs differ though nothing has changed."""
    false = total = 0
    for _ in range(pairs):
        reports = []
        for _ in range(2):
            with tempfile.NamedTemporaryFile(suffix=".json") as file:
                argv = [sys.executable, "-m", "doctor", "bench", "--suite", "mlp", "--json", "-o", file.name, "-q"]
                argv += ["--python", python, "--device", device]
                subprocess.run(argv, check=False, timeout=400, stdin=subprocess.DEVNULL)
                reports.append({row["key"]: row["timing"] for row in json.loads(Path(file.name).read_text())["rows"]})
        for key, a in reports[0].items():
            b = reports[1].get(key)
            if a and b:
                total += 1
                apart = a["low_ms"] > b["high_ms"] or b["low_ms"] > a["high_ms"]
                differs = apart and abs(a["median_ms"] / b["median_ms"] - 1) > 0.03
                false += differs
                print(f"{key:44} {a['median_ms']:9.4g} {b['median_ms']:9.4g} ms{'  differs' if differs else ''}")
    print(f"A/A: {false} of {total} pairs of rows differ")
    return false <= 0.05 * total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="fp32")
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--workload", nargs="*", default=["mlp:forward-backward:1024", "mnist_cnn:training:64"],
                        help="FILE:PHASE:BATCH")  # fmt: skip
    options = parser.parse_args()
    good = against_a_plain_loop(options.python, options.device, options.dtype, options.workload)
    if options.pairs:
        good &= a_against_a(options.python, options.device, options.pairs)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

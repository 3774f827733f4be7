#!/usr/bin/env python
"""What the quick probe costs, and how near its rates come to a long run of the same products.

    scripts/bench_probe.py [--python PYTHON] [--device cpu] [--seconds 30] [--times 5]

Prints milliseconds of all stages beside starting, import and opening the driver; the burst rate over the best rate of
the long run, and (with --full) the sustained rate over its mean; host memory beside torch's import, and device memory,
both at their highest. The ratios are of one run of this script, on the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from doctor.facts.system import System  # noqa: E402
from doctor.facts.target import Found  # noqa: E402
from doctor.model.facts import Facts, ProbeResult  # noqa: E402
from doctor.pipeline import Request  # noqa: E402
from doctor.probes import children  # noqa: E402
from doctor.probes.script import script  # noqa: E402

LIMITS = {"quick_ms": 1500, "device_gib": 2.0, "host_gib": 1.0, "ratio": 0.05}

# Run by the target: best and mean rate of a product over seconds, in blocks of at least 20 ms.
LONG_RUN = """
import json, sys, time, torch
device, kind, n, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
wait = (lambda: torch.cuda.synchronize(device)) if device.startswith("cuda") else (lambda: None)
x, y = [torch.randn(n, n, device=device).to(getattr(torch, kind)) for _ in range(2)]
out = torch.empty_like(x)
def run(times):
    started = time.perf_counter()
    for _ in range(times): torch.mm(x, y, out=out)
    wait()
    return time.perf_counter() - started
run(2)
times = 1 if device == "cpu" else max(1, int(0.02 / (run(3) / 3)))
time.sleep(2)
blocks, until = [], time.perf_counter() + seconds
while time.perf_counter() < until: blocks.append(run(times))
work = 2 * n ** 3 * times / 1e12
print(json.dumps({"best": work / min(blocks), "mean": work * len(blocks) / sum(blocks)}))
"""

# Run by the target: the quick probe in this process; then how much memory it took at its highest beside the import.
MEMORY = """
import os, resource, sys
import torch
torch.mm(torch.ones(256, 256), torch.ones(256, 256))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
script = open(sys.argv[1]).read().replace('if __name__ == "__main__":', 'if False:')
exec(compile(script, "probe", "exec"), globals())
quiet = type("Quiet", (Talk,), {"__init__": lambda self: None, "say": lambda self, **line: None})()
probe_device(torch, sys.argv[2], 0, "quick", quiet, load_pieces(PIECES))
host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
there = torch.cuda.max_memory_reserved(sys.argv[2]) if sys.argv[2].startswith("cuda") else 0
print(host / 2.0 ** 20, there / 2.0 ** 30)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=os.environ.get("TORCHDOCTOR_TEST_PYTHON"))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--full", action="store_true", help="also the sustained rate of --full")
    options = parser.parse_args()
    if not options.python:
        parser.error("--python or TORCHDOCTOR_TEST_PYTHON must name an interpreter with torch")
    probes = [probed(options.python, options.device, "quick") for _ in range(options.times)]
    costs = [sum(stage.ms for stage in probe.stages if stage.name != "open") for probe in probes]
    print(f"{options.device}: quick probe {statistics.median(costs):.0f} ms, {min(costs):.0f} to {max(costs):.0f}")
    host, there = memory(options.python, options.device)
    print(f"{options.device}: memory {host:.2f} GiB of the host, {there:.2f} GiB of the device")
    met = [min(costs) <= LIMITS["quick_ms"], host <= LIMITS["host_gib"], there <= LIMITS["device_gib"]]
    long = probed(options.python, options.device, "full") if options.full else None
    for kind in ("bfloat16", "float16", "float32"):
        size = probes[-1].data.get(f"{kind}_size")
        if size is None:
            continue
        reference = json.loads(run(options.python, LONG_RUN, options.device, kind, str(size), str(options.seconds)))
        burst = statistics.median(float(str(p.data[f"{kind}_tflops_burst"])) for p in probes)
        print(f"{options.device} {kind} {size}: burst {burst:.4g} of {reference['best']:.4g} TFLOP/s in "
              f"{options.seconds:g} s ({burst / reference['best']:.3f})")  # fmt: skip
        met.append(abs(1 - burst / reference["best"]) <= LIMITS["ratio"])
        if long is not None:
            mean = float(str(long.data[f"{kind}_tflops_mean"]))
            print(f"{options.device} {kind}: sustained {mean:.4g}, mean {reference['mean']:.4g} TFLOP/s "
                  f"({mean / reference['mean']:.3f})")  # fmt: skip
            met.append(abs(1 - mean / reference["mean"]) <= LIMITS["ratio"])
    print("within the limits" if all(met) else "NOT within the limits (a busy machine?)")
    return 0 if all(met) else 1


def probed(python: str, device: str, mode: str) -> ProbeResult:
    system, found = System.of_this_process(), Found(python=python, reason="to measure the probe")
    request = Request(devices=(device,), mode=mode)
    first = children.start_first(system, found, probe=True, request=request)
    facts = children.finish(first, system, found, Facts(), request=request, progress=lambda stage: None)
    result = next(probe for probe in facts.probes or () if probe.id == device)
    if result.status != "ok":
        raise SystemExit(f"{device}: {result.status}: {result.reason}")
    return result


def memory(python: str, device: str) -> tuple[float, float]:
    """GiB of the host and of the device."""
    path = ROOT / ".cache" / "probe-script.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(script("quick"))
    host, there = run(python, MEMORY, str(path), device).split()
    return float(host), float(there)


def run(python: str, script: str, *arguments: str) -> str:
    done = subprocess.run([python, "-c", script, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())

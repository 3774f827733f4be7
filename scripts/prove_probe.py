#!/usr/bin/env python
"""Show that the device probe finds what is wrong and accuses nobody.

    scripts/prove_probe.py faults [--times 20]        each injected fault so many times, on the CPU; prints a table
    scripts/prove_probe.py healthy [--times 300]      quick probes of this CPU, every third under load; prints the tally

Both need TORCHDOCTOR_TEST_PYTHON, an interpreter with torch. Exit code 1 where a fault was missed or a healthy device
was called faulty. The faults are those of tests/inside/faulty_stages.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from doctor.checks._speed import product_ratio  # noqa: E402
from doctor.checks.runner import judge  # noqa: E402
from doctor.facts.system import System  # noqa: E402
from doctor.facts.target import Found  # noqa: E402
from doctor.knowledge import speeds  # noqa: E402
from doctor.model.facts import Facts, Host, ProbeResult, Torch  # noqa: E402
from doctor.pipeline import Request  # noqa: E402
from doctor.probes import children  # noqa: E402

NAMED = {"TF32": 11, "bfloat16 for float32": 8}  # reduced precision: right when named, not when called wrong
SLOW = "a quarter of its speed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("faults", "healthy"))
    parser.add_argument("--times", type=int)
    parser.add_argument("--part", default="", help="only the faults whose name has this in it")
    options = parser.parse_args()
    python = os.environ.get("TORCHDOCTOR_TEST_PYTHON")
    if not python:
        parser.error("TORCHDOCTOR_TEST_PYTHON names no interpreter with torch")
    if options.what == "faults":
        return faults(python, options.times or 20, options.part)
    return healthy(python, options.times or 300)


def faults(python: str, times: int, part: str) -> int:
    """Run each fault with so many seeds. A slow device is judged by the check; a busy machine gives it no verdict."""
    inside = ROOT / "doctor" / "inside" / "probe.py"
    script = ROOT / "tests" / "inside" / "faulty_stages.py"
    argv = [python, "-B", str(script), str(inside), str(times), *([part] if part else [])]
    child = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert child.stdout
    tally: dict[str, Counter[str]] = {}
    for line in child.stdout:
        said = json.loads(line)
        tally.setdefault(said["fault"], Counter())[outcome(said)] += 1
    child.wait()
    for fault, counted in tally.items():
        words = ", ".join(f"{what} {count}" for what, count in sorted(counted.items()))
        print(f"{fault:58} {words}", flush=True)
    missed = sum(counted["missed"] + counted["accused"] for counted in tally.values())
    return 1 if missed or child.returncode else 0


def outcome(said: dict) -> str:
    """ "found", "missed", "no verdict (busy)"; of what is healthy "passed" or "accused"."""
    fault, data = said["fault"], said["data"]
    if fault.startswith("healthy "):
        return "accused" if said["wrong"] else "passed"
    if fault in NAMED:
        return "found" if data["bits"] == NAMED[fault] and not said["wrong"] else "missed"
    if fault != SLOW:
        return "found" if said["wrong"] else "missed"
    if data["busy"]:
        return "no verdict (busy)"
    probe = ProbeResult(id="cpu", device="cpu", status="ok", data=data)
    return "found" if judge(facts_of(probe), ("device-slow",))[1] else "missed"


@contextmanager
def load(busy: bool) -> Iterator[None]:
    """As many processes as there are CPUs, which do nothing but compute."""
    workers = [
        subprocess.Popen([sys.executable, "-c", "while True: sum(range(10000))"])
        for _ in range(os.cpu_count() or 1)
        if busy
    ]
    try:
        yield
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()


def healthy(python: str, times: int) -> int:
    tally: Counter[str] = Counter()
    rates: list[float] = []
    for number in range(times):
        loaded = number % 3 == 2
        with load(loaded):
            probe = quick(python)
        where = "loaded" if loaded else "unloaded"
        tally[f"{where} {probe.status}"] += 1
        if probe.status != "ok":
            print(number, where, probe.status, probe.reason, flush=True)
            continue
        tally[f"{where}: {verdict_of(probe)}"] += 1
        if not loaded:
            rates.append(float(str(probe.data["float32_tflops_burst"])))
        if number % 30 == 29:
            print(number + 1, dict(sorted(tally.items())), flush=True)
    print("probes", times)
    for what, count in sorted(tally.items()):
        print(f"  {what:32} {count}")
    if rates:
        print(f"  float32 burst, unloaded: {min(rates):.3f} to {max(rates):.3f} TFLOP/s")
    return 1 if any(key.endswith(("failed", "crashed", "timed-out")) for key in tally) else 0


def verdict_of(probe: ProbeResult) -> str:
    facts = facts_of(probe)
    measured = product_ratio(facts, probe)
    if judge(facts, ("device-slow",))[1]:
        return "called slow"
    if measured is None or (probe.data["busy"] and measured.ratio < speeds.OK):
        return "no verdict, under load"
    return "as fast as it should be" + (", though under load" if probe.data["busy"] else "")


def facts_of(probe: ProbeResult) -> Facts:
    flags = tuple(word for word in ("avx2", "fma", "avx512f") if word in Path("/proc/cpuinfo").read_text().split())
    return Facts(host=Host(cpu_flags=flags), torch=Torch(version="2.13.0+cpu", imports=True), probes=(probe,))


def quick(python: str) -> ProbeResult:
    system, found = System.of_this_process(), Found(python=python, reason="to prove the probe")
    request = Request(devices=("cpu",))
    first = children.start_first(system, found, probe=True, request=request)
    facts = children.finish(first, system, found, Facts(), request=request, progress=lambda stage: None)
    assert facts.probes
    return replace(facts.probes[0], stderr_tail="")


if __name__ == "__main__":
    sys.exit(main())

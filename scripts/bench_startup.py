"""What torchdoctor costs beside what it waits for, as ratios measured in one run, interleaved, with medians.

python scripts/bench_startup.py [--python PATH] [--rounds N] [--gpus]

PATH is an interpreter with torch; default TORCHDOCTOR_TEST_PYTHON, then .cache/torch-env. Exit code 1 where a limit is
exceeded. Times are wall-clock seconds of whole processes with warm disks. --gpus measures only `check` with the first
1, 2, 4, … GPUs of this machine, and where its time goes.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCTOR = [sys.executable, "-m", "doctor"]
HANG_LIMIT_S = 1.0  # more than where nvidia-smi answers or is not there
FIRST_LINE_LIMIT_S = 0.3
GPUS_LIMIT_S = 2.0  # more than importing torch
RSS_LIMIT_MB = 60.0
EXAMINE_LIMIT_MS = 50.0  # of the Python interface without a probe, more than importing torch


APPLICATION = "import doctor, argparse, dataclasses, json, logging, pathlib, re, socket, subprocess, tempfile"


def seconds(argv: list[str], environ: dict[str, str] | None = None) -> float:
    """Wall-clock time of a command; what it prints is thrown away."""
    started = time.perf_counter()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ, cwd=ROOT, check=False)
    return time.perf_counter() - started


def medians(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """Median time of each, measured in turns so that other load hits all alike; a first round warms the disks."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, argv in commands.items():
            took = seconds(argv)
            if number:
                times[name].append(took)
    return {name: statistics.median(t) for name, t in times.items()}


def peak_mb(argv: list[str]) -> float:
    """Peak resident memory of the doctor's own process: it says so itself at its end; its children don't count."""
    code = (
        "import resource, sys\n"
        "from doctor.cli.main import run\n"
        f"run({argv!r})\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "sys.stderr.write('peak %d' % (peak // 1024 if sys.platform == 'darwin' else peak))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    return int(done.stderr.rpartition("peak ")[2]) / 1024


def with_hanging_smi(python: str, rounds: int) -> float:
    """How much longer a check takes with an nvidia-smi first on PATH that never answers: the median difference."""
    with tempfile.TemporaryDirectory() as folder:
        smi = Path(folder, "nvidia-smi")
        smi.write_text("#!/bin/sh\nexec sleep 3600\n")
        smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
        environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        check = [*DOCTOR, "check", "--python", python]
        return statistics.median(seconds(check, environ) - seconds(check) for _ in range(rounds))


def first_line(python: str) -> float:
    """Seconds until a terminal shows the first line of a check."""
    import pty

    started = time.perf_counter()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execvpe(DOCTOR[0], [*DOCTOR, "check", "--python", python], {**os.environ, "TERM": "xterm"})
    seen, took = b"", float("inf")
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # Linux's way to say that it is over
            break
        seen += data
        if b"\n" in seen and took == float("inf"):
            took = time.perf_counter() - started
        if not data:
            break
    os.waitpid(pid, 0)
    os.close(terminal)
    return took


def at_once(argv: list[str], count: int) -> float:
    """Wall-clock time of so many of the same command, side by side."""
    started = time.perf_counter()
    running = [subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(count)]
    for one in running:
        one.wait()
    return time.perf_counter() - started


def gpu_rows(python: str, rounds: int) -> list[tuple[str, str, str, bool]]:
    """(what, measured, limit, kept) of checks that are limited to the first GPUs, and of all."""
    count = int(subprocess.run([python, "-c", "import torch; print(torch.cuda.device_count())"], capture_output=True,
                               text=True, check=True).stdout)  # fmt: skip
    imports = [python, "-c", "import torch"]
    seconds(imports)
    alone = statistics.median(seconds(imports) for _ in range(rounds))
    found = [("import torch", f"{alone:.2f} s", "", True)]
    for number in dict.fromkeys([n for n in (1, 2, 4, 8) if n < count] + [count]):
        devices = ["cpu", *(f"cuda:{i}" for i in range(number))] if number < count else []
        argv = [*DOCTOR, "check", "--json", "--python", python, *(w for d in devices for w in ("--device", d))]
        times, said = [], {}
        for _ in range(rounds):
            started = time.perf_counter()
            text = subprocess.run(argv, capture_output=True, text=True, cwd=ROOT, check=False).stdout
            times.append(time.perf_counter() - started)
            said = json.loads(text)
        over = statistics.median(times) - alone
        name = f"check - import torch, {number} GPU{'s' if number > 1 else ''}"
        found.append((name, f"{over:.2f} s", f"{GPUS_LIMIT_S:.2f} s", over <= GPUS_LIMIT_S))
        crowd = at_once(imports, number + 1)
        found.append((f"  {number + 1} imports of torch at once", f"{crowd:.2f} s", "", True))
        facts = said["facts"]
        found.append(("  import of the first child", f"{facts['torch']['import_ms'] / 1000:.2f} s", "", True))
        for probe in facts["probes"] or ():
            stages = sorted(probe["stages"], key=lambda stage: -stage["ms"])[:5]
            longest = ", ".join(f"{stage['name']} {stage['ms'] / 1000:.2f}" for stage in stages)
            total = sum(stage["ms"] for stage in probe["stages"]) / 1000
            found.append((f"  stages of {probe['device']}", f"{total:.2f} s", longest, True))
    return found


def rows(python: str, rounds: int) -> list[tuple[str, str, str, bool]]:
    """(what, measured, limit, kept)."""
    found = []

    def add(what: str, value: float, limit: float, show: Callable[[float], str]) -> None:
        found.append((what, show(value), show(limit), value <= limit))

    def times(ratio: float) -> str:
        return f"{ratio:.2f} x"

    light = medians({"help": [*DOCTOR, "--help"], "click": [sys.executable, "-c", "import click"]}, max(rounds, 9))
    add("--help : import click", light["help"] / light["click"], 2.0, times)
    heavy = medians(
        {
            "import": [python, "-c", "import torch"],
            "no-probe": [*DOCTOR, "check", "--no-probe", "--python", python],
            "check": [*DOCTOR, "check", "--python", python],
            "collect_env": [python, "-m", "torch.utils.collect_env"],
            # An application: what it has loaded already costs nothing more.
            "application": [sys.executable, "-c", APPLICATION],
            "examine": [sys.executable, "-c", f"{APPLICATION}; doctor.examine(python={python!r}, probe=False)"],
        },
        rounds,
    )
    add("check --no-probe : import torch", heavy["no-probe"] / heavy["import"], 1.15, times)
    add("check --no-probe : collect_env", heavy["no-probe"] / heavy["collect_env"], 1.0, times)
    over = heavy["examine"] - heavy["application"] - heavy["import"]
    add("examine(probe=False) - import torch", over * 1000, EXAMINE_LIMIT_MS, "{:.0f} ms".format)
    add("check - import torch", heavy["check"] - heavy["import"], 1.5, "{:.2f} s".format)
    for name, took in {**light, **heavy}.items():
        found.append((f"  {name}", f"{took:.3f} s", "", True))
    if os.name == "posix":
        hung = with_hanging_smi(python, rounds)
        add("check with a hanging nvidia-smi - check", hung, HANG_LIMIT_S, "{:.2f} s".format)
        line = statistics.median(first_line(python) for _ in range(rounds))
        add("first line on a terminal", line, FIRST_LINE_LIMIT_S, "{:.2f} s".format)
        add("peak memory of the doctor", peak_mb(["check", "--python", python]), RSS_LIMIT_MB, "{:.1f} MB".format)
    return found


def main() -> int:
    """Print the table; exit code 1 where a limit is exceeded."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    own = ROOT / ".cache" / "torch-env" / "bin" / "python"
    options.add_argument("--python", default=os.environ.get("TORCHDOCTOR_TEST_PYTHON") or str(own))
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--gpus", action="store_true", help="measure checks of several GPUs only")
    asked = options.parse_args()
    table = (gpu_rows if asked.gpus else rows)(asked.python, asked.rounds)
    for what, value, limit, kept in table:
        verdict = f"limit {limit:<10} {'ok' if kept else 'EXCEEDED'}" if limit[:1].isdigit() else limit
        print(f"{what:<40}{value:>12}   {verdict}".rstrip())
    return 0 if all(kept for *_, kept in table) else 1


if __name__ == "__main__":
    sys.exit(main())

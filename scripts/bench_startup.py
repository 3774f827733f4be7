"""What torchdoctor costs beside what it waits for, as ratios measured in one run, interleaved, with medians.

python scripts/bench_startup.py [--python PATH] [--rounds N]

PATH is an interpreter with torch; default TORCHDOCTOR_TEST_PYTHON, then .cache/torch-env. Exit code 1 where a limit is
exceeded. Times are wall-clock seconds of whole processes with warm disks.
"""

from __future__ import annotations

import argparse
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
HANG_LIMIT_S = 14.0
RSS_LIMIT_MB = 60.0


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


def with_hanging_smi(python: str) -> float:
    """Time of a check with an nvidia-smi first on PATH that never answers."""
    with tempfile.TemporaryDirectory() as folder:
        smi = Path(folder, "nvidia-smi")
        smi.write_text("#!/bin/sh\nexec sleep 3600\n")
        smi.chmod(smi.stat().st_mode | stat.S_IXUSR)
        environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
        return seconds([*DOCTOR, "check", "--python", python], environ)


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
        },
        rounds,
    )
    add("check --no-probe : import torch", heavy["no-probe"] / heavy["import"], 1.15, times)
    add("check --no-probe : collect_env", heavy["no-probe"] / heavy["collect_env"], 1.0, times)
    add("check - import torch", heavy["check"] - heavy["import"], 1.5, "{:.2f} s".format)
    for name, took in {**light, **heavy}.items():
        found.append((f"  {name}", f"{took:.3f} s", "", True))
    if os.name == "posix":
        add("check, nvidia-smi hangs", with_hanging_smi(python), HANG_LIMIT_S, "{:.1f} s".format)
        add("peak memory of the doctor", peak_mb(["check", "--python", python]), RSS_LIMIT_MB, "{:.1f} MB".format)
    return found


def main() -> int:
    """Print the table; exit code 1 where a limit is exceeded."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    own = ROOT / ".cache" / "torch-env" / "bin" / "python"
    options.add_argument("--python", default=os.environ.get("TORCHDOCTOR_TEST_PYTHON") or str(own))
    options.add_argument("--rounds", type=int, default=5)
    asked = options.parse_args()
    table = rows(asked.python, asked.rounds)
    for what, value, limit, kept in table:
        verdict = f"limit {limit:<10} {'ok' if kept else 'EXCEEDED'}" if limit else ""
        print(f"{what:<36}{value:>12}   {verdict}".rstrip())
    return 0 if all(kept for *_, kept in table) else 1


if __name__ == "__main__":
    sys.exit(main())

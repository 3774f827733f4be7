"""What is said of a machine with NVIDIA GPUs when something is broken on purpose: scripts/prove_gpu.py [--save FILE]

Every row runs `check --json` in a process of its own, with its own variables, limits or mount namespace (as root, by
unshare), and compares the first fault with what is expected. Nothing outside the row's processes is changed: no
setting of the machine, no file. Needs a Python with torch and CUDA, Linux, and root for the rows that mount.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 120
STUB = "/usr/local/cuda/lib64/stubs/libcuda.so"


@dataclass(frozen=True)
class Row:
    """One thing to break. `before`: shell commands in a new mount namespace; `wrap`: what starts the doctor.
    `right`: ids of which one must come first as a fault; () means: no fault. `verdict`: what must be said."""

    name: str
    right: tuple[str, ...] = ()
    verdict: str = "faulty"
    environ: dict[str, str] = field(default_factory=dict)
    before: str = ""
    wrap: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    gpus: int = 1
    noted: tuple[str, ...] = ()  # ids that must be among the findings


def hidden(value: str, **more: object) -> Row:
    return Row(f"CUDA_VISIBLE_DEVICES={value!r}", ("gpu-hidden",), environ={"CUDA_VISIBLE_DEVICES": value}, **more)  # type: ignore[arg-type]


def masked(node: str, *right: str, **more: object) -> Row:
    return Row(f"{node} masked", right, before=f"mount --bind /dev/null {node}", **more)  # type: ignore[arg-type]


def rows(folder: Path) -> list[Row]:
    """The table. `folder` is a place for files that the rows put before others."""
    empty, stub, stray, hanging = (folder / name for name in ("empty", "stub", "stray", "hanging"))
    for one in (empty, stub, stray, hanging):
        one.mkdir()
    (stub / "libcuda.so.1").symlink_to(STUB)
    (empty / "libcuda.so.1").touch()
    mismatch = "Failed to initialize NVML: Driver/library version mismatch"
    for place, text in ((stray, f"echo '{mismatch}'; exit 18"), (hanging, "sleep 600")):
        (place / "nvidia-smi").write_text(f"#!/bin/sh\n{text}\n")
        (place / "nvidia-smi").chmod(0o755)
    path = os.environ.get("PATH", "")
    healthy = [Row(f"healthy {n}", verdict="healthy") for n in range(1, 6)]
    unusable = "accelerator-unusable"
    return [
        *healthy,
        *(hidden(value) for value in ("", "-1", "7", "GPU-deadbeef", "MIG-1234", "0,0")),
        masked("/dev/nvidia0", "gpu-blocked-by-sandbox", unusable),
        masked("/dev/nvidiactl", "gpu-blocked-by-sandbox", unusable),
        masked("/dev/nvidia-uvm", "nvidia-uvm-broken", "gpu-blocked-by-sandbox"),
        Row("an empty libcuda first", ("library-path-conflict",), environ={"LD_LIBRARY_PATH": str(empty)}),
        Row("the toolkit's stub libcuda first", ("library-path-conflict",), environ={"LD_LIBRARY_PATH": str(stub)}),
        Row("CUDA_FORCE_PTX_JIT=1", ("harmful-variable",), environ={"CUDA_FORCE_PTX_JIT": "1"}),
        Row("a limit of 30 files", ("process-limits",), wrap=("prlimit", "--nofile=30")),
        Row("a limit of 4 GB of addresses", ("process-limits",), wrap=("prlimit", "--as=4294967296")),
        Row("a stray nvidia-smi that speaks of a mismatch", verdict="healthy", environ={"PATH": f"{stray}:{path}"}),
        Row("nvidia-smi hangs", verdict="healthy", environ={"PATH": f"{hanging}:{path}"}),
        Row("an unknown allocator option", ("harmful-variable",),
            environ={"PYTORCH_CUDA_ALLOC_CONF": "no_such_option:1"}),
        Row("--device cuda:7", ("requested-device-missing",), arguments=("--device", "cuda:7")),
        Row("--device cuda:0", verdict="unknown", arguments=("--device", "cuda:0")),
        Row("--no-probe", verdict="unknown", arguments=("--no-probe",)),
        Row("user nobody", verdict="healthy", wrap=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"),
            environ={"HOME": "/nonexistent"}),
        Row("no /tmp to write to", verdict="healthy", before="mount -t tmpfs -o ro none /tmp"),
        Row("HIP_VISIBLE_DEVICES empty", verdict="healthy", environ={"HIP_VISIBLE_DEVICES": ""}),
        Row("CUDA_LAUNCH_BLOCKING=1", verdict="healthy", environ={"CUDA_LAUNCH_BLOCKING": "1"}),
        Row("NVIDIA_VISIBLE_DEVICES=void, and the GPU works", verdict="healthy",
            environ={"NVIDIA_VISIBLE_DEVICES": "void"}),
        Row("no /sys", verdict="healthy", before="mount -t tmpfs none /sys"),
        Row("no /proc/driver", verdict="healthy", before="mount -t tmpfs none /proc/driver"),
        masked("/dev/nvidia1", "gpu-blocked-by-sandbox", unusable, gpus=2),
        Row("one of two hidden: 0,7", verdict="healthy", environ={"CUDA_VISIBLE_DEVICES": "0,7"}, gpus=2,
            noted=("gpu-hidden",)),
        Row("one of two hidden: 1", verdict="healthy", environ={"CUDA_VISIBLE_DEVICES": "1"}, gpus=2,
            noted=("gpu-hidden",)),
        hidden("0,0", gpus=2),
    ]  # fmt: skip


def run(row: Row, python: str) -> tuple[dict[str, object], float, int]:
    """The report of a row, its seconds and exit code."""
    check = [python, "-B", "-m", "doctor", "check", "--json", "--no-redact", "--python", python]
    argv = [*row.wrap, *check, *row.arguments]
    if row.before:
        argv = ["unshare", "-m", "sh", "-c", f"{row.before}; exec {shlex.join(argv)}"]
    started = time.monotonic()
    environ = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", **row.environ}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_S, check=False, env=environ)
    except subprocess.TimeoutExpired:
        return {"verdict": f"no answer in {LIMIT_S} s", "findings": []}, LIMIT_S, -1
    seconds = time.monotonic() - started
    try:
        return json.loads(done.stdout), seconds, done.returncode
    except ValueError:
        return {"verdict": "no report: " + done.stderr[-300:], "findings": []}, seconds, done.returncode


def is_right(row: Row, report: dict[str, object]) -> bool:
    found = report["findings"]
    assert isinstance(found, list)
    faults = [f["id"] for f in found if f["severity"] == "fault"]
    named = all(id in [f["id"] for f in found] for id in row.noted)
    if row.right:
        return bool(faults) and faults[0] in row.right and named
    return not faults and report["verdict"] == row.verdict and named


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python to examine (default: this one)")
    parser.add_argument("--save", type=Path, help="write the reports there, a JSON line each")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    options = parser.parse_args()
    count = len([n for n in os.listdir("/dev") if n.startswith("nvidia") and n[6:].isdigit()])
    wrong = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        for row in rows(Path(folder)):
            if options.only not in row.name or row.gpus > count:
                continue
            report, seconds, code = run(row, options.python)
            right = is_right(row, report)
            wrong += not right
            found = report["findings"]
            assert isinstance(found, list)
            said = ", ".join(f"{f['severity']} {f['id']}" for f in found[:3]) or "nothing"
            print(f"{'ok ' if right else '!! '} {seconds:5.1f} s  exit {code}  {row.name}: {report['verdict']}; {said}",
                  flush=True)  # fmt: skip
            if not right:
                print(f"       expected {'/'.join(row.right) or row.verdict}; unproven {report.get('unproven')}")
            if options.save:
                with options.save.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"row": row.name, "right": right, "report": report}) + "\n")
    print(f"{wrong} rows are not as they should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())

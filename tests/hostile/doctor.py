"""Runs the installed command against a target that means harm, and measures what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.probes.fakes import LEAST as TORCH

MARK = "HOSTILE_TEST"
MEMORY_MB = 300


@dataclass
class Ran:
    """One run: its exit code, JSON report (None where it printed none), seconds, and peak memory of the doctor."""

    code: int
    report: dict[str, Any] | None
    seconds: float
    memory_mb: float
    stderr: str
    left: tuple[str, ...]  # command lines of the processes that carry our mark two seconds later

    @property
    def gaps(self) -> dict[str, str]:
        return {gap["fact"]: gap["detail"] for gap in (self.report or {})["facts"]["gaps"]}

    @property
    def found(self) -> set[str]:
        return {finding["id"] for finding in (self.report or {})["findings"]}


def target(folder: Path, sitecustomize: str, torch: str | None = TORCH) -> dict[str, str]:
    """The variables that make this Python a target with that sitecustomize and that torch."""
    packages = folder / "site-packages"
    packages.mkdir(exist_ok=True)
    (packages / "sitecustomize.py").write_text(sitecustomize)
    if torch is not None:
        (packages / "torch").mkdir(exist_ok=True)
        (packages / "torch" / "__init__.py").write_text(torch)
    return {"PYTHONPATH": str(packages)}


def run(
    folder: Path, *arguments: str, python: str = sys.executable, before: str = "", limit_s: float = 60.0,
    **environ: str,
) -> Ran:
    """`torchdoctor check --json` in `folder`. The doctor itself does not see PYTHONPATH: -P and -E would change the
    children's, so it is set by the wrapper of the target. `before`: shell words, such as a ulimit."""
    mark = uuid.uuid4().hex
    target_environ = {name: value for name, value in environ.items() if name == "PYTHONPATH"}
    if target_environ:
        wrapper = folder / "python"
        wrapper.write_text(f"#!/bin/sh\nPYTHONPATH='{environ['PYTHONPATH']}' exec '{python}' \"$@\"\n")
        wrapper.chmod(0o755)
        python = str(wrapper)
    others = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "TORCHDOCTOR"))}
    argv = [sys.executable, "-m", "doctor", "check", "--json", "--python", python, *arguments]
    if before:
        argv = ["sh", "-c", f'{before}; exec "$@"', "sh", *argv]
    output, errors = folder / "stdout", folder / "stderr"
    started = time.monotonic()
    with open(output, "wb") as out, open(errors, "wb") as err:
        process = subprocess.Popen(argv, stdout=out, stderr=err, cwd=folder, env={**clean, **others, MARK: mark})
        peak_kb = 0
        while time.monotonic() - started < limit_s:
            peak_kb = max(peak_kb, most_memory_kb(process.pid))
            pid, status = os.waitpid(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(0.02)
        else:
            process.kill()
            process.wait()
            raise AssertionError(f"it still runs after {limit_s} s")
    process.returncode = os.waitstatus_to_exitcode(status)
    text = output.read_text(errors="replace")
    return Ran(
        code=process.returncode,
        report=json.loads(text) if text.strip() else None,
        seconds=time.monotonic() - started,
        memory_mb=peak_kb / 1024,
        stderr=errors.read_text(errors="replace"),
        left=left_behind(mark),
    )


def most_memory_kb(pid: int) -> int:
    """VmHWM of a process that still runs, else 0. What wait4 says of it holds the memory of its parent, too, from
    before exec: of a test runner that has grown."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def in_time(seconds: float, limit_s: float) -> bool:
    """Whether a run took its limit and 2 s at most; where other programs keep this machine busy, 2 s of the CPU."""
    return seconds <= limit_s + 2 or seconds <= limit_s + 2 * busyness()


def busyness() -> float:
    """How many times as long as on a free machine something takes: wall time for a second of the CPU now, or the
    programs that shared each CPU in the last minute."""
    started, began = time.monotonic(), time.process_time()
    while time.process_time() - began < 0.3:
        pass
    return max(1.0, (time.monotonic() - started) / 0.3, os.getloadavg()[0] / (os.cpu_count() or 1))


def left_behind(mark: str, wait_s: float = 2.0) -> tuple[str, ...]:
    """Command lines of the processes that were started with our mark, as long as there are any, up to `wait_s`."""
    deadline = time.monotonic() + wait_s
    while True:
        found = []
        for entry in os.scandir("/proc"):
            if entry.name.isdigit():
                try:
                    if mark.encode() in Path(entry.path, "environ").read_bytes():
                        found.append(Path(entry.path, "cmdline").read_bytes().replace(b"\0", b" ").decode())
                except OSError:
                    continue
        if not found or time.monotonic() > deadline:
            return tuple(found)
        time.sleep(0.05)

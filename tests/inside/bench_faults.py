"""The faults that faulty_bench.py puts into the benchmark's cells, and how each is to be called."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.bench import verdicts
from doctor.bench.plan import PlannedCell
from doctor.bench.said import CellSaid
from doctor.decode import decode
from doctor.model.bench import BenchDevice, Row

ROOT = Path(__file__).resolve().parents[2]
INSIDE = ROOT / "doctor" / "inside"
BUSY = "waited for a CPU"  # other programs may well use it while this is tested


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is right of a cell with a fault: the status and words of its gate, or a reason beside its time."""

    status: str = "ok"
    words: str = ""
    reason: str = ""  # an id of the catalogue
    only_cpu: bool = False

    def holds(self, row: Row) -> bool:
        if row.gate.status != self.status or (row.timing is None) != (self.status != "ok"):
            return False
        if self.status != "ok":
            return self.words in row.gate.why
        if not self.reason:
            return not [r for r in row.reasons if BUSY not in r.text]
        return any(r.id == self.reason and self.words in r.text for r in row.reasons)


FAULTS = {
    "none": Expected(),
    "zeros": Expected(status="INVALID", words="zeros"),
    "nan": Expected(status="INVALID", words="NaN"),
    "stale": Expected(status="INVALID", words="stale"),
    "unsynchronised": Expected(status="IMPOSSIBLE", words="not waited for"),
    "leak": Expected(reason="device-wrong-results", words="10 MiB a step"),
    "fallback": Expected(reason="mps-op-missing", words="aten::nonzero"),
    "one-thread": Expected(reason="device-slow", words="one thread of", only_cpu=True),
    "sleeping": Expected(reason="device-slow", words="slept"),
}


def faulty_rows(python: str, device: str = "cpu", faults: Iterable[str] = ()) -> Iterator[tuple[str, Row]]:
    """(fault, row) of cells that the interpreter runs in one child, each as soon as it is done. RuntimeError where the
    child fails."""
    script = ROOT / "tests" / "inside" / "faulty_bench.py"
    argv = [python, str(script), str(INSIDE), device, *faults]
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            assert child.stdout is not None
            for line in map(json.loads, child.stdout):
                yield line["fault"], judged(line)
        if child.returncode:
            errors.seek(0)
            raise RuntimeError(errors.read()[-3000:])


def judged(line: dict[str, Any]) -> Row:
    """The row of a line, on a machine whose environment is said and whose devices are not known."""
    ((key, answer),) = line["cells"].items()
    workload, phase, device, _, batch = key.split("/")
    asked = None if line["environ"].get("OMP_NUM_THREADS") else 1  # faulty_bench.py asks for one thread
    cell = PlannedCell(
        key=key, workload=workload, phase=phase, device=device, dtype="fp32", batch=int(batch[1:]), size="", scale=1,
        threads=asked, channels_last=False, compile=False,
    )  # fmt: skip
    cores = BenchDevice(device="cpu", physical_cores=2) if line["environ"].get("OMP_NUM_THREADS") else None
    machine = verdicts.Machine(devices={"cpu": cores} if cores else {}, environ=line["environ"])
    return verdicts.rows_of([cell], {key: decode(CellSaid, answer)}, machine)[0]

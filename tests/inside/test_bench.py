"""The benchmark's child, by the interpreter with torch: parameter counts, and faults that are put into a cell."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from doctor.bench import verdicts
from doctor.bench.plan import PlannedCell
from doctor.bench.said import CellSaid
from doctor.decode import decode
from doctor.model.bench import Row

ROOT = Path(__file__).resolve().parents[2]
INSIDE = ROOT / "doctor" / "inside"
COUNTS = r"""
import glob, importlib.util, json, os, sys
import torch
pieces = {}
for path in glob.glob(sys.argv[1] + "/bench/workloads/[a-z]*.py"):
    name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    pieces[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pieces[name])
found = {}
for name, piece in pieces.items():
    if piece.PARAMETERS:
        images = getattr(piece, "SHAPE", (0,))[-1] == 224  # published with the thousand classes of ImageNet
        with torch.device("meta"):
            model = piece.model(torch, 1000 if images else getattr(piece, "CLASSES", 10), pieces)
        found[name] = [sum(p.numel() for p in model.parameters()), piece.PARAMETERS]
print(json.dumps(found))
"""


def said_by(python: str, *argv: str) -> list[dict]:
    done = subprocess.run([python, *argv], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_parameter_counts_are_the_published_ones(torch_python: str) -> None:
    """torchvision's and the papers' own, and those of PyTorch's examples."""
    (counts,) = said_by(torch_python, "-c", COUNTS, str(INSIDE))
    assert len(counts) == 14
    assert all(here == published for here, published in counts.values()), counts
    assert counts["vgg16"][0] == 138357544
    assert counts["bert_base"][0] == 109482240
    assert counts["vae"][0] == 652824


def judged(line: dict) -> Row:
    ((key, answer),) = line["cells"].items()
    cell = PlannedCell(
        key=key, workload="mlp", phase="forward-backward", device="cpu", dtype="fp32", batch=256, size="", scale=1,
        threads=None, channels_last=False, compile=False,
    )  # fmt: skip
    machine = verdicts.Machine(devices={}, environ={})
    return verdicts.rows_of([cell], {key: decode(CellSaid, answer)}, machine)[0]


@pytest.fixture(scope="module")
def faulty(torch_python: str) -> dict[str, Row]:
    lines = said_by(torch_python, str(ROOT / "tests" / "inside" / "faulty_bench.py"), str(INSIDE))
    return {line["fault"]: judged(line) for line in lines}


def test_a_healthy_cell_has_a_time(faulty: dict[str, Row]) -> None:
    row = faulty["none"]
    assert row.gate.status == "ok"
    assert row.timing is not None
    assert row.timing.median_ms > 0
    assert row.conditions.memory_growth_bytes_per_step is None
    assert row.parameters == 658698
    assert row.flops_per_step == 742129664


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        ("zeros", "INVALID", "zeros"),
        ("nan", "INVALID", "NaN"),
        ("stale", "INVALID", "stale"),
        ("unsynchronised", "IMPOSSIBLE", "not waited for"),
    ],
)
def test_faults_show_no_time(faulty: dict[str, Row], fault: str, status: str, words: str) -> None:
    row = faulty[fault]
    assert row.gate.status == status, row.gate
    assert words in row.gate.why
    assert row.timing is None


@pytest.mark.parametrize(
    ("fault", "id", "words"),
    [
        ("leak", "device-wrong-results", "10 MiB a step"),
        ("fallback", "mps-op-missing", "aten::nonzero"),
        ("sleeping", "device-slow", "slept"),
    ],
)
def test_faults_that_are_named(faulty: dict[str, Row], fault: str, id: str, words: str) -> None:
    assert any(r.id == id and words in r.text for r in faulty[fault].reasons), faulty[fault]

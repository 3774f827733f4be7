"""The benchmark's child, by the interpreter with torch: parameter counts, and faults that are put into a cell."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from doctor.model.bench import Row
from tests.inside.bench_faults import FAULTS, INSIDE, faulty_rows
from tests.shared import shared

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


@pytest.fixture(scope="module")
def faulty(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    return shared(tmp_path_factory, "faulty-bench", lambda: dict(faulty_rows(torch_python)))


def test_a_healthy_cell_has_a_time(faulty: dict[str, Row]) -> None:
    row = faulty["none"]
    assert row.gate.status == "ok"
    assert row.timing is not None
    assert row.timing.median_ms > 0
    assert row.conditions.memory_growth_bytes_per_step is None
    assert row.conditions.others_share is not None or sys.platform != "linux"
    assert row.parameters == 658698
    assert row.flops_per_step == 742129664


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_called_by_its_name(faulty: dict[str, Row], fault: str) -> None:
    assert FAULTS[fault].holds(faulty[fault]), (faulty[fault].gate, faulty[fault].reasons)

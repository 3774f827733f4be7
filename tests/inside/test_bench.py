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

def loaded(path):
    name = os.path.basename(path)[:-3]
    spec = importlib.util.spec_from_file_location(name, path)
    piece = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(piece)
    return name, piece

pieces = dict(map(loaded, glob.glob(sys.argv[1] + "/bench/workloads/[a-z]*.py")))
_, operations = loaded(sys.argv[1] + "/bench/operations.py")

class Start:
    def __init__(self, work, model):
        self.work, self.model = work, model

    def drawn(self, count, number):
        if hasattr(self.work, "TOKENS"):
            return (torch.zeros((count, self.work.TOKENS), dtype=torch.long, device="meta"),)
        return (torch.empty((count,) + tuple(self.work.SHAPE), device="meta"),)

def made(piece, classes):
    with torch.device("meta"):
        return piece.model(torch, classes, pieces)

parameters, steps = {}, {}
for name, piece in pieces.items():
    if piece.PARAMETERS:
        images = getattr(piece, "SHAPE", (0,))[-1] == 224  # published with the thousand classes of ImageNet
        classes = getattr(piece, "CLASSES", 10)
        model = made(piece, 1000 if images else classes)
        parameters[name] = [sum(p.numel() for p in model.parameters()), piece.PARAMETERS]
        if not hasattr(piece, "flops"):
            step = operations.counted(torch, Start(piece, made(piece, classes)), None)["step"]
            steps[name] = [step, operations.per_sample(piece)]
print(json.dumps({"parameters": parameters, "steps": steps}))
"""


def said_by(python: str, *argv: str) -> list[dict]:
    done = subprocess.run([python, *argv], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def counts(torch_python: str) -> dict[str, dict[str, list[float]]]:
    (counts,) = said_by(torch_python, "-c", COUNTS, str(INSIDE))
    return counts


def test_parameter_counts_are_the_published_ones(counts: dict[str, dict[str, list[float]]]) -> None:
    """torchvision's and the papers' own, and those of PyTorch's examples."""
    found = counts["parameters"]
    assert len(found) == 14
    assert all(here == published for here, published in found.values()), found
    assert found["vgg16"][0] == 138357544
    assert found["bert_base"][0] == 109482240
    assert found["vae"][0] == 652824


def test_operations_are_those_that_plans_foresee(counts: dict[str, dict[str, list[float]]]) -> None:
    found = counts["steps"]
    assert len(found) == 13
    assert all(foreseen == pytest.approx(counted, rel=0.01) for counted, foreseen in found.values()), found


SHARED = r"""
import importlib.util, json, os, sys
import torch

inside = sys.argv[1]
spec = importlib.util.spec_from_file_location("probe", inside + "/probe.py")
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
FILES = ["stages/monitor", "stages/training"]
FILES += ["bench/" + n for n in ("clock", "cell", "gate", "meter", "need", "operations", "loader", "run")]
FILES += ["bench/workloads/" + n for n in ("lenet5", "vae", "matmul")]

def source(path):
    with open(os.path.join(inside, path + ".py")) as file:
        return (path[len("stages/"):] if path.startswith("stages/") else path), file.read()

pieces = probe.load_pieces([source(path) for path in FILES])
RUN = pieces["bench/run"]
one = probe.Probe(torch, "cpu", 0)
one.pieces = pieces = RUN.by_short_names(pieces)
cells, gate = pieces["cell"], pieces["gate"]

looks = []
looked = gate.looked
gate.looked = lambda c, cell, reference: looks.append(cell.batch) or looked(c, cell, reference)
said = {}

class Talk:
    def say(self, **line):
        if line["event"] == "cell":
            said[line["cell"]] = line["data"]

def group(workload, phase, batch):
    return {"workload": workload, "size": None, "cells": [{
        "key": "%s/%s/%d" % (workload, phase, batch), "device": "cpu", "phase": phase, "dtype": "fp32", "batch": batch,
        "threads": 1, "channels_last": False, "compile": False, "seconds": 0.1, "ungated": False}]}

heads = {}
for workload in ("lenet5", "vae"):
    work = pieces["workloads." + workload]
    start = cells.Start(torch, work, None, 0, {})
    small, large = start.drawn(8, 1), start.drawn(50, 1)
    heads[workload] = [
        bool(torch.equal(a, b[:8])) and len(b) == 50 for a, b in zip(small, large)
    ] + [(large[0] is large[1]) == (workload == "vae"), not bool(torch.equal(start.drawn(8, 0)[0], small[0]))]

spec = group("lenet5", "training", 8)["cells"][0]
cell = cells.Cell(one, cells.Start(torch, pieces["workloads.lenet5"], None, 0, {}), spec, 8)
cell.prepare()
for _ in range(3):
    cell.step()
stepped = looked(cells, cell, gate.Reference(cells, cell.start, 1))["loss_error"]

groups = [group("lenet5", "training", b) for b in (64, 4, 16)] + [group("lenet5", "inference", 16)]
plan = {"seconds": 120.0, "warm_s": 0.1, "rounds": 2, "loader": False, "unsynchronised": False, "seed": 0,
        "groups": groups}
RUN.main(one, Talk(), plan)
print(json.dumps({"heads": heads, "looks": looks, "said": said, "stepped": stepped}))
"""


@pytest.fixture(scope="module")
def batches(torch_python: str) -> dict:
    (found,) = said_by(torch_python, "-c", SHARED, str(INSIDE))
    return found


def test_every_batch_begins_with_the_samples_that_are_compared(batches: dict) -> None:
    assert all(all(held) for held in batches["heads"].values()), batches["heads"]


def test_step_0_is_that_of_the_first_parameters(batches: dict) -> None:
    """Steps are tried before a cell is checked, where it may take too long."""
    assert batches["stepped"] < 1e-5


def test_batches_of_one_setting_are_checked_once(batches: dict) -> None:
    """4 compares fewer samples than 16 and 64, and an inference has no training."""
    assert sorted(batches["looks"]) == [4, 16, 16]
    said = batches["said"]
    assert {one["status"] for one in said.values()} == {"measured"}
    first, second = said["lenet5/training/16"]["gate"], said["lenet5/training/64"]["gate"]
    assert first["gradients_error"] == second["gradients_error"]
    assert first["band_own"] == second["band_own"]


def test_every_row_is_looked_at_after_the_clock(batches: dict) -> None:
    for key, one in batches["said"].items():
        assert one["gate"]["after_error"] is not None, key
        assert one["gate"]["after_error"] < 1e-4, key
        assert one["measured"]["looked"] > 0, key


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

"""Run by the interpreter with torch, `faulty_bench.py INSIDE [DEVICE [FAULT …]]`: benchmark cells that have a
fault, on the CPU or another device.

Prints a JSON object a line: {"fault", "device", "environ", "cells": {key: what the child would have said}}.
"""

import importlib.util
import os
import sys
import time
import warnings

INSIDE = sys.argv[1]
DEVICE = sys.argv[2] if len(sys.argv) > 2 else "cpu"
spec = importlib.util.spec_from_file_location("probe", os.path.join(INSIDE, "probe.py"))
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)

import torch  # noqa: E402

FILES = ["stages/monitor", "stages/training"]
FILES += ["bench/" + n for n in ("clock", "cell", "gate", "meter", "need", "operations", "loader", "run")]
FILES += ["bench/workloads/" + n for n in ("mlp", "matmul")]


def source(path):
    with open(os.path.join(INSIDE, path + ".py")) as file:
        return (path[len("stages/"):] if path.startswith("stages/") else path), file.read()


PIECES = probe.load_pieces([source(path) for path in FILES])
RUN = PIECES["bench/run"]
KEPT = []
probe.keep_warnings(KEPT)


def changed(cell, change):
    """The model's outputs, changed by a function of (number of the call, outputs)."""
    calls = []

    def hook(module, inputs, output):
        calls.append(None)
        return change(len(calls), output)

    prepare = cell.prepare

    def prepared():
        prepare()
        cell.model.register_forward_hook(hook)

    cell.prepare = prepared


def zeros(cell):
    changed(cell, lambda number, output: output * 0)


def nan(cell):
    changed(cell, lambda number, output: output * float("nan") if number > 50 else output)


def stale(cell):
    first = {}

    def change(number, output):
        return output * 0 + first.setdefault(output.shape, output.detach())

    changed(cell, change)


def unsynchronised(cell):
    """Waiting waits for nothing. On a CPU, which has no queue: nine of ten steps are done when their result is asked
    for, so that the time is 10 x too short."""
    if cell.device.type != "cpu":
        cell.wait = lambda: None
        return
    kind = type(cell)

    class Queued(kind):
        pending, calls, done_already = 0, 0, []

        def step(self):
            self.calls += 1
            if self.calls % 10:
                self.pending += 1
            else:
                self.now()

        def now(self):
            """One step, whose result joins the others without their being asked for."""
            waiting, self.pending = self.pending, 0
            kind.step(self)
            self.pending = waiting

        @property
        def kept(self):
            pending, self.pending = self.pending, 0
            for _ in range(pending):
                kind.step(self)  # pending is 0: it does not come here again
            return self.done_already

        @kept.setter
        def kept(self, values):
            self.done_already = values

    values = cell.__dict__.pop("kept")
    cell.__class__ = Queued
    cell.kept = values


def step_besides(cell, work):
    step = cell.step

    def both():
        work()
        step()

    cell.step = both


def leak(cell):
    kept = []

    def grow():
        kept.append(torch.ones(10 << 18, device=cell.device))  # 10 MiB
        time.sleep(0.01)

    step_besides(cell, grow)


def fallback(cell):
    text = "The operator 'aten::nonzero' is not currently supported on the MPS backend"
    text += " and will fall back to run on the CPU."
    step_besides(cell, lambda: warnings.warn(text, stacklevel=2))


def sleeping(cell):
    step_besides(cell, lambda: time.sleep(0.2))


FAULTS = {
    "none": lambda cell: None, "zeros": zeros, "nan": nan, "stale": stale, "unsynchronised": unsynchronised,
    "leak": leak, "fallback": fallback, "one-thread": lambda cell: None, "sleeping": sleeping,
}


class Talk:
    def __init__(self):
        self.cells = {}

    def say(self, **line):
        if line["event"] == "cell":
            self.cells[line["cell"]] = line["data"]


def cell_for(fault):
    """A step that a GPU takes long for, where what it does is not waited for."""
    kind = DEVICE.partition(":")[0]
    if fault == "unsynchronised" and kind != "cpu":
        return {"key": f"matmul-1536/product/{DEVICE}/fp32/b1", "phase": "product", "batch": 1}, "matmul", 1536
    key = f"mlp/forward-backward/{DEVICE}/fp32/b256"
    return {"key": key, "phase": "forward-backward", "batch": 256}, "mlp", None


def bench(fault):
    warnings.resetwarnings()
    del KEPT[:]
    talk = Talk()
    if fault == "one-thread":
        os.environ["OMP_NUM_THREADS"] = "1"  # torch has read it: it is told below what it would have taken from it
    one = probe.Probe(torch, DEVICE, 0)
    one.pieces = dict(PIECES)
    spec, workload, size = cell_for(fault)
    plan = {
        "seconds": 120.0, "warm_s": 0.1, "rounds": 2, "loader": False, "unsynchronised": False, "seed": 0,
        "warnings": KEPT,
        "groups": [{"workload": workload, "size": size, "cells": [dict(
            spec, device=DEVICE, dtype="fp32", threads=1, channels_last=False, compile=False, seconds=0.3,
            ungated=False,
        )]}],
    }
    one.pieces = RUN.by_short_names(one.pieces)
    runner = RUN.Runner(one, RUN.Speaker(talk), plan)
    runner.tampered = FAULTS[fault]
    runner.group(plan["groups"][0], [])
    environ = runner.facts()["environ"]
    os.environ.pop("OMP_NUM_THREADS", None)
    return {"fault": fault, "device": DEVICE, "environ": environ, "cells": talk.cells}


os.environ.pop("OMP_NUM_THREADS", None)
for name in sys.argv[3:] or list(FAULTS):
    print(probe.to_json(bench(name)), flush=True)

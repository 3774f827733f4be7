"""The runner's use of time, on a machine that is made up: its clock moves by what each part of a cell costs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from doctor.bench.plan import plan, spoken
from doctor.inside.bench import cell, clock, gate, meter, need, operations, run
from doctor.inside.bench.workloads import alexnet, efficientnet_b0, mobilenet_v2, resnet18, vgg16
from doctor.model.bench import BenchOptions

WORKS = {
    "alexnet": alexnet, "resnet18": resnet18, "mobilenet_v2": mobilenet_v2, "efficientnet_b0": efficientnet_b0,
    "vgg16": vgg16,
}  # fmt: skip
# Seconds on two cores of an AMD EPYC: a sample's forward pass, an optimizer's step, the float64 reference, the seeds,
# and the short training with step 0.
COSTS = {
    "mobilenet_v2": (0.023, 0.02, 1.1, 0.7, 0.5), "efficientnet_b0": (0.036, 0.02, 1.0, 0.6, 0.6),
    "alexnet": (0.011, 0.25, 0.6, 2.8, 1.6), "resnet18": (0.025, 0.05, 1.4, 0.7, 0.8),
    "vgg16": (0.19, 0.6, 3.5, 4.3, 4.5),
}  # fmt: skip


class World:
    """A clock, and how fast the machine is: 1.0 is the one of `COSTS`; `busy` from some second on it is slower."""

    def __init__(self, slower: float = 1.0, busy: tuple[float, float] = (1e9, 1.0)) -> None:
        self.now, self.slower, self.busy, self.cells = 0.0, slower, busy, {}

    def spend(self, seconds: float) -> None:
        self.now += seconds * self.slower * (self.busy[1] if self.now >= self.busy[0] else 1.0)

    def say(self, **line: Any) -> None:
        if line["event"] == "cell":
            assert line["cell"] not in self.cells
            self.cells[line["cell"]] = line["data"]


def pieces_of(world: World) -> dict[str, Any]:
    class Start:
        def __init__(self, torch, work, size, seed, others) -> None:
            world.spend(0.4)
            self.work = work

    class Cell:
        kept = ()

        def __init__(self, probe, start, spec, batch) -> None:
            self.probe, self.start, self.work, self.spec, self.batch = probe, start, start.work, spec, batch
            self.trains, self.threads = spec["phase"] in need.TRAINS, 2

        def step(self) -> None:
            forward, update, *_ = COSTS[self.work.NAME]
            world.spend(self.batch * forward * (3 if self.trains else 1) + update * self.trains)

        def prepare(self) -> None:
            world.spend(0.3)

        def wait(self) -> None:
            pass

        reset = release = wait

    class Reference:
        def __init__(self, cells, start, threads, known) -> None:
            self.known = known

        def without_gradients(self) -> None:
            self.known.pop("training", None)

    class Meter(meter.Meter):
        def __init__(self, one, pieces) -> None:
            self.cell, self.clock = one, clock
            self.torch = SimpleNamespace(set_num_threads=lambda threads: None)
            self.monitor = SimpleNamespace(waited_s=lambda: None, machine_cpu_s=lambda: None)
            self.watch = SimpleNamespace(nvml=None, look=lambda: None)
            self.counters, self.blocks, self.rounds, self.memory, self.proof = (), [], [], [], []
            self.steps, self.since_reset, self.total_steps, self.waited_s = 1, 0, 0, None
            self.step_s = self.cpu_s = self.wall_s = self.rounds_s = 0.0
            self.said = {"warm": False}

        def first_call(self) -> None:
            began = world.now
            self.cell.step()
            self.step_s = world.now - began

        def prove(self, seconds: float) -> None:
            pass

        def report(self) -> dict[str, Any]:
            return {"blocks_s": self.blocks}

    def looked(cells, one, reference) -> dict[str, Any]:
        _, _, in_double, seeds, own = COSTS[one.work.NAME]
        if "losses" not in reference.known:
            world.spend(in_double + seeds)
            reference.known.update(outputs={}, training={}, losses=[])
        world.spend(own)
        return {"looked": one.batch}

    def again(cells, one, reference, timed, step) -> dict[str, Any]:
        world.spend(one.batch * COSTS[one.work.NAME][0] * gate.batches_again(step))
        return {"after_error": 0.0}

    return {
        "cell": SimpleNamespace(Start=Start, Cell=Cell, compared=cell.compared), "need": need, "clock": clock,
        "meter": SimpleNamespace(Meter=Meter, debug_variables=dict),
        "gate": SimpleNamespace(
            Reference=Reference, looked=looked, looked_again=again, timed_outputs=lambda cells, one: None,
            batches_again=gate.batches_again, part_of_band=gate.part_of_band, STEPS=gate.STEPS, SEEDS=gate.SEEDS,
        ),
        "operations": SimpleNamespace(
            per_sample=operations.per_sample, moved=lambda *a: 0, parameters=lambda start: start.work.PARAMETERS,
            counted=lambda torch, start, size: {
                "step": operations.per_sample(start.work), "first": 0.0, "least": 1.0}),
        **{f"workloads.{name}": work for name, work in WORKS.items()},
    }  # fmt: skip


class Device:
    type = "cpu"

    def __str__(self) -> str:
        return self.type


class Runner(run.Runner):
    def trial(self, probe) -> float:
        return 150e9 / self.probes["cpu"].world.slower

    def bits(self, probe, spec) -> int:
        return 24

    def precision(self, probe) -> dict[str, Any]:
        return {}

    def product_rate(self, probe, spec) -> None:
        return None

    def forget(self, probe) -> None:
        pass


def ran(monkeypatch: pytest.MonkeyPatch, world: World, suite: str) -> dict[str, Any]:
    """What was said of each cell of a suite."""
    clocks = SimpleNamespace(perf_counter=lambda: world.now, process_time=lambda: world.now)
    monkeypatch.setattr(run, "time", clocks)
    monkeypatch.setattr(meter, "time", clocks)
    monkeypatch.setattr(meter.Meter, "look", lambda self: None)
    monkeypatch.setattr(run, "Runner", Runner)
    probe = SimpleNamespace(
        is_cpu=True, device=Device(), threads=2, world=world, pieces=pieces_of(world),
        torch=SimpleNamespace(set_num_threads=lambda threads: None), unsupported=lambda error: False,
    )  # fmt: skip
    options = BenchOptions(suite=suite)
    (child,) = plan(options, ("cpu",))
    monkeypatch.setattr(run, "by_short_names", lambda pieces: pieces)
    run.main(probe, world, spoken(child, options))
    assert set(world.cells) == {c.key for c in child.cells}
    return world.cells


def timed(cells: dict[str, Any]) -> dict[str, int]:
    """Blocks of the rows that have a time, by workload and batch."""
    return {
        key.replace("/cpu/fp32", "").replace("training/", ""): len(one["measured"]["blocks_s"])
        for key, one in cells.items()
        if one["status"] == "measured"
    }


def test_five_models_on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but VGG16 at 64 images, one step of which takes more than half a minute."""
    world = World()
    cells = ran(monkeypatch, world, "five-models")
    found = timed(cells)
    planned = {f"{name}/b{batch}" for name in WORKS for batch in (4, 64)} | {"resnet18/b4/x2"}
    assert set(found) == planned - {"vgg16/b64"}
    assert min(found.values()) >= need.TIMED
    assert world.now < 160
    (refused,) = [one for one in cells.values() if one["status"] == "not-run"]
    assert refused["why"].startswith("a step takes about 32 s here; checking it and 3 steps need ")
    assert all(one["gate"]["looked"] == 4 for key, one in cells.items() if key.endswith("b64") and "gate" in one)


def test_vgg16_on_two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    found = timed(ran(monkeypatch, world, "vgg16"))
    assert set(found) == {"vgg16/inference/b4", "vgg16/inference/b4/x2", "vgg16/b4", "vgg16/inference/b32", "vgg16/b32"}
    assert world.now < 165


@pytest.mark.parametrize("slower", [0.1, 0.5, 1.5, 2.0, 4.0, 10.0, 40.0])
@pytest.mark.parametrize("suite", ["five-models", "vgg16"])
def test_no_machine_takes_much_longer_than_the_plan(monkeypatch: pytest.MonkeyPatch, slower: float, suite: str) -> None:
    """A slow one has fewer rows, never none of what fits; a fast one has them all."""
    world = World(slower)
    cells = ran(monkeypatch, world, suite)
    assert world.now < 175
    if slower == 0.1:
        assert len(timed(cells)) == len(cells)
    if slower <= 10:
        assert len(timed(cells)) >= 1
    assert all(len(one["measured"]["blocks_s"]) >= need.FEWEST for one in cells.values() if one["status"] == "measured")


@pytest.mark.parametrize("at", [5.0, 30.0, 60.0, 100.0, 140.0])
def test_a_machine_that_others_begin_to_use(monkeypatch: pytest.MonkeyPatch, at: float) -> None:
    world = World(busy=(at, 3.0))
    cells = ran(monkeypatch, world, "five-models")
    assert world.now < 190
    assert len(timed(cells)) >= 5

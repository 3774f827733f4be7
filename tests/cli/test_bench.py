"""The command: options, exit codes, and what stays after Ctrl-C; measured by a child that is made up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.bench.plan import ChildPlan
from doctor.bench.said import CellSaid, GateSaid, Measured
from doctor.cli import bench as command_module
from doctor.cli.main import run
from doctor.model.bench import BenchReport
from doctor.model.facts import Facts, Torch, TorchDevice
from doctor.model.report import Target
from doctor.probes import benching
from tests.bench.test_verdicts import said


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Torch:
    """A machine whose torch sees a GPU; nothing is started."""
    gpu = TorchDevice(backend="cuda", index=0, name="NVIDIA H200")
    torch = Torch(version="2.9.0+cu130", imports=True, devices=(gpu,))

    def look(request, progress):
        return Target(python="/env/bin/python", reason="test"), Facts(torch=torch), {}

    monkeypatch.setattr("doctor.pipeline.look_at_machine", look)
    return torch


def answer(monkeypatch: pytest.MonkeyPatch, of, *, interrupt_after: int | None = None) -> None:
    def measured(system, python, plans: tuple[ChildPlan, ...], options, answers: benching.Answers, progress) -> None:
        for number, cell in enumerate(cell for plan in plans for cell in plan.cells):
            if number == interrupt_after:
                raise KeyboardInterrupt
            answers.cells[cell.key] = of(cell)

    monkeypatch.setattr(benching, "run", measured)


def healthy(cell) -> CellSaid:
    kind = cell.device.partition(":")[0]
    ms = (10.0 if kind == "cpu" else 1.0) * cell.scale
    one = said(ms, batch=cell.batch, flops=4e9 * cell.scale)
    assert isinstance(one.gate, GateSaid)
    assert isinstance(one.measured, Measured)
    from dataclasses import replace

    return replace(one, gate=replace(one.gate, device=kind), measured=replace(one.measured, device=kind))


def test_a_table_with_speedups(machine, monkeypatch, capsys) -> None:
    answer(monkeypatch, healthy)
    assert run(["bench", "--suite", "mlp"]) == 0
    out = capsys.readouterr().out
    assert "cuda:0 fp32: 10x (" in out
    assert "95 %" in out


def test_json_is_a_report(machine, monkeypatch, tmp_path: Path) -> None:
    from doctor.decode import decode, loads

    answer(monkeypatch, healthy)
    file = tmp_path / "bench.json"
    assert run(["bench", "--suite", "mnist", "--json", "-o", str(file)]) == 0
    data = json.loads(file.read_text())
    assert data["schema"] == "bench-1"
    assert data["method"] == 1
    report = decode(BenchReport, loads(file.read_text()))
    assert report.machine.torch == "2.9.0+cu130"
    assert {row.device for row in report.rows} == {"cpu", "cuda:0"}


def test_wrong_results_are_exit_1(machine, monkeypatch, capsys) -> None:
    def wrong(cell) -> CellSaid:
        from dataclasses import replace

        one = healthy(cell)
        return replace(one, gate=replace(one.gate, outputs_error=1.0)) if cell.device != "cpu" else one

    answer(monkeypatch, wrong)
    assert run(["bench", "--suite", "vae"]) == 1
    out = capsys.readouterr().out
    assert "INVALID" in out
    assert "the results are zeros" in out
    assert "device-wrong-results" in out


def test_ctrl_c_keeps_what_is_done(machine, monkeypatch, capsys) -> None:
    answer(monkeypatch, healthy, interrupt_after=1)
    assert run(["bench", "--suite", "mnist"]) == 130
    out = capsys.readouterr().out
    table = out.partition("suite mnist")[2].partition("published")[0].splitlines()[2:]
    lines = [line for line in table if line.strip()]
    assert len(lines) == 6  # three workloads on two devices
    assert sum("not-run" in line for line in lines) == len(lines) - 1  # one cell was done: its time stays
    assert out.endswith("; interrupted.\n")


def test_nothing_measured_is_exit_3(machine, monkeypatch) -> None:
    answer(monkeypatch, lambda cell: CellSaid(status="not-here", why="this torch lacks it"))
    assert run(["bench"]) == 3


def test_a_device_that_is_not_there(machine, capsys) -> None:
    assert run(["bench", "--device", "mps"]) == 2
    assert "no such device for this torch: mps (available: cpu, cuda:0)." in capsys.readouterr().err


def test_wrong_usage(capsys) -> None:
    assert run(["bench", "--quick", "--full"]) == 2
    assert run(["bench", "--suite", "resnet"]) == 2
    assert run(["bench", "--device", "gpu"]) == 2


def test_the_list_measures_nothing(capsys) -> None:
    assert run(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(suite in out for suite in command_module.SUITES)
    assert "efficientnet_b0" in out


def test_the_suites_of_the_command_line_are_those_that_there_are() -> None:
    from doctor.bench.suites import SUITES

    assert tuple(SUITES) == command_module.SUITES


def test_a_real_cell_on_the_cpu(torch_python: str, tmp_path: Path, monkeypatch) -> None:
    """All of it, through a child, with the interpreter that has torch; in seconds."""
    from doctor.bench import plan

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setattr(plan, "WARM_S", {"quick": 0.2})
    monkeypatch.setattr(plan, "CELL_S", {"quick": 0.3})
    monkeypatch.setattr(plan, "SUITE_S", {"quick": 40.0})
    file = tmp_path / "bench.json"
    run(["bench", "--suite", "mlp", "--python", torch_python, "--json", "-o", str(file), "--device", "cpu"])
    rows = json.loads(file.read_text())["rows"]
    assert [row["scale"] for row in rows] == [1, 2]
    assert rows[0]["gate"]["status"] in ("ok", "IMPOSSIBLE"), rows[0]["gate"]  # other programs may disturb it
    assert {check["name"] for check in rows[0]["gate"]["checks"]} >= {"loss", "outputs", "gradients", "band"}
    assert all(check["ok"] for check in rows[0]["gate"]["checks"])
    assert rows[0]["parameters"] == 658698

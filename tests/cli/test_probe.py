"""torchdoctor probe: its modes, the table, the verdict on rates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from doctor import pipeline
from doctor.checks.runner import judge
from doctor.cli.main import run
from doctor.model.facts import Facts, ProbeResult, Stage
from doctor.reports import summary
from tests.examples import device, linux, with_nvidia, with_torch
from tests.reports.samples import HEALTHY

NAME = "NVIDIA H200"
MACHINE = with_torch(
    with_nvidia(linux(), NAME), "2.11.0+cu130", cuda_available=True, devices=(device("cuda", NAME, capability="9.0"),)
)


def report_of(*stages: Stage, id: str = "cuda:0", facts: Facts = MACHINE) -> Any:
    data = {key: value for stage in stages for key, value in stage.data.items()}
    probe = ProbeResult(id=id, device=id, status="ok", stages=stages, data=data)
    facts = replace(facts, probes=(probe,))
    return replace(HEALTHY, facts=facts, findings=judge(facts, ())[1])


def table_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], report: Any) -> str:
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: report)
    assert run(["probe"]) == 0
    return capsys.readouterr().out


def speed(**data: object) -> Stage:
    return Stage(name="speed", ok=True, ms=400.0, data={"float32_bits_effective": 24, **data})


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        ([], "quick"),
        (["--quick"], "quick"),
        (["--full"], "full"),
        (["--soak", "2.5"], "soak:2.5"),
        (["--full", "-q"], "full"),
    ],
)
def test_the_mode_that_is_asked_for(monkeypatch: pytest.MonkeyPatch, arguments: list[str], mode: str) -> None:
    asked = []

    def examine(request: pipeline.Request, progress: object = None) -> Any:
        asked.append(request)
        return HEALTHY

    monkeypatch.setattr(pipeline, "examine", examine)
    assert run(["probe", "--device", "cpu", *arguments]) == 0
    assert [(request.mode, request.devices) for request in asked] == [(mode, ("cpu",))]


@pytest.mark.parametrize("arguments", [["--quick", "--full"], ["--full", "--soak", "1"], ["--soak", "0"]])
def test_modes_exclude_each_other(arguments: list[str]) -> None:
    assert run(["probe", *arguments]) == 2


@pytest.mark.parametrize(
    ("stage", "verdict"),
    [
        (speed(bfloat16_tflops_burst=785.0), "101% of 778 TFLOP/s bf16 (measured on one NVIDIA H200"),
        (speed(float32_tflops_burst=390.0, float32_bits_effective=11), "98% of 396 TFLOP/s tf32"),
        (speed(bfloat16_tflops_burst=111.0, busy=True), "none: other programs used the device meanwhile"),
        (speed(bfloat16_tflops_burst=780.0, busy=True), "100% of 778 TFLOP/s bf16"),
        (speed(bfloat16_tflops_burst=600.0), "; 85% and more is usual"),
        (speed(float32_tflops_burst=390.0, float32_bits_effective=17), "none: the tables don't say"),
    ],
    ids=["as it should be", "TF32 against TF32", "busy", "busy and fast all the same", "below", "no expectation"],
)
def test_the_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], stage: Stage, verdict: str
) -> None:
    assert verdict in " ".join(table_of(monkeypatch, capsys, report_of(stage)).split())


def test_a_slow_device_is_named_below_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(speed(bfloat16_tflops_burst=300.0, power_limit_w=300.0, power_limit_default_w=700.0))
    out = table_of(monkeypatch, capsys, report)
    assert "39% of 778 TFLOP/s bf16" in out
    assert " ! device-slow: " in out
    assert "Its power is limited to 300 of 700 W." in out
    assert "!" in [row.mark for row in summary.rows(report) if row.layer == "device"]


def test_pairs_rates_and_what_held_them_back(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [{"from": "cuda:0", "to": "cuda:1", "gbs": 380.27, "peer_access": True}]
    stages = (
        Stage(name="memory", ok=True, ms=1.0, data={"memory_checked_bytes": 32 << 20}),
        Stage(name="sustained", ok=True, ms=1.0, data={"bfloat16_tflops_mean": 662.6, "throttles": ["power cap"]}),
        Stage(name="peers", ok=True, ms=1.0, data={"pairs": pairs}),
        Stage(name="silent", ok=False, ms=1.0, data={"silent_checked": 5, "wrong": ["mm-256: 1 of 9 elements"]}),
    )
    out = table_of(monkeypatch, capsys, report_of(*stages))
    for text in ("32 MiB", "662.6 TFLOP/s bf16", "held back by power cap", "to cuda:1 380.3 GB/s", "mm-256: 1 of"):
        assert text in out


def feature(name: str, **data: list[str]) -> Stage:
    return Stage(name=name, ok=True, ms=1.0, data={"wrong": [], "failures": [], "not_here": [], "tried": [], **data})


def test_features_are_marked_and_the_findings_of_all_layers_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    full = "torch.compile: OSError: [Errno 28] No space left on device: '/tmp'"
    stages = (
        feature("attention", tried=["math attention (float32)"]),
        feature("distributed", not_here=["all-reduce by gloo: there is no loopback network"]),
        feature("compile", failures=[full]),
    )
    lines = table_of(monkeypatch, capsys, report_of(*stages)).splitlines()
    rows = {line.split()[1]: (line.split()[2], line) for line in lines if line.startswith("cuda:0")}
    assert (rows["attention"][0], rows["distributed"][0], rows["compile"][0]) == ("ok", "-", "!")
    assert "math attention (float32)" in rows["attention"][1]
    assert "not here: all-reduce by gloo" in rows["distributed"][1]
    assert "failed: torch.compile: OSError" in rows["compile"][1]
    assert any(line.startswith(" ! folder-not-writable: /tmp is full.") for line in lines)


def test_a_feature_that_most_programs_use_fails_the_probe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(feature("io", failures=["torch.save in memory: RuntimeError: unexpected pos 64 vs 0"]))
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: report)
    assert run(["probe"]) == 1
    assert "!! feature-fails: cuda:0: torch.save in memory fails: " in capsys.readouterr().out

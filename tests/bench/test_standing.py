"""The roofline and the reasons: every cause is named when it is there, and none on a healthy machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.bench.standing import reasons, roofline, standing
from doctor.checks import all_checks
from doctor.model.bench import BenchOptions, BenchReport, Conditions, Row
from tests.bench.samples import CPU, FIVE, H200, LOADER, MACHINE, VGG, report, row, timing

GPU = replace(VGG.rows[1], conditions=Conditions(clock_mhz=1900.0, tf32=False, pcie_width=16, pcie_width_max=16))


def said(one: Row, device: object = H200, of: BenchReport = VGG) -> list[tuple[str, str]]:
    return [(r.id, r.text) for r in reasons(one, device, of)]  # type: ignore[arg-type]


def test_the_share_is_of_the_precision_really_used() -> None:
    work = 1e12
    fp32 = row(device="cuda:0", ms=100.0, flops_per_step=work, tflops=10.0)
    assert roofline(fp32, H200)[0] == pytest.approx(10 / 67)
    tf32 = replace(fp32, conditions=Conditions(tf32=True))
    assert roofline(tf32, H200)[0] == pytest.approx(10 / 494.5)
    assert roofline(replace(fp32, dtype="bf16"), H200)[0] == pytest.approx(10 / 989)


def test_a_step_of_large_weights_and_few_samples_is_bound_by_memory() -> None:
    one = row("decoder", "cuda:0", 1, 10.0, phase="inference", flops_per_step=2e9, parameters=1_000_000_000, tflops=0.2)
    share, bound = roofline(one, H200)
    assert bound == "memory"
    assert share == pytest.approx((1e9 * 4 / 4.8e12) / 10e-3)


def test_short_steps_far_from_the_roof_are_overhead() -> None:
    one = row("lenet5", "cuda:0", 128, 0.4, flops_per_step=3e8)
    done = standing(report(one)).rows[0]
    assert done.bound == "overhead"
    assert done.tflops == pytest.approx(3e8 / 0.4e-3 / 1e12)


@pytest.mark.parametrize("one", [VGG.rows[0], replace(GPU, flops_per_step=None, tflops=None)])
def test_without_peak_or_work_there_is_no_share(one: Row) -> None:
    done = standing(report(one)).rows[0]
    assert done.roofline_share is None
    assert done.bound is None


def test_a_rate_above_the_peak_is_no_share() -> None:
    assert roofline(replace(GPU, tflops=80.0), H200) == (None, None)


def test_healthy_rows_have_no_reasons() -> None:
    assert said(GPU) == []
    assert said(VGG.rows[0], CPU) == []
    assert all(r.reasons == () for r in standing(FIVE).rows)


CAUSES = {
    "one thread": (replace(VGG.rows[0], threads=1), CPU, {}, "device-slow", "one thread of 16 cores (OMP_NUM_THREADS=1)"),
    "power limit": (GPU, replace(H200, power_limit_w=300.0), {}, "device-slow", "limited to 300 of 700 W"),
    "power cap": (
        replace(GPU, roofline_share=0.3, conditions=Conditions(throttles=("power cap",))), H200, {}, "device-slow",
        "power limit of 700 W",
    ),
    "heat": (replace(GPU, conditions=Conditions(throttles=("temperature",))), H200, {}, "device-slow", "temperature"),
    "clock": (
        replace(GPU, bound="compute", conditions=Conditions(clock_mhz=600.0)), H200, {}, "device-slow", "600 of 1980 MHz"
    ),
    "link": (
        replace(GPU, conditions=Conditions(pcie_width=4, pcie_width_max=16)), H200, {}, "device-slow", "4 of 16 lanes"
    ),
    "shared": (replace(GPU, conditions=Conditions(busy=True)), H200, {}, "gpu-busy", "Other programs"),
    "fallback": (
        replace(GPU, device="mps", conditions=Conditions(cpu_fallback=("aten::foo",))), H200, {}, "mps-op-missing", "aten::foo"
    ),
    "loader": (
        replace(GPU, timing=timing(5.0, loader_ms=20.0, loader_share=0.75)), H200, {}, "program-error", "75 %"
    ),
    "debug allocator": (GPU, H200, {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}, "harmful-variable", "memory is asked"),
    "blocking": (GPU, H200, {"CUDA_LAUNCH_BLOCKING": "1"}, "harmful-variable", "CUDA_LAUNCH_BLOCKING=1"),
    "no AVX2": (
        VGG.rows[0], replace(CPU, cpu_capability="DEFAULT"), {"ATEN_CPU_CAPABILITY": "default"}, "device-slow",
        "without AVX2, because ATEN_CPU_CAPABILITY=default",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_a_cause_is_named(name: str) -> None:
    one, device, environ, id, words = CAUSES[name]
    environ = {"OMP_NUM_THREADS": "1"} if name == "one thread" else environ
    of = report(one, machine=replace(MACHINE, environ=tuple(environ.items())))
    [(found, text)] = said(one, device, of)
    assert found == id
    assert words in text


def test_threads_that_were_asked_for_are_no_fault() -> None:
    one = replace(VGG.rows[0], threads=1)
    assert said(one, CPU, report(one, options=BenchOptions(threads=1))) == []


def test_a_variable_of_the_start_slows_no_step() -> None:
    of = report(GPU, machine=replace(MACHINE, environ=(("CUDA_MODULE_LOADING", "EAGER"),)))
    assert said(GPU, H200, of) == []


def test_every_reason_is_a_diagnosis() -> None:
    ids = {check.id for check in all_checks()}
    assert {cause[3] for cause in CAUSES.values()} <= ids
    assert {r.id for row in standing(LOADER).rows for r in row.reasons} <= ids

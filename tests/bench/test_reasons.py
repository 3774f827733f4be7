"""The reasons: every cause is named when it is there, and none on a healthy machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.bench.reasons import Surroundings, reasons_of
from doctor.checks import all_checks
from doctor.model.bench import BenchDevice, BenchOptions, BenchReport, Conditions, Row
from tests.bench.samples import CPU, FIVE, H200, LOADER, MACHINE, VGG, report, row, timing

GPU = replace(VGG.rows[1], conditions=Conditions(clock_mhz=1900.0, tf32=False, pcie_width=16, pcie_width_max=16))


def said(one: Row, device: BenchDevice = H200, of: BenchReport = VGG) -> list[tuple[str, str]]:
    asked = of.options.threads is not None
    around = Surroundings(device=device, environ=dict(of.machine.environ), arch=of.machine.arch, threads_asked=asked)
    return [(r.id, r.text) for r in reasons_of(one, around)]


def test_healthy_rows_have_no_reasons() -> None:
    assert said(GPU) == []
    assert said(VGG.rows[0], CPU) == []
    assert all(said(one, CPU if one.device == "cpu" else H200, FIVE) == [] for one in FIVE.rows)


CAUSES = {
    "one thread": (replace(VGG.rows[0], threads=1), CPU, {}, "device-slow",
                   "one thread of 16 cores (OMP_NUM_THREADS=1)"),
    "power limit": (GPU, replace(H200, power_limit_w=300.0), {}, "device-slow", "limited to 300 of 700 W"),
    "power cap": (
        replace(GPU, roofline_share=0.3, bound="compute", conditions=Conditions(throttles=("power cap",))), H200, {},
        "device-slow",
        "power limit of 700 W",
    ),
    "heat": (replace(GPU, conditions=Conditions(throttles=("temperature",))), H200, {}, "device-slow", "temperature"),
    "clock": (
        replace(GPU, bound="compute", conditions=Conditions(clock_mhz=600.0)), H200, {}, "device-slow",
        "600 of 1980 MHz",
    ),
    "link": (
        replace(GPU, conditions=Conditions(pcie_width=4, pcie_width_max=16)), H200, {}, "device-slow", "4 of 16 lanes"
    ),
    "shared": (replace(GPU, conditions=Conditions(busy=True)), H200, {}, "device-slow", "Other programs"),
    "fallback": (
        replace(GPU, device="mps", conditions=Conditions(cpu_fallback=("aten::foo",))), H200, {}, "mps-op-missing",
        "aten::foo",
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


@pytest.mark.parametrize(("threads", "logical", "environ", "slow"), [
    (1, 2, {}, False), (1, 2, {"OMP_NUM_THREADS": "1"}, True), (1, 16, {}, True), (8, 16, {}, False), (4, 16, {}, True),
])  # fmt: skip
def test_without_the_number_of_cores_hyperthreads_are_allowed_for(
    threads: int, logical: int, environ: dict[str, str], slow: bool
) -> None:
    one = replace(VGG.rows[0], threads=threads)
    of = report(one, machine=replace(MACHINE, environ=tuple(environ.items())))
    assert bool(said(one, replace(CPU, physical_cores=None, logical_cores=logical), of)) == slow


def test_a_variable_of_the_start_slows_no_step() -> None:
    of = report(GPU, machine=replace(MACHINE, environ=(("CUDA_MODULE_LOADING", "EAGER"),)))
    assert said(GPU, H200, of) == []


def test_every_reason_is_a_diagnosis() -> None:
    ids = {check.id for check in all_checks()}
    assert {cause[3] for cause in CAUSES.values()} <= ids
    assert {id for one in LOADER.rows for id, _ in said(one, of=LOADER)} <= ids


@pytest.mark.parametrize(
    ("used", "waited", "words"),
    [
        (0.1, None, "slept, or other programs"),
        (0.1, 0.02, "slept."),
        (0.4, 16.0, "waited for a CPU 50 % of the time"),
        (0.05, 0.3, "waited for a CPU 30 %: it slept."),
        (0.15, 0.45, "waited for a CPU 45 %: it slept, or other"),  # others had the CPU
        (1.0, 0.0, ""),  # one thread of 32 works while the others wait for it: small steps
        (1.0, None, ""),
        (0.98, 0.03, ""),
    ],
)
def test_a_cpu_that_sleeps_or_is_shared(used: float, waited: float | None, words: str) -> None:
    one = row("mlp", ms=10.0, threads=32, conditions=Conditions(cpus_used=used, cpus_waited=waited))
    around = Surroundings(device=BenchDevice(device="cpu", physical_cores=32, logical_cores=32), environ={})
    texts = [reason.text for reason in reasons_of(one, around)]
    assert texts == ([] if not words else texts[:1])
    assert all(words in text for text in texts)
    assert bool(texts) == bool(words)


@pytest.mark.parametrize(
    ("used", "waited", "worked", "slept"),
    [
        (0.05, 0.0, 3.0, True),
        (0.99, 0.0, 3.0, False),  # small kernels: the CPU is busy launching them
        (0.02, 0.0, 98.0, False),  # the CPU sleeps until the GPU is done (blocking synchronisation)
        (0.1, 0.8, 10.0, False),  # others have the CPU
        (0.05, 0.0, None, False),  # the driver does not say
        (None, None, 3.0, False),
    ],
)
def test_a_gpu_sleeps_where_neither_it_nor_the_cpu_works(
    used: float | None, waited: float | None, worked: float | None, slept: bool
) -> None:
    conditions = Conditions(cpus_used=used, cpus_waited=waited, utilization_percent=worked)
    one = row("mlp", "cuda:0", ms=10.0, conditions=conditions)
    texts = [r.text for r in reasons_of(one, Surroundings(device=BenchDevice(device="cuda:0"), environ={}))]
    assert any("slept" in text for text in texts) == slept


def test_an_operation_is_named_as_torch_names_it() -> None:
    said = "UserWarning: The operator 'aten::nonzero' is not currently supported on the MPS backend and will fall back"
    one = row("mlp", "mps", ms=10.0, conditions=Conditions(cpu_fallback=(said, said)))
    (reason,) = reasons_of(one, Surroundings(device=BenchDevice(device="mps"), environ={}))
    assert reason.text == "Operations that ran on the CPU instead of mps: aten::nonzero."

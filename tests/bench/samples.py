"""Reports of benchmarks made by hand, and strategies of random ones."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from doctor.bench.reasons import Surroundings, reasons_of
from doctor.model.bench import (
    BenchDevice,
    BenchMachine,
    BenchOptions,
    BenchReport,
    Conditions,
    Gate,
    Mean,
    Ratio,
    Reason,
    Row,
    Timing,
)

CPU = BenchDevice(
    device="cpu", name="Intel(R) Xeon(R) Platinum 8480C", threads=16, physical_cores=16, logical_cores=16,
    cpu_capability="AVX512", memory_bytes=128 << 30,
)  # fmt: skip
H200 = BenchDevice(
    device="cuda:0", name="NVIDIA H200", memory_bytes=150_000_000_000, capability="9.0", peak_fp32_tflops=67.0,
    peak_tf32_tflops=494.5, peak_bf16_tflops=989.0, peak_fp16_tflops=989.0, bandwidth_gbs=4800.0, power_limit_w=700.0,
    power_limit_default_w=700.0, clock_max_mhz=1980.0,
)  # fmt: skip
MACHINE = BenchMachine(
    system="linux", os_name="Ubuntu 22.04.4 LTS", arch="x86_64", python="3.12.4", torch="2.11.0+cu130", cuda="13.0",
    cudnn="9.19.0", driver="580.159", devices=(CPU, H200),
)  # fmt: skip


def timing(ms: float, *, half: float = 0.01, **more: object) -> Timing:
    """A time with an interval of that half-width."""
    return Timing(**{  # type: ignore[arg-type]
        "first_call_ms": 40 * ms, "warmup_ms": 2000.0, "warm": True, "median_ms": ms, "p5_ms": ms * 0.97,
        "p95_ms": ms * 1.05, "low_ms": ms * (1 - half), "high_ms": ms * (1 + half), "blocks": 60, "steps_per_block": 4,
        "stopped": "precise", "rounds_ms": (ms, ms * 1.002), **more,
    })  # fmt: skip


def row(workload: str = "vgg16", device: str = "cpu", batch: int = 32, ms: float | None = 100.0, **more: object) -> Row:
    """A row; without `ms` one without a time."""
    phase = str(more.pop("phase", "training"))
    half = more.pop("half", 0.01)
    clock = timing(ms, half=float(half), samples_per_s=1000 * batch / ms) if ms else None  # type: ignore[arg-type]
    return Row(**{  # type: ignore[arg-type]
        "key": f"{workload}/{phase}/{device}/fp32/{batch}", "workload": workload, "phase": phase, "device": device,
        "dtype": "fp32", "batch": batch, "batch_wanted": batch, "threads": 16, "channels_last": False, "compile": False,
        "gate": Gate(status="ok") if ms else Gate(status="INVALID", why="The outputs are all zero."), "timing": clock,
        **more,
    })  # fmt: skip


def report(*rows: Row, **more: object) -> BenchReport:
    """A report of these rows."""
    return BenchReport(**{  # type: ignore[arg-type]
        "tool": "torchdoctor 1.0", "taken_at": "2026-11-22T10:00:00Z", "duration_ms": 118_000.0, "machine": MACHINE,
        "options": BenchOptions(), "rows": rows, **more,
    })  # fmt: skip


def speedup(ratio: float, half: float = 0.02) -> Ratio:
    return Ratio(ratio=ratio, low=ratio * (1 - half), high=ratio * (1 + half), against="cpu")


VGG = report(
    row(batch=32, ms=9640.0, suite="vgg16", flops_per_step=32 * 3 * 30.96e9, parameters=134_301_514),
    row(
        device="cuda:0", batch=32, ms=46.2, suite="vgg16", speedup=speedup(208.7), flops_per_step=32 * 3 * 30.96e9,
        parameters=134_301_514, tflops=64.3, roofline_share=0.13, bound="compute",
        conditions=Conditions(clock_mhz=1755.0, power_w=560.0, tf32=True, throttles=("power cap",)),
    ),
    row(phase="inference", batch=32, ms=3080.0, suite="vgg16"),
    row(phase="inference", device="cuda:0", batch=32, ms=None, suite="vgg16"),
    means=(Mean(device="cuda:0", dtype="fp32", speedup=208.7, low=204.0, high=213.0, rows=1),),
    options=BenchOptions(suite="vgg16"),
)  # fmt: skip

FIVE = report(
    *(
        row(workload, device, batch, ms * batch / 4, suite="five-models", **more)
        for workload, cpu_ms, gpu_ms in (("vgg16", 1210.0, 7.1), ("resnet18", 133.0, 4.8), ("mobilenet_v2", 96.0, 9.3))
        for batch in (4, 64)
        for device, ms, more in (("cpu", cpu_ms, {}), ("cuda:0", gpu_ms, {"speedup": speedup(cpu_ms / gpu_ms)}))
    ),
    findings=(Reason(id="mps-memory-leak", text="Memory grew by 10 MB a step."),),
    notes=("bert-base was left out: the time was over.",),
)  # fmt: skip

LOADER = report(
    replace(
        row("lenet5", "cuda:0", 128, 0.42, suite="mnist"),
        timing=timing(0.42, loader_ms=14.0, loader_share=0.97, unsynchronised_ms=0.11, item_ms=0.61),
        conditions=Conditions(busy=True, pcie_width=4, pcie_width_max=16),
    ),
    replace(row("mnist-cnn", "cpu", 64, 35.6, suite="mnist"), threads=1, batch=32,
            notes=("batch 64 ran out of memory: 32",)),
)  # fmt: skip

def explained(sample: BenchReport) -> BenchReport:
    """With the reasons of its rows."""
    devices = {device.device: device for device in sample.machine.devices}
    rows = (
        replace(one, reasons=tuple(reasons_of(one, Surroundings(device=devices[one.device], environ={}))))
        for one in sample.rows
    )
    return replace(sample, rows=tuple(rows))


EMPTY = report(interrupted=True)
ALL = {"vgg16": VGG, "five-models": FIVE, "loader": LOADER, "empty": EMPTY}

MS = st.floats(min_value=1e-3, max_value=1e7)
HALVES = st.floats(min_value=1e-4, max_value=0.2)

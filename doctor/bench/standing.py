"""Where a measured row stands: what part of the roofline it reaches, and why it is slow. Pure.

The roofline takes the published peak of the precision that was really used, and for the memory's part the least that the
step must move: its parameters, gradients and the optimizer's state. Activations come on top, so the part that memory
allows is an upper bound, and the share a lower one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.knowledge.variables import harmful_variables
from doctor.model.bench import BenchDevice, BenchReport, Reason, Row

LOW_POWER = 0.95  # of the default limit
LOW_CLOCK = 0.7  # of the highest
HELD_BACK = 0.6  # share of the peak from which a power cap's name is no reason any more
OVERHEAD = 0.05  # below that share a step of a few milliseconds is bound by launching kernels
SHORT_MS = 5.0
FEW_THREADS = 0.6  # of the physical cores
LOADER = 0.3  # of a step
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
CAPABILITY = "ATEN_CPU_CAPABILITY"
AT_START = ("CUDA_MODULE_LOADING", "CUDA_CACHE_DISABLE")  # they slow the start, and no step after it
# bytes moved for a parameter in a step, at least, in units of its size: inference reads it; forward-backward reads it
# twice and writes a gradient; training also reads gradient and weight and writes the weight, Adam reads and writes two
# moments, Adadelta two averages: 10 in all; SGD would be 6, so 6 is taken
TOUCHES = {"inference": 1, "generation": 1, "forward-backward": 3, "training": 6}


def standing(report: BenchReport) -> BenchReport:
    """The report with what the rows themselves don't say yet: `tflops`, `roofline_share`, `bound` and `reasons`. What is
    there stays."""
    devices = {device.device: device for device in report.machine.devices}
    rows = tuple(_standing(row, devices.get(row.device), report) for row in report.rows)
    return replace(report, rows=rows)


def _standing(row: Row, device: BenchDevice | None, report: BenchReport) -> Row:
    if row.timing is None:
        return row
    tflops = row.tflops
    if tflops is None and row.flops_per_step:
        tflops = row.flops_per_step / row.timing.median_ms / 1e9
    row = replace(row, tflops=tflops)
    share, bound = roofline(row, device)
    row = replace(row, roofline_share=row.roofline_share or share, bound=row.bound or bound)
    known = {reason.id: reason for reason in row.reasons}
    more = (reason for reason in reasons(row, device, report) if reason.id not in known)
    return replace(row, reasons=(*row.reasons, *more))


def peak_of(row: Row, device: BenchDevice | None) -> float | None:
    """Published TFLOP/s of the precision that the row computed with: TF32 where fp32 was allowed to be."""
    if device is None:
        return None
    if row.dtype == "fp32":
        return device.peak_tf32_tflops if row.conditions.tf32 else device.peak_fp32_tflops
    return device.peak_bf16_tflops if row.dtype == "bf16" else device.peak_fp16_tflops


def roofline(row: Row, device: BenchDevice | None) -> tuple[float | None, str | None]:
    """(share of what the device could do in this step, what bounds it). (None, None) where peak or work is not known."""
    peak = peak_of(row, device)
    if row.tflops is None or peak is None or row.timing is None or not row.flops_per_step:
        return None, None
    roof, bound = peak, "compute"
    size = 4 if row.dtype == "fp32" or row.phase == "training" else 2
    touches = _touches(row)
    if device and device.bandwidth_gbs and row.parameters and touches:
        memory_s = row.parameters * size * touches / (device.bandwidth_gbs * 1e9)
        if memory_s > row.flops_per_step / (peak * 1e12):
            roof, bound = row.flops_per_step / memory_s / 1e12, "memory"
    share = row.tflops / roof
    if share > 1:  # the gate calls what is above the peak IMPOSSIBLE; here the least bytes were too many, or caches serve
        return (None, None) if bound == "compute" else (1.0, bound)
    if share < OVERHEAD and row.timing.median_ms < SHORT_MS:
        bound = "overhead"
    return share, bound


def _touches(row: Row) -> float | None:
    """How often a step moves each parameter, at least: once for each token that is generated."""
    touches = TOUCHES.get(row.phase)
    rate = row.timing.samples_per_s if row.timing else None
    if touches and row.phase == "generation" and rate and row.timing:
        return max(1.0, rate * row.timing.median_ms / 1000 / row.batch)
    return touches


def reasons(row: Row, device: BenchDevice | None, report: BenchReport) -> Iterator[Reason]:
    """Why the row is slow, each with the id that `torchdoctor explain` knows, the most telling first."""
    yield from _elsewhere(row, report)
    yield from _variables(row, report)
    if row.device == "cpu":
        yield from _of_cpu(row, device, report)
    else:
        yield from _of_gpu(row, device)
    yield from _of_loader(row)


def _elsewhere(row: Row, report: BenchReport) -> Iterator[Reason]:
    """Work that left the device."""
    if row.conditions.cpu_fallback:
        names = ", ".join(row.conditions.cpu_fallback[:3]) + (" …" if len(row.conditions.cpu_fallback) > 3 else "")
        yield Reason(id="mps-op-missing", text=f"These operations ran on the CPU, not on {row.device}: {names}.")


def _variables(row: Row, report: BenchReport) -> Iterator[Reason]:
    builds = {"cuda": ("cuda", "rocm"), "xpu": ("xpu",)}.get(row.device.partition(":")[0], ())
    for name, value in report.machine.environ:
        for variable in harmful_variables():
            if name not in AT_START and variable.name == name and variable.accelerator in builds and variable.has(value):
                yield Reason(id="harmful-variable", text=f"{name}={value}: {variable.effect}.")


def _of_cpu(row: Row, device: BenchDevice | None, report: BenchReport) -> Iterator[Reason]:
    cores = device.physical_cores if device else None
    environ = dict(report.machine.environ)
    said = next((f"{name}={environ[name]}" for name in THREAD_VARIABLES if environ.get(name)), "")
    if row.threads and cores and report.options.threads is None and row.threads < FEW_THREADS * cores:
        threads = "one thread" if row.threads == 1 else f"{row.threads} threads"
        yield Reason(
            id="device-slow",
            text=f"torch used {threads} of {cores} cores" + (f" ({said})." if said else "."),
        )
    capability = (device.cpu_capability if device else None) or ""
    if capability.upper() in ("DEFAULT", "NO AVX") and report.machine.arch in ("x86_64", "AMD64", "amd64"):
        forced = f", because {CAPABILITY}={environ[CAPABILITY]}" if environ.get(CAPABILITY) else ""
        yield Reason(
            id="device-slow",
            text=f"torch runs its plainest kernels on this CPU, without AVX2{forced}.",
        )


def _of_gpu(row: Row, device: BenchDevice | None) -> Iterator[Reason]:
    conditions = row.conditions
    limit, default = (device.power_limit_w, device.power_limit_default_w) if device else (None, None)
    if limit and default and limit < LOW_POWER * default:
        yield Reason(id="device-slow", text=f"The GPU's power is limited to {limit:g} of {default:g} W.")
    hot = [t for t in conditions.throttles if t not in ("power cap", "display clocks")]
    if hot:
        yield Reason(id="device-slow", text=f"The driver slowed the GPU down: {', '.join(hot)}.")
    elif "power cap" in conditions.throttles and row.roofline_share is not None and row.roofline_share < HELD_BACK:
        watts = f" of {limit:g} W" if limit else ""
        yield Reason(id="device-slow", text=f"The GPU's power limit{watts} held its clock back.")
    clock, most = conditions.clock_mhz, device.clock_max_mhz if device else None
    if clock and most and clock < LOW_CLOCK * most and row.bound == "compute" and not conditions.throttles:
        yield Reason(id="device-slow", text=f"The GPU's clock stayed at {clock:.0f} of {most:.0f} MHz.")
    if conditions.busy:
        yield Reason(id="gpu-busy", text="Other programs used the GPU meanwhile: its time is shared.")
    width, widest = conditions.pcie_width, conditions.pcie_width_max
    if width and widest and width < widest:
        yield Reason(
            id="device-slow", text=f"The PCIe link has {width} of {widest} lanes: what crosses it is slower."
        )


def _of_loader(row: Row) -> Iterator[Reason]:
    timing = row.timing
    if timing and timing.loader_ms and timing.loader_share and timing.loader_share > LOADER:
        yield Reason(
            id="program-error",
            text=f"With the loader a step takes {timing.loader_ms:.3g} ms, of which it is {100 * timing.loader_share:.0f} %: the "
            "loader sets the pace, not the device.",
        )

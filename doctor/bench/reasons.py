"""Why a row is slow, each reason with an id of the catalogue and one sentence with its values. Pure.

Only what was seen is named: a row without a reason is as fast as nothing that was looked at forbids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.bench import intervals
from doctor.knowledge.variables import harmful_variables
from doctor.model.bench import BenchDevice, Reason, Row
from doctor.model.values import dataclass

LOW_POWER = 0.95  # of the default limit
LOW_CLOCK = 0.7  # of the highest
HELD_BACK = 0.6  # share of the roofline from which on a power cap is no reason any more: most GPUs run into theirs
FEW_THREADS = 0.6  # of the cores
AWAKE = 0.7  # CPU seconds per second, with what was waited for: below it, the processor slept
ASLEEP = 0.5  # below it, for certain
IDLE_PERCENT = 50  # a GPU that works less, though nobody on the CPU was busy giving it work
WAITING = 0.1  # of its threads' time
LOADER = 0.3  # of a step with the loader
OPERATION = re.compile(r"\baten::[\w.]+")  # in torch's warning of a fallback
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
CAPABILITY = "ATEN_CPU_CAPABILITY"
AT_START = ("CUDA_MODULE_LOADING", "CUDA_CACHE_DISABLE")  # they slow the start, and no step after it
NO_REASON = ("power cap", "display clocks")  # throttle reasons of a healthy GPU at work


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a row was measured in. `environ`: the variables of the child that change speed; `arch` as the host says it;
    `threads_asked`: the user set the number of threads."""

    device: BenchDevice
    environ: Mapping[str, str]
    arch: str | None = None
    threads_asked: bool = False


def reasons_of(row: Row, around: Surroundings) -> Iterator[Reason]:
    """The most telling first."""
    if row.gate.status in ("not-run", "not-here"):
        return
    yield from _elsewhere(row)
    yield from _variables(row, around)
    yield from _of_cpu(row, around) if row.device == "cpu" else _of_gpu(row, around.device)
    yield from _of_loader(row)


def _elsewhere(row: Row) -> Iterator[Reason]:
    """Work that left the device, and memory that never comes back."""
    if names := row.conditions.cpu_fallback:
        missing = dict.fromkeys(found.group() if (found := OPERATION.search(n)) else n[:100] for n in names)
        shown = ", ".join([*missing][:3]) + (" …" if len(missing) > 3 else "")
        yield Reason(id="mps-op-missing", text=f"Operations that ran on the CPU instead of {row.device}: {shown}.")
    if growth := row.conditions.memory_growth_bytes_per_step:
        yield Reason(
            id="mps-memory-leak" if row.device == "mps" else "device-wrong-results",
            text=f"Memory grows by {growth / 2**20:.3g} MiB a step.",
        )


def _variables(row: Row, around: Surroundings) -> Iterator[Reason]:
    builds = {"cuda": ("cuda", "rocm"), "xpu": ("xpu",)}.get(row.device.partition(":")[0], ())
    for name, value in around.environ.items():
        for variable in harmful_variables():
            if variable.name != name or name in AT_START or variable.accelerator not in builds:
                continue
            if variable.has(value):
                yield Reason(id="harmful-variable", text=f"{name}={value}: {variable.effect}.")


def _of_cpu(row: Row, around: Surroundings) -> Iterator[Reason]:
    device, environ, threads = around.device, around.environ, row.threads
    said = next((f"{name}={environ[name]}" for name in THREAD_VARIABLES if environ.get(name)), "")
    cores = None if around.threads_asked else _cores(device, bool(said))
    if threads and cores and threads < FEW_THREADS * cores:
        words = "one thread" if threads == 1 else f"{threads} threads"
        yield Reason(id="device-slow", text=f"torch used {words} of {cores} cores" + (f" ({said})." if said else "."))
    capability = device.cpu_capability or ""
    if capability.upper() in ("DEFAULT", "NO AVX") and (around.arch or "").lower() in ("x86_64", "amd64"):
        forced = f", because {CAPABILITY}={environ[CAPABILITY]}" if environ.get(CAPABILITY) else ""
        yield Reason(id="device-slow", text=f"torch runs its plainest kernels on this CPU, without AVX2{forced}.")
    yield from _away(row)


def _away(row: Row) -> Iterator[Reason]:
    """One thread at least works all of the time, unless it sleeps or others have the CPU."""
    used, waited = row.conditions.cpus_used, row.conditions.cpus_waited
    if used is not None and used + (waited or 0.0) < AWAKE:
        also = f" and waited for a CPU {100 * waited:.0f} %" if waited and waited > WAITING else ""
        asleep = waited is not None and used + waited < ASLEEP
        or_others = "" if asleep or (waited is not None and not also) else ", or other programs used the CPU"
        text = f"It computed only {100 * used:.0f} % of the time{also}: it slept{or_others}."
        yield Reason(id="device-slow", text=text)
    elif intervals.waiting(row) > WAITING:
        share, why = 100 * intervals.waiting(row), "other programs used it, or a quota limits it"
        yield Reason(id="device-slow", text=f"Its threads waited for a CPU {share:.0f} % of the time: {why}.")


def _cores(device: BenchDevice, said: bool) -> int | None:
    """How many threads torch would take by itself, at least. Half of the logical cores may be a second thread of a
    core; where a variable sets the number, it was not torch's choice."""
    if device.physical_cores:
        return device.physical_cores
    logical = device.logical_cores
    return logical if said or not logical else logical // 2


def _of_gpu(row: Row, device: BenchDevice) -> Iterator[Reason]:
    conditions = row.conditions
    limit, default = device.power_limit_w, device.power_limit_default_w
    low_share = row.roofline_share is not None and row.roofline_share < HELD_BACK
    if limit and default and limit < LOW_POWER * default:
        yield Reason(id="device-slow", text=f"The GPU's power is limited to {limit:g} of {default:g} W.")
    hot = [t for t in conditions.throttles if t not in NO_REASON]
    if hot:
        yield Reason(id="device-slow", text=f"The driver slowed the GPU down: {', '.join(hot)}.")
    elif "power cap" in conditions.throttles and low_share and row.bound == "compute":
        watts = f" of {limit:g} W" if limit else ""
        yield Reason(id="device-slow", text=f"The GPU's power limit{watts} held its clock back.")
    clock, most = conditions.clock_mhz, device.clock_max_mhz
    if clock and most and clock < LOW_CLOCK * most and row.bound == "compute" and not conditions.throttles:
        yield Reason(id="device-slow", text=f"The GPU's clock stayed at {clock:.0f} of {most:.0f} MHz.")
    used, waited = conditions.cpus_used, conditions.cpus_waited or 0.0
    worked = conditions.utilization_percent
    if used is not None and worked is not None and used + waited < ASLEEP and worked < IDLE_PERCENT:
        share = f"{worked:.0f} % of the time, and the program on the CPU {100 * used:.0f} %"
        yield Reason(id="device-slow", text=f"The GPU worked at most {share}: it slept, or waited for another device.")
    if conditions.busy:
        yield Reason(id="device-slow", text="Other programs used the GPU meanwhile: its time is shared.")
    width, widest = conditions.pcie_width, conditions.pcie_width_max
    if width and widest and width < widest:
        yield Reason(id="device-slow", text=f"The PCIe link has {width} of {widest} lanes: what crosses it is slower.")


def _of_loader(row: Row) -> Iterator[Reason]:
    timing = row.timing
    if timing and timing.loader_ms and timing.loader_share and timing.loader_share > LOADER:
        yield Reason(
            id="program-error",
            text=f"With a loader a step takes {timing.loader_ms / timing.median_ms:.2g} times as long; of that time "
            f"{100 * timing.loader_share:.0f} % is the loader: it sets the pace, not the device.",
        )

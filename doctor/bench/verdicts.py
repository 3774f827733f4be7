"""From what the children said to rows: whether a time may be shown, and where it stands (why it is slow:
reasons.py). Pure.

Tolerances. u = 2^-bits is the unit of the products (float32 on a CPU 24 bits; on other devices 20, since fast
convolutions transform their inputs and tensor cores truncate; TF32 and float16 11, bfloat16 8). A layer rounds with
relative errors of the order of u, which are independent from layer to layer, so that after `depth` operations the norm
of the outputs is off by some u sqrt(depth): `SPREAD` times that is allowed. A gradient also passes kinks (ReLU,
maxima): a perturbation e turns a share of order e of them, and each takes a whole term away, so the norm of the
gradient is off by some sqrt(e); where that bound exceeds `MOST`, gradients are not judged. Zeros are off by 1, results
of another input by about 1.4: no tolerance comes near.
Calibrated on healthy devices (docs/bench.md). """

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from doctor.bench import intervals, limits, statistics
from doctor.bench.plan import PlannedCell, partner
from doctor.bench.reasons import Surroundings, reasons_of
from doctor.bench.said import CellSaid, GateSaid, Measured
from doctor.model.bench import (
    BenchDevice,
    Conditions,
    Gate,
    GateCheck,
    Mean,
    Ratio,
    Row,
    Stopped,
    Timing,
)
from doctor.model.values import dataclass

SPREAD = 32.0
MOST = 0.5  # no tolerance is larger: half of what zeros are off by
LOSS_FLOOR = 1e-6
DEVICE_BITS = 20  # of float32 on other devices than CPUs
BAND_REACH, BAND_MARGIN = 2.0, 0.02  # times the range of the seeds, and the loss of step 0
FEWEST_BLOCKS = 2  # of one, nothing says how uncertain it is
STALE = 0.5  # share of the steps whose result repeats the one before
PROOF_SHARE, PROOF_S = 0.25, 0.0005  # of a block: how long reading its last result may take after the wait
OVERHEAD_SHARE = 0.1
LEAK_BYTES, LEAK_STEP_BYTES, LEAK_RISES = 32 << 20, 64 << 10, 0.6


def outputs_tolerance(bits: int, depth: int) -> float:
    """Of the relative error of outputs.

    >>> outputs_tolerance(24, 16) < 1e-5, outputs_tolerance(8, 100)
    (True, 0.5)
    """
    return min(MOST, SPREAD * 2.0**-bits * math.sqrt(depth))


def gradients_tolerance(bits: int, depth: int) -> float | None:
    """Of the relative error of all gradients together. None where rounding alone may exceed `MOST`: nothing follows
    from their error then, and the loss after n steps shows whether training works.

    >>> gradients_tolerance(8, 10) is None, gradients_tolerance(20, 10) < 0.05
    (True, True)
    """
    tolerance = 4 * math.sqrt(SPREAD * 2.0**-bits * math.sqrt(depth))
    return tolerance if tolerance <= MOST else None


def bits_of(cell: PlannedCell, said: CellSaid) -> int:
    """Significant bits by which a cell is judged."""
    bits = said.bits or 24
    return min(bits, DEVICE_BITS) if cell.device != "cpu" else bits


# --- the gate


def gate_of(cell: PlannedCell, said: CellSaid) -> Gate:
    """Whether this cell computed what it should, and its clock waited."""
    if said.status == "not-run":
        return Gate(status="not-run", why=said.why)
    if said.status == "not-here":
        return Gate(status="not-here", why=said.why)
    if said.status == "failed":
        if said.memory:
            return Gate(status="not-here", why="even a batch of one does not fit into memory")
        return Gate(status="INVALID", why=said.why or "it failed")
    measured = said.measured
    if measured is None or len(measured.blocks_s) < FEWEST_BLOCKS or not measured.rounds_s:
        return Gate(status="not-run", why="the time was over before it could be measured")
    checks = tuple(_checks(cell, said, measured))
    wrong = [c for c in checks if not c.ok]
    if wrong:
        return Gate(status="INVALID", why=_why(wrong, cell, said, measured), checks=checks)
    if impossible := _unsynchronised(measured):
        return Gate(status="IMPOSSIBLE", why=impossible, checks=checks)
    return Gate(status="ok", checks=checks)


def _checks(cell: PlannedCell, said: CellSaid, measured: Measured) -> Iterable[GateCheck]:
    yield GateCheck(name="finite", ok=measured.nonfinite_step is None)
    repeated = measured.repeated / measured.looked if measured.looked else 0.0
    same = said.gate is not None and bool(said.gate.stale)
    yield GateCheck(name="inputs-change", ok=repeated <= STALE and not same, error=repeated, tolerance=STALE)
    wanted, kind = cell.device.partition(":")[0], (said.gate.device if said.gate else None) or measured.device
    yield GateCheck(name="device", ok=kind in (wanted, None))
    if cell.scale > 1:
        return
    if said.gate is None:
        yield GateCheck(name="looked-at", ok=False)
        return
    yield from _errors(cell, said, said.gate)
    if cell.phase in ("training", "forward-backward"):
        yield _band(said.gate)


def _errors(cell: PlannedCell, said: CellSaid, gate: GateSaid) -> Iterable[GateCheck]:
    depth, bits = said.depth or 1, bits_of(cell, said)
    outputs, gradients = outputs_tolerance(bits, depth), gradients_tolerance(bits, depth)
    trains = cell.phase in ("training", "forward-backward")
    if trains:
        yield _check("loss", gate.loss_error, outputs + LOSS_FLOOR)
        yield _check("outputs", gate.training_outputs_error, gradients or MOST)  # normalised by the batch: kinks count
        yield _check("gradients", gate.gradients_error, gradients)
    if not (trains and cell.compile):
        yield _check("outputs", gate.outputs_error, outputs)
        yield _check("outputs", gate.second_outputs_error, outputs)
        yield _check("outputs", gate.after_error, outputs)


def _check(name: str, error: float | None, tolerance: float | None) -> GateCheck:
    """Without a tolerance the error must only be finite."""
    ok = error is not None and (tolerance is None or error <= tolerance)
    return GateCheck(name=name, ok=ok, error=error, tolerance=tolerance)


def _band(gate: GateSaid) -> GateCheck:
    """The loss after n steps, among those of the CPU's seeds."""
    band = [b for b in gate.band if b is not None]
    if gate.band_own is None or len(band) < 2:
        return GateCheck(name="band", ok=False, error=gate.band_own)
    middle, reach = 0.5 * (min(band) + max(band)), max(band) - min(band)
    allowed = BAND_REACH * reach + BAND_MARGIN * max(abs(gate.band_first or 0.0), abs(middle))
    off = abs(gate.band_own - middle)
    return GateCheck(name="band", ok=off <= allowed, error=off, tolerance=allowed)


def _why(wrong: Sequence[GateCheck], cell: PlannedCell, said: CellSaid, measured: Measured) -> str:
    """The first reason, the most telling one first."""
    names = {c.name for c in wrong}
    gate = said.gate
    if "looked-at" in names:
        return "it was not checked against the CPU"
    if "device" in names:
        return f"the result lies on {(gate.device if gate else None) or measured.device}, not on {cell.device}"
    if gate is not None and gate.band_nonfinite_step is not None:
        return f"the loss is NaN or infinite at step {gate.band_nonfinite_step + 1} of a short training"
    if "finite" in names:
        return f"NaN or infinity at step {measured.nonfinite_step} while it was timed"
    if any(c.error is None for c in wrong):
        return f"{wrong[0].name} of step 0: not finite"
    if any(c.name == "outputs" and c.error is not None and abs(c.error - 1) < 1e-6 for c in wrong):
        return "the results are zeros"
    if "inputs-change" in names or (gate is not None and gate.stale):
        return "stale data: most results repeat the one before, though the inputs changed"
    first = wrong[0]
    if first.name == "band":
        return (
            f"after {gate.band_steps if gate else 0} steps the loss is off by {first.error:.2g} from the CPU's seeds, "
            f"of which {first.tolerance:.2g} is allowed"
        )
    return f"{first.name} off by {first.error:.2g} of the CPU's fp64 result; {first.tolerance:.2g} is allowed"


def _unsynchronised(measured: Measured) -> str | None:
    """Whether the device still worked when the clock had stopped: then reading its last result took long."""
    late = [read for block, read in measured.proof if read > PROOF_SHARE * block and read > PROOF_S]
    if not measured.proof or len(late) < len(measured.proof):
        return None
    read = statistics.median(late)
    shown = f"{read:.3g} s" if read >= 1 else f"{1000 * read:.3g} ms"
    return f"the device still worked for {shown} when the clock had stopped: it was not waited for"


# --- rows


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What rows are held against. `environ`: variables of the child that change speed."""

    devices: Mapping[str, BenchDevice]
    environ: Mapping[str, str]
    arch: str | None = None


def rows_of(
    cells: Iterable[PlannedCell], said: Mapping[str, CellSaid], machine: Machine, suite: str | None = None
) -> tuple[Row, ...]:
    """A row for each planned cell. One of which nothing was said is «not-run»."""
    cells = tuple(cells)
    rows = {cell.key: _row(cell, said.get(cell.key), machine, suite) for cell in cells}
    rows = _with_speedup(limits.judged(rows, said, machine.devices))
    return tuple(_with_reasons(cell, rows[cell.key], said.get(cell.key), machine) for cell in cells)


def _with_reasons(cell: PlannedCell, row: Row, said: CellSaid | None, machine: Machine) -> Row:
    """What a child saw of its device counts where the facts don't say it."""
    measured = said.measured if said else None
    if measured is None:
        return row
    device, seen = machine.devices.get(row.device) or BenchDevice(device=row.device), measured.conditions
    device = replace(
        device,
        power_limit_w=device.power_limit_w or seen.power_limit_w,
        power_limit_default_w=device.power_limit_default_w or seen.power_limit_default_w,
        clock_max_mhz=device.clock_max_mhz or seen.sm_clock_max_mhz,
        logical_cores=measured.cpus_usable or device.logical_cores,
    )
    around = Surroundings(
        device=device, environ=machine.environ, arch=machine.arch, threads_asked=cell.threads is not None
    )
    return replace(row, reasons=tuple(reasons_of(row, around)))


def _row(cell: PlannedCell, said: CellSaid | None, machine: Machine, suite: str | None) -> Row:
    if said is None:
        said = CellSaid(status="not-run", why="it was not reached")
    gate = gate_of(cell, said)
    measured = said.measured
    batch = said.batch or cell.batch
    row = Row(
        key=cell.key,
        workload=cell.workload,
        phase=cell.phase,
        device=cell.device,
        dtype=cell.dtype,
        batch=batch,
        batch_wanted=cell.batch,
        threads=measured.threads if measured else cell.threads,
        channels_last=cell.channels_last,
        compile=cell.compile,
        suite=suite,
        scale=cell.scale,
        unit=said.unit or "images",
        size=cell.size,
        parameters=said.parameters,
        flops_per_step=said.flops,
        gate=gate,
        notes=said.notes if batch == cell.batch else (f"{said.notes[-1]}: {batch}",) if said.notes else (),
    )
    if measured is None:
        return row
    row = replace(row, conditions=_conditions(said, measured))
    if gate.status == "ok":
        timing = _timing(measured, said.samples or batch)
        rate = said.flops / timing.median_ms / 1e9 if said.flops else None
        row = replace(row, timing=timing, tflops=rate, conditions=_with_energy(row.conditions, timing))
        row = _placed(row, said, machine.devices.get(cell.device))
    return row


def _timing(measured: Measured, samples: int) -> Timing:
    blocks = [1000 * b for b in measured.blocks_s]
    median = statistics.median(blocks)
    low, high = statistics.interval(blocks)
    stopped: Stopped = "precise" if statistics.is_precise(blocks) else "time-over"
    loader = None if measured.loader_s is None else 1000 * measured.loader_s
    return Timing(
        first_call_ms=1000 * measured.first_call_s,
        warmup_ms=1000 * measured.warmup_s,
        warm=measured.warm,
        median_ms=median,
        p5_ms=statistics.percentile(blocks, 0.05),
        p95_ms=statistics.percentile(blocks, 0.95),
        low_ms=low,
        high_ms=high,
        blocks=len(blocks),
        steps_per_block=measured.steps,
        stopped=stopped,
        samples_per_s=1000 * samples / median,
        unsynchronised_ms=None if measured.unsynchronised_s is None else 1000 * measured.unsynchronised_s,
        item_ms=None if measured.item_s is None else 1000 * measured.item_s,
        loader_ms=loader,
        loader_share=None if loader is None else max(0.0, 1 - median / loader),
        rounds_ms=tuple(1000 * r for r in measured.rounds_s),
    )


def _conditions(said: CellSaid, measured: Measured) -> Conditions:
    seen = measured.conditions
    growing = _leak(measured)
    tf32 = None if said.tf32 is None else bool(said.tf32 or said.tf32_convolutions)
    return Conditions(
        clock_mhz=measured.clock_mhz,
        clock_min_mhz=seen.sm_clock_min_mhz,
        power_w=measured.power_w,
        temperature_c=seen.temperature_c,
        throttles=seen.throttles,
        pcie_generation=seen.pcie_generation,
        pcie_width=seen.pcie_width,
        pcie_generation_max=seen.pcie_generation_max,
        pcie_width_max=seen.pcie_width_max,
        peak_memory_bytes=measured.peak_memory_bytes,
        memory_growth_bytes_per_step=growing,
        cpu_fallback=said.fallback,
        tf32=tf32,
        float32_precision=said.float32_precision,
        busy=seen.busy,
        utilization_percent=measured.utilization_percent,
        cpus_used=measured.cpus_used,
        cpus_waited=measured.cpus_waited,
        others_share=measured.others_share,
    )


def _with_energy(conditions: Conditions, timing: Timing) -> Conditions:
    if conditions.power_w is None or not timing.samples_per_s:
        return conditions
    return replace(conditions, joules_per_sample=conditions.power_w / timing.samples_per_s)


def _leak(measured: Measured) -> float | None:
    """Bytes a step by which memory grows without end; None where it does not, or is not known."""
    for column in range(1, len(measured.counters) + 1):
        if all(len(row) > column for row in measured.memory):
            per_step, total, rises = statistics.growth(measured.memory, column)
            if total >= LEAK_BYTES and per_step >= LEAK_STEP_BYTES and rises >= LEAK_RISES:
                return per_step
    return None


def _placed(row: Row, said: CellSaid, device: BenchDevice | None) -> Row:
    """The share of the roofline: of the time that the device would need at its published rates, the larger one."""
    if device is None or row.timing is None or said.flops is None:
        return row
    peak, seconds = limits.peak_of(row, said.bits or 24, device), row.timing.median_ms / 1000
    if peak is None:
        return row
    computing = said.flops / (peak * 1e12) / seconds
    moving = 0.0
    if said.bytes_moved and device.bandwidth_gbs:
        moving = said.bytes_moved / (device.bandwidth_gbs * 1e9) / seconds
    share = max(computing, moving)
    bound = "overhead" if share < OVERHEAD_SHARE else "compute" if computing >= moving else "memory"
    return replace(row, roofline_share=share, bound=bound)  # type: ignore[arg-type]


def _with_speedup(rows: dict[str, Row]) -> dict[str, Row]:
    """Against the CPU's row of the same setting, for the same number of samples."""
    found = dict(rows)
    for key, row in rows.items():
        cpu = rows.get(partner(key))
        if row.device == "cpu" or cpu is None or cpu.timing is None or row.timing is None or row.scale > 1:
            continue
        ratio = intervals.ratio_of(cpu, row)
        each = row.batch / cpu.batch  # one of them may have run with less
        found[key] = replace(
            row, speedup=Ratio(ratio=ratio[0] * each, low=ratio[1] * each, high=ratio[2] * each, against=cpu.key)
        )
    return found


def means_of(rows: Iterable[Row]) -> tuple[Mean, ...]:
    """The geometric mean of the speed-ups, for each device and type."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.speedup is not None:
            groups.setdefault((row.device, row.dtype), []).append(row)
    means = []
    for (device, _), members in groups.items():
        mean = statistics.geometric_mean((r.speedup.ratio, r.speedup.low, r.speedup.high) for r in members if r.speedup)
        if mean is not None:
            middle, low, high = mean
            dtype, count = members[0].dtype, len(members)
            means.append(Mean(device=device, dtype=dtype, speedup=middle, low=low, high=high, rows=count))
    return tuple(means)


# --- what the catalogue says of it


def wrong_texts(rows: Iterable[Row], device: str) -> tuple[str, ...]:
    """What a probe would say is wrong with a device, for the checks (docs/probes.md, `wrong`)."""
    texts = []
    for row in rows:
        if row.device != device:
            continue
        if row.gate.status == "INVALID":
            texts.append(f"{row.workload} {row.phase}: {row.gate.why}")
        if row.conditions.memory_growth_bytes_per_step:
            mib = row.conditions.memory_growth_bytes_per_step / 2**20
            texts.append(f"memory leak: {mib:.3g} MiB a step of {row.workload} {row.phase}")
    return tuple(texts)

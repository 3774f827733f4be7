"""Times that cannot be: above what the device can do, or not growing with the work. Pure.

«Twice the work takes at least 1.4 times as long» holds only where computing bounds the step. Small batches on a GPU are
bound by launching kernels, many-core CPUs by starting threads, and a batch that leaves a cache takes more than twice as
long. So it is asked only where both rows run near the device's limit: 1.4 / 2 of it, since then a smaller ratio would
put the doubled row above the limit. The limit is the published peak; of a CPU, which has none in the tables, the rate
of a large product in the same type and with the same threads. Where neither is known, the ratio is only shown.

Winograd and FFT convolutions multiply less than they are counted for, so a limit is held against `least_flops`, and not
against the operations that are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from doctor.bench import intervals
from doctor.bench.said import CellSaid
from doctor.model.bench import BenchDevice, Row, Scaling

PEAK_MARGIN = 1.05
UNDISTURBED = 0.75  # of the time of its threads that a CPU's row must have had
GROWS = (1.4, 2.6)  # of the time, with twice the work, where computing bounds it
COMPUTE_SHARE = GROWS[0] / 2  # of the limit, from which on computing bounds a row


def judged(
    rows: Mapping[str, Row], said: Mapping[str, CellSaid], devices: Mapping[str, BenchDevice]
) -> dict[str, Row]:
    """The rows, by key; those with an impossible time without it."""
    found = dict(rows)
    for key, twice in rows.items():
        once = rows.get(key.removesuffix("/x2"))
        if twice.scale == 2 and once is not None and once is not twice:
            found[once.key], found[key] = _scaled(once, twice, _shares(once, twice, said, devices))
    return {key: _below_peak(row, said.get(key), devices) for key, row in found.items()}


def _below_peak(row: Row, said: CellSaid | None, devices: Mapping[str, BenchDevice]) -> Row:
    peak, rate = _peak(row, said, devices), _least_rate(row, said)
    if peak is None or rate is None or rate <= PEAK_MARGIN * peak:
        return row
    return _impossible(row, f"{rate:.3g} TFLOP/s, and the device's peak is {peak:.3g}")


def peak_of(row: Row, bits: int, device: BenchDevice) -> float | None:
    """TFLOP/s that the device reaches at most in the precision that the row computes with."""
    if row.dtype == "bf16":
        return device.peak_bf16_tflops
    if row.dtype == "fp16":
        return device.peak_fp16_tflops
    return device.peak_tf32_tflops or device.peak_fp32_tflops if bits < 24 else device.peak_fp32_tflops


def _peak(row: Row, said: CellSaid | None, devices: Mapping[str, BenchDevice]) -> float | None:
    device = devices.get(row.device)
    return peak_of(row, (said.bits if said else None) or 24, device) if device else None


def _least_rate(row: Row, said: CellSaid | None) -> float | None:
    """TFLOP/s of what no algorithm can leave out."""
    flops = (said.least_flops or said.flops) if said else row.flops_per_step
    return flops / row.timing.median_ms / 1e9 if flops and row.timing else None


def _impossible(row: Row, why: str) -> Row:
    """The row without its time."""
    gate = replace(row.gate, status="IMPOSSIBLE", why=why)
    return replace(row, gate=gate, timing=None, speedup=None, tflops=None, roofline_share=None, bound=None)


# --- time grows with the work


def _scaled(once: Row, twice: Row, shares: tuple[float, float] | None) -> tuple[Row, Row]:
    """Both rows with the ratio of their times. `shares`: of the device's limit, where it is known."""
    if once.timing is None or twice.timing is None or twice.batch != 2 * once.batch:
        return once, twice
    ratio, low, high = intervals.ratio_of(twice, once)
    computing = shares is not None and min(shares) >= COMPUTE_SHARE
    if not computing or _disturbed(once) or _disturbed(twice):
        scaling = Scaling(ratio=ratio)
    else:
        ok = high >= GROWS[0] and low <= GROWS[1]
        scaling = Scaling(ratio=ratio, low_bound=GROWS[0], high_bound=GROWS[1], ok=ok)
    once, twice = replace(once, scaling=scaling), replace(twice, scaling=scaling)
    if scaling.ok:
        return once, twice
    why = f"twice the work takes {ratio:.2f} times as long; {GROWS[0]} to {GROWS[1]} is possible"
    return _impossible(once, why), _impossible(twice, why)


def _shares(
    once: Row, twice: Row, said: Mapping[str, CellSaid], devices: Mapping[str, BenchDevice]
) -> tuple[float, float] | None:
    """How much of the device's limit both rows reach; None where it is not known."""
    first, second = (_least_rate(row, said.get(row.key)) for row in (once, twice))
    if first is None or second is None:
        return None
    if (limit := _peak(once, said.get(once.key), devices)) is None:
        limit = _reached(once, said)
        if limit is None or first > limit:  # a product that is slower than the row says nothing of it
            return None
    return first / limit, second / limit


def _reached(row: Row, said: Mapping[str, CellSaid]) -> float | None:
    """TFLOP/s of a large product on the CPU, the best of all that were timed during this run: others slow some down."""
    if row.device != "cpu":
        return None
    alike = [one for key, one in said.items() if key.split("/")[2:4] == [row.device, row.dtype]]
    alike = [one for one in alike if one.measured and one.measured.threads == row.threads]
    rates = [one.product_rate for one in alike if one.product_rate]
    return max(rates) / 1e12 if rates else None


def _disturbed(row: Row) -> bool:
    """Whether other programs had a part of the device meanwhile: then a time says little of the work."""
    used, waited = row.conditions.cpus_used, row.conditions.cpus_waited
    if waited is not None and waited > intervals.WAITED:
        return True
    if row.device == "cpu":
        return used is not None and row.threads is not None and used < UNDISTURBED * row.threads
    return bool(row.conditions.busy)

"""What a child of the benchmark says, typed: foreign words, decoded by doctor/decode.py. Seconds are of one step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class GateSaid:
    """Errors of step 0 and of a short training (inside/bench/gate.py). None: not finite, or not looked at; `looked`
    says which, by the names that are there."""

    compared: int | None = None
    device: str | None = None  # where the outputs lay
    loss: float | None = None
    loss_error: float | None = None
    training_outputs_error: float | None = None
    gradients_error: float | None = None
    outputs_error: float | None = None
    second_outputs_error: float | None = None
    after_error: float | None = None
    stale: bool | None = None  # whether two different inputs gave the same outputs, to the bit
    band: tuple[float | None, ...] = ()
    band_first: float | None = None
    band_own: float | None = None
    band_nonfinite_step: int | None = None
    band_steps: int | None = None


@dataclass(frozen=True, kw_only=True)
class ConditionsSaid:
    """What NVML said meanwhile (inside/stages/monitor.py)."""

    sm_clock_mhz: float | None = None
    sm_clock_min_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    power_limit_default_w: float | None = None
    temperature_c: float | None = None
    throttles: tuple[str, ...] = ()
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_generation_max: int | None = None
    pcie_width_max: int | None = None
    busy: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The clock (inside/bench/meter.py)."""

    first_call_s: float
    warmup_s: float
    warm: bool
    blocks_s: tuple[float, ...]
    rounds_s: tuple[float, ...]
    steps: int
    proof: tuple[tuple[float, float], ...] = ()  # seconds of a block, and until its last result could be read
    nonfinite_step: int | None = None
    repeated: int = 0
    looked: int = 0
    device: str | None = None
    peak_memory_bytes: int | None = None
    memory: tuple[tuple[int, ...], ...] = ()  # steps so far, bytes of each counter
    counters: tuple[str, ...] = ()
    threads: int | None = None
    cpus_used: float | None = None
    cpus_waited: float | None = None
    others_share: float | None = None
    cpus_usable: int | None = None
    clock_mhz: float | None = None
    power_w: float | None = None
    utilization_percent: float | None = None
    conditions: ConditionsSaid = field(default_factory=ConditionsSaid)
    unsynchronised_s: float | None = None
    item_s: float | None = None
    loader_s: float | None = None
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class CellSaid:
    """All that is known of one cell."""

    status: Literal["measured", "not-here", "not-run", "failed"]
    why: str = ""
    lost: bool = False
    memory: bool = False  # it ran out of it
    gate: GateSaid | None = None
    looked_at: tuple[str, ...] = ()
    measured: Measured | None = None
    batch: int | None = None
    samples: int | None = None
    unit: str | None = None
    flops: float | None = None
    least_flops: float | None = None  # what remains of them with fast convolutions
    product_rate: float | None = None  # FLOP/s of a large product, with this type and these threads: the CPU's cells
    bytes_moved: float | None = None
    parameters: int | None = None
    depth: int | None = None
    bits: int | None = None
    tf32: bool | None = None
    tf32_convolutions: bool | None = None
    float32_precision: str | None = None
    notes: tuple[str, ...] = ()
    fallback: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of a child."""

    event: Literal["begin", "end", "cell", "share", "facts", "done"]
    stage: str | None = None
    cell: str | None = None
    ok: bool | None = None
    ms: float | None = None
    share: float | None = None
    data: Mapping[str, object] = field(default_factory=dict)

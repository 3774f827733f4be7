"""What `torchdoctor bench` measured: schema "bench-1", which its JSON, its tables and its comparisons share.

A row is a cell of the plan: one workload on one device with one setting. A row has a time only where its gate is "ok";
all others have `timing` None, and say why. Times are milliseconds of one step (a training step: forward, backward,
optimizer; an inference: one forward pass; a decoder: all tokens of one call; a sweep: one product), rates are
floating-point operations (a multiply-add counts two) in 1e12 per second, sizes are bytes, power is watts. None: not
known, or not to be had here; `Row.notes` says why where that is worth a word. Nothing here names a person, a host or a
path.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from doctor.model.values import dataclass

SCHEMA = "bench-1"
METHOD = 1  # raised whenever the same machine would give other numbers; rows of different methods are never compared

Phase = Literal["training", "inference", "generation", "forward-backward", "product"]
DType = Literal["fp32", "bf16", "fp16"]
Status = Literal["ok", "INVALID", "IMPOSSIBLE", "not-here", "not-run"]
Stopped = Literal["precise", "time-over", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class BenchDevice:
    """A device on which rows were measured, as torch names it ("cpu", "cuda:0", "mps", "xpu:0")."""

    device: str
    name: str | None = None  # of the processor or GPU, as its maker spells it
    memory_bytes: int | None = None
    capability: str | None = None  # NVIDIA: "9.0"
    gfx: str | None = None  # AMD: "gfx942"
    threads: int | None = None  # CPU: threads of torch unless a row says otherwise
    physical_cores: int | None = None  # CPU
    logical_cores: int | None = None  # CPU: those that this process may use
    cpu_capability: str | None = None  # CPU: the instruction set that this build uses here ("AVX2")
    peak_fp32_tflops: float | None = None  # published, dense, without TF32 (knowledge tables); CPU: None
    peak_tf32_tflops: float | None = None
    peak_bf16_tflops: float | None = None
    peak_fp16_tflops: float | None = None
    bandwidth_gbs: float | None = None  # of its memory, published; GB = 1e9 bytes
    power_limit_w: float | None = None  # in force
    power_limit_default_w: float | None = None
    clock_max_mhz: float | None = None


@dataclass(frozen=True, kw_only=True)
class BenchMachine:
    """The machine and the environment: what must be equal, or named, when two reports are compared."""

    system: str | None = None  # "linux", "darwin", "windows"
    os_name: str | None = None  # "Ubuntu 22.04.4 LTS"
    arch: str | None = None  # "x86_64", "arm64"
    virtual_machine: str | None = None  # "kvm", "hyper-v" …: others may use its CPUs unseen; None: no, or not known
    memory_bytes: int | None = None
    python: str | None = None
    torch: str | None = None
    cuda: str | None = None  # of the torch build
    hip: str | None = None
    xpu: str | None = None
    cudnn: str | None = None
    driver: str | None = None  # of NVIDIA or AMD
    environ: tuple[tuple[str, str], ...] = ()  # variables that change speed, as they were ("OMP_NUM_THREADS", "1")
    devices: tuple[BenchDevice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BenchOptions:
    """What was asked for. Empty `devices`: all that torch sees."""

    suite: str | None = None  # None: the tour
    effort: Literal["quick", "full"] = "quick"
    devices: tuple[str, ...] = ()
    dtypes: tuple[DType, ...] = ("fp32",)
    channels_last: bool = False
    compile: bool = False
    threads: int | None = None  # None: torch's own choice
    with_loader: bool = False
    show_unsynchronised: bool = False
    seed: int = 0
    time_limit_s: float | None = None  # of the measuring, as planned


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One comparison with the CPU's fp64 run of the same seed, or with the band of several seeds. It holds where
    `error` <= `tolerance`; both in the unit that `name` implies (relative errors, but for "band": distance from the
    middle of the band, in loss)."""

    name: str  # "loss", "outputs", "gradients", "band", "inputs-change", "finite", "memory"
    ok: bool
    error: float | None = None
    tolerance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Gate:
    """Whether a time may be shown. "INVALID": the computation is wrong; "IMPOSSIBLE": the time is (above the peak, or
    it does not grow with the work); "not-here": this torch or device lacks the workload; "not-run": the time was over,
    or it was interrupted. `why` is one plain sentence, "" where ok."""

    status: Status
    why: str = ""
    checks: tuple[GateCheck, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Milliseconds of one step. The interval is that of the median with 95 % confidence, by order statistics of the
    blocks' means; no distribution is assumed."""

    first_call_ms: float  # the very first step: libraries load, kernels or graphs are compiled
    warmup_ms: float  # how long it warmed up, all in all
    warm: bool  # whether the slope was below 1 % at its end; else the warm-up's time was over
    median_ms: float
    p5_ms: float
    p95_ms: float
    low_ms: float
    high_ms: float
    blocks: int  # spans between two synchronisations
    steps_per_block: int
    stopped: Stopped  # "precise": the interval's half-width is within 2 % of the median
    samples_per_s: float | None = None  # images, sequences, tokens or products: `Row.unit`
    unsynchronised_ms: float | None = None  # what a clock without synchronisation would say; never a result
    item_ms: float | None = None  # with `loss.item()` after every step; only with --show-unsynchronised
    loader_ms: float | None = None  # a step with a DataLoader in the clock (--with-loader); never mixed with the others
    loader_share: float | None = None  # 1 - median_ms / loader_ms, not below 0
    rounds_ms: tuple[float, ...] = ()  # the median of each round, in order: drift is seen here


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A ratio of two medians, with a 95 % interval. `against` is the key of the row in the denominator's place: the
    speed-up is that row's time over this one's, so above 1 is faster."""

    ratio: float
    low: float
    high: float
    against: str


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """The time of twice the work over the time of the work. Bounds are None where the cell is not bound by computing:
    then the ratio is only shown."""

    ratio: float
    low_bound: float | None = None
    high_bound: float | None = None
    ok: bool = True


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How the device was while it worked."""

    clock_mhz: float | None = None  # median
    clock_min_mhz: float | None = None
    power_w: float | None = None  # mean
    joules_per_sample: float | None = None  # of the whole board or package, idle power included
    temperature_c: float | None = None  # highest
    throttles: tuple[str, ...] = ()  # "power cap", "temperature" …, as in the probe
    pcie_generation: int | None = None
    pcie_width: int | None = None
    pcie_generation_max: int | None = None
    pcie_width_max: int | None = None
    peak_memory_bytes: int | None = None  # of torch's allocator; CPU: of the process (resident)
    memory_growth_bytes_per_step: float | None = None  # over the timed steps
    cpu_fallback: tuple[str, ...] = ()  # operations that ran on the CPU though another device was asked for
    tf32: bool | None = None  # NVIDIA, fp32: whether products were allowed to use TF32; elsewhere None
    float32_precision: str | None = None  # "highest", "high", "medium"
    busy: bool | None = None  # other programs used the device meanwhile
    utilization_percent: float | None = None  # of the time, the GPU ran something; highest after the warm-up
    cpus_used: float | None = None  # CPU seconds per second while timing
    cpus_waited: float | None = None  # seconds per second that its threads waited for a CPU that others had (Linux)
    others_share: float | None = None  # of the machine's CPU time, what other programs used while timing (Linux)


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a row is slow, or wrong: an id of the catalogue (`torchdoctor explain ID`) and one sentence with its
    values."""

    id: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Row:
    """One cell. `key` names workload, phase, device and every setting, so that equal keys of two reports can be
    compared."""

    key: str
    workload: str
    phase: Phase
    device: str
    dtype: DType
    batch: int  # that ran
    batch_wanted: int  # larger than `batch` where memory ran out
    threads: int | None  # CPU threads of torch in this row
    channels_last: bool
    compile: bool
    method: int = METHOD
    suite: str | None = None
    scale: int = 1  # 2: the doubled one of a pair, which only shows that time grows with the work
    unit: str = "images"  # what a sample is: "images", "sequences", "tokens", "products"
    size: str = ""  # of a sweep: "4096", "64x64x56"
    parameters: int | None = None
    flops_per_step: float | None = None  # counted, a multiply-add as two
    gate: Gate
    timing: Timing | None = None
    speedup: Ratio | None = None  # against the CPU's row
    scaling: Scaling | None = None
    tflops: float | None = None
    roofline_share: float | None = None  # of the peak of the type in force, or of what memory allows; 0 to 1
    bound: Literal["compute", "memory", "overhead"] | None = None  # what the roofline says it is limited by
    conditions: Conditions = field(default_factory=Conditions)
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()  # "batch 64 ran out of memory: 32", "power: not measurable here (not root)"


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The geometric mean of the speed-ups of a device over all its rows that have one."""

    device: str
    dtype: DType
    speedup: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, kw_only=True)
class BenchReport:
    """schema "bench-1". Times are UTC, ISO 8601. The command's exit code follows from `rows` and `interrupted`."""

    schema: str = SCHEMA
    method: int = METHOD
    tool: str
    taken_at: str
    duration_ms: float
    machine: BenchMachine
    options: BenchOptions
    rows: tuple[Row, ...] = ()
    means: tuple[Mean, ...] = ()
    findings: tuple[Reason, ...] = ()  # over all rows: "mps-wrong-results", "mps-memory-leak"
    notes: tuple[str, ...] = ()  # what was left out, and why
    interrupted: bool = False  # Ctrl-C: what was done by then is here

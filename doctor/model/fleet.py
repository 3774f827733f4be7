"""What `torchdoctor fleet` measures and reports: what each rank leaves ("fleet-rank-1"), and the report of all
("fleet-1").

A rank is one process of the launcher, with one device. Rates are GB/s (1e9 bytes) or TFLOP/s, times are seconds or
milliseconds as their names say. None: not known. Unlike other reports, these name hosts, because the operator needs
them; `--redact` replaces them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from doctor.model.values import dataclass

SCHEMA = "fleet-1"
RANK_SCHEMA = "fleet-rank-1"
# Raised whenever the same fleet would give other numbers; rates of different methods are never put in one class.
METHOD = 1

Verdict = Literal["pass", "degraded", "fail", "not-measured"]
EXIT_CODES: dict[Verdict, int] = {"pass": 0, "degraded": 1, "fail": 2, "not-measured": 3}
# ok: it ended; failed: it ended with an error; died: the process was gone; hung: its time was over and it was killed;
# ended: the launcher or the user ended it; not-run: it did not come to it
StageState = Literal["ok", "failed", "died", "hung", "ended", "not-run"]
# ok: all bytes are right; wrong: some are not; failed: an error; timed-out; absent: the partner did not come;
# unsupported: this backend does not have the operation
OutcomeState = Literal["ok", "wrong", "failed", "timed-out", "absent", "unsupported"]
Scope = Literal["node", "between"]  # a pair within one node, or of two nodes
SubjectKind = Literal["fleet", "node", "gpu", "link"]


# ---- what a rank leaves


@dataclass(frozen=True, kw_only=True)
class RankStage:
    """A: the device alone. B: the configuration. C: links and collectives. `step`: what was at work when it ended other
    than well, `frame` the innermost Python frame of a process that was ended from outside ("torch/cuda/__init__.py:
    synchronize"; "" where it did not say)."""

    name: Literal["A", "B", "C"]
    state: StageState
    step: str | None = None
    why: str = ""
    frame: str = ""
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class DeviceProbe:
    """The probe of stage A (docs/probes.md): how it ended, what was wrong, and its numbers, words and lists by their
    keys there."""

    status: Literal["ok", "failed", "crashed", "timed-out", "skipped"]
    stage: str | None = None
    reason: str = ""
    wrong: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    throttles: tuple[str, ...] = ()
    busy: bool = False  # other programs used the device meanwhile: its rates are not judged


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What this rank received from `source`. `gbs`: the best of several messages; `median_gbs`: their median.
    `wrong`: elements that differ from what was sent, `first_wrong` the index of the first. `round`: in which round it
    was; a pair is measured again when it looks bad (`again`)."""

    source: int
    scope: Scope
    round: int
    state: OutcomeState
    why: str = ""
    bytes: int | None = None
    gbs: float | None = None
    median_gbs: float | None = None
    wrong: int = 0
    first_wrong: int | None = None
    again: bool = False
    # A process at one end waited for a CPU for much of the time: the rate does not say how fast the link is. `most_gbs`
    # is what it would be at most, without that time.
    disturbed: bool = False
    most_gbs: float | None = None


@dataclass(frozen=True, kw_only=True)
class Collective:
    """One operation of all members, as this rank saw it. Bandwidths by the definitions of nccl-tests
    (doc/PERFORMANCE.md): algbw = bytes / time, busbw = algbw times a factor. `wrong_from`: the ranks whose part of the
    result is wrong, where the operation keeps the parts apart; `input_wrong`: this rank's own input was not what it
    had written, before or after. `missing`: ranks that did not come."""

    name: Literal["all-reduce", "all-gather", "reduce-scatter", "all-to-all"]
    state: OutcomeState
    members: int
    bytes: int | None = None
    ms: float | None = None
    algbw_gbs: float | None = None
    busbw_gbs: float | None = None
    wrong: int = 0
    first_wrong: int | None = None
    wrong_from: tuple[int, ...] = ()
    input_wrong: bool = False
    input_sum: int | None = None  # sums of all elements, as 64-bit integers
    output_sum: int | None = None
    missing: tuple[int, ...] = ()
    # NCCL does not say what it chose: NCCL_ALGO where that is set, "without NVLS" where that is off or not possible
    algorithm: str | None = None
    why: str = ""
    disturbed: bool = False


@dataclass(frozen=True, kw_only=True)
class SoakRound:
    """One round of a soak: rates of this rank's own device and of the all-reduce."""

    at_s: float
    tflops: float | None = None
    busbw_gbs: float | None = None
    wrong: int = 0
    disturbed: bool = False


@dataclass(frozen=True, kw_only=True)
class Heard:
    """What a collector heard of another rank over the rendezvous: also of one that could not write its file.
    `clock_s`: how far its clock was from the collector's when all were released at once."""

    rank: int
    host: str
    problem: str = ""
    clock_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class RankRecord:
    """All that one rank left. `config`: facts by name, as words ("torch", "nccl", "driver", "mtu", "NCCL_ALGO" …).
    `run`: the launcher's name of the job; `nonce`: a word that all ranks got that joined."""

    schema: str = RANK_SCHEMA
    method: int = METHOD
    tool: str = ""
    run: str = ""
    nonce: str | None = None
    rank: int
    world: int
    local_rank: int = 0
    local_world: int | None = None
    host: str
    address: str | None = None
    launcher: str = ""
    backend: str = ""
    device: str = "cpu"
    name: str | None = None  # of the device
    memory_bytes: int | None = None
    devices_seen: int | None = None  # by torch in this rank
    devices_there: int | None = None  # by the driver on this machine, whatever the variables hide
    started_at: str = ""
    written_at: str = ""
    finished: bool = False
    soak_minutes: float | None = None
    stages: tuple[RankStage, ...] = ()
    probe: DeviceProbe | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()  # ids of the catalogue, or of fleet findings, with ": " and one sentence
    heard: tuple[Heard, ...] = ()
    members: tuple[int, ...] | None = None  # the ranks that joined, as all agreed; None: it did not join
    pairs: tuple[Pair, ...] = ()
    collectives: tuple[Collective, ...] = ()
    soak: tuple[SoakRound, ...] = ()


# ---- the report


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """What members of a class are held against for one rate: below `threshold` is degraded. `basis`: "relative" (to
    the class: median - max(3 * 1.4826 * MAD, share * median)), "floor" (from knowledge), or "none" with `why`."""

    rate: str
    unit: str
    count: int
    median: float | None = None
    mad: float | None = None
    threshold: float | None = None
    basis: Literal["relative", "floor", "none"]
    floor: float | None = None
    floor_source: str = ""
    floor_kind: Literal["measured", "data sheet"] | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class FleetClass:
    """Devices that can be compared: the same model, form and fabric."""

    name: str
    device: str
    fabric: str
    gpus: int
    nodes: int
    yardsticks: tuple[Yardstick, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FleetFinding:
    """Something that is wrong, at one place. `id`: of the catalogue (`torchdoctor explain ID`), or one of the fleet's
    own ("fleet-…", docs/fleet.md). `subject`: a host, "HOST GPU 3 (rank 11)", "HOST-A -> HOST-B", or "fleet"."""

    id: str
    kind: SubjectKind
    subject: str
    verdict: Verdict
    text: str
    hosts: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    evidence: tuple[str, ...] = ()
    remedy: str = ""
    because: bool = False  # a consequence of another finding: told, but it accuses nobody


@dataclass(frozen=True, kw_only=True)
class NodeVerdict:
    """What became of one host. `why` says it in a sentence, `ranks` are those on it."""

    host: str
    verdict: Verdict
    why: str = ""
    ranks: tuple[int, ...] = ()
    gpus: int = 0
    of_class: str = ""


@dataclass(frozen=True, kw_only=True)
class GpuVerdict:
    """What became of one device. `rates` in units of their names."""

    rank: int
    host: str
    device: str
    name: str | None = None
    verdict: Verdict
    why: str = ""
    of_class: str = ""
    rates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LinkVerdict:
    """From one rank to another. Links that pass are listed for small fleets only (`FleetReport.links_measured` counts
    all)."""

    source: int
    target: int
    source_host: str
    target_host: str
    scope: Scope
    verdict: Verdict
    gbs: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class CollectiveVerdict:
    """One operation over all members: the bandwidth is that of the slowest rank, for that is when it is over."""

    name: str
    verdict: Verdict
    members: int
    bytes: int | None = None
    busbw_gbs: float | None = None
    algbw_gbs: float | None = None
    ms: float | None = None
    algorithm: str | None = None
    floor_gbs: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """A soak: the first and the last fifth of the rounds of one rank's rate."""

    rank: int
    host: str
    rate: str
    first: float
    last: float
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class FleetReport:
    """schema "fleet-1". `verdict`: fail before not-measured before degraded before pass. `not_judged`: what has a
    number or none, and no yardstick."""

    schema: str = SCHEMA
    method: int = METHOD
    tool: str
    taken_at: str
    verdict: Verdict
    why: str
    run: str = ""
    expected: int  # ranks
    heard: int  # ranks that left a record
    backend: str = ""
    torch: str | None = None
    classes: tuple[FleetClass, ...] = ()
    nodes: tuple[NodeVerdict, ...] = ()
    gpus: tuple[GpuVerdict, ...] = ()
    links: tuple[LinkVerdict, ...] = ()
    links_measured: int = 0
    collectives: tuple[CollectiveVerdict, ...] = ()
    findings: tuple[FleetFinding, ...] = ()
    drift: tuple[Drift, ...] = ()
    not_judged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

"""Two reports beside each other, and many in one table. Pure.

A verdict rests on the interval of the ratio of two medians. Two runs of the same thing differ by more than each run's
own interval says: clocks, placement and neighbours change between runs. So the spread of a run's rounds counts, too,
and a difference below `SAME` is no difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from doctor.bench import intervals
from doctor.model.bench import BenchDevice, BenchReport, Conditions, Row
from doctor.model.values import dataclass

SAME = 1.03  # ratios within 1/SAME to SAME are no difference: two runs of one program on an idle machine differ as much
# Rows bound by launching kernels take the time of the CPU's Python. From one run to the next that drifts by far more
# than within a run: over 19 runs of `mlp` on an idle H200 with 16 virtual CPUs the logarithms of the medians had
# standard deviations of 0.12 and 0.16 (scripts/bench_bench.py --pairs, 2026-11-22); each run's interval was ±3 %.
LAUNCHING = 1.2  # for each of the two rows
# Rows that depend on a CPU, while other programs work on a tenth of the machine's CPUs or more: they share caches,
# memory and the clock also where nobody waits. Over 21 runs of `mlp` on 4 of 32 virtual CPUs, of which others used up
# to 20, the logarithms of the medians had standard deviations of 0.17 (the same script and day).
CROWDED, OTHERS = 1.3, 0.1  # for each of the two rows; a share
# In a virtual machine others use the same processors unseen. On 4 of its 32 CPUs, of which the rest were nearly idle, a
# run took up to 1.7 times as long as the next: 18 of 40 comparisons of equal runs went beyond their intervals (the same
# script, 2026-11-23). So rows of its CPUs are always taken for crowded.
CLOCK = 0.03  # clocks that differ by more are named

Verdict = Literal["FASTER", "SLOWER", "SAME", "UNSURE", "NOT COMPARED"]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One row of both reports. `ratio` is the new time over the old one: below 1 is faster. `lost`: it had a time
    and has none any more; `changed`: what else is different in this row, a clause each."""

    key: str
    verdict: Verdict
    old_ms: float | None
    new_ms: float | None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    lost: bool = False
    why: str = ""
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something of the machine or the environment that is not the same. None: not known."""

    what: str
    old: str | None
    new: str | None


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Of two reports: the rows of the new one in its order, then those that only the old one has."""

    schema: str = "bench-compare-1"
    old: str  # when it was taken
    new: str
    rows: tuple[Compared, ...]
    changes: tuple[Change, ...] = ()


def compare(old: BenchReport, new: BenchReport) -> Comparison:
    """What became faster or slower from `old` to `new`, and what else changed meanwhile."""
    before = {row.key: row for row in old.rows}
    after = {row.key: row for row in new.rows}
    shared = (bool(old.machine.virtual_machine), bool(new.machine.virtual_machine))
    rows = [_compared(before.get(key), after.get(key), shared) for key in dict.fromkeys((*after, *before))]
    return Comparison(old=old.taken_at, new=new.taken_at, rows=tuple(rows), changes=tuple(_changes(old, new)))


def verdict_of(low: float, high: float) -> Verdict:
    """By where the interval of the ratio lies: wholly beyond what counts as no difference, wholly within, or neither.

    >>> [verdict_of(*i) for i in ((0.80, 0.90), (1.10, 1.30), (0.99, 1.02), (0.90, 1.10), (0.96, 1.00))]
    ['FASTER', 'SLOWER', 'SAME', 'UNSURE', 'UNSURE']
    """
    if high < 1 / SAME:
        return "FASTER"
    if low > SAME:
        return "SLOWER"
    return "SAME" if low >= 1 / SAME and high <= SAME else "UNSURE"


def _compared(old: Row | None, new: Row | None, shared: tuple[bool, bool]) -> Compared:
    """`shared`: whether the old and the new one's CPUs are those of a virtual machine."""
    key = (new or old).key  # type: ignore[union-attr]
    was, now = old.timing if old else None, new.timing if new else None
    old_ms, new_ms = was.median_ms if was else None, now.median_ms if now else None
    if why := _not_comparable(old, new):
        return Compared(
            key=key, verdict="NOT COMPARED", old_ms=old_ms, new_ms=new_ms, why=why, lost=bool(was and new and not now)
        )
    assert old is not None and new is not None and was is not None and now is not None
    ratio, low, high = intervals.ratio_of(new, old)
    between = _between_runs(old, shared[0]) * _between_runs(new, shared[1])
    low, high = low / between, high * between
    return Compared(
        key=key, verdict=verdict_of(low, high), old_ms=old_ms, new_ms=new_ms, ratio=ratio, low=low, high=high,
        changed=tuple(_conditions(old, new)),
    )  # fmt: skip


def _between_runs(row: Row, shared: bool) -> float:
    """By what factor the time of such a row differs between runs, beyond what one run can see."""
    others = (row.conditions.others_share or 0.0) >= OTHERS
    crowded = (row.device == "cpu" and (others or shared)) or (row.bound == "overhead" and others)
    return max(LAUNCHING if row.bound == "overhead" else 1.0, CROWDED if crowded else 1.0)


def _not_comparable(old: Row | None, new: Row | None) -> str:
    if old is None:
        return "only in the new report"
    if new is None:
        return "only in the old report"
    if old.method != new.method:
        return f"measured by other methods ({old.method} and {new.method})"
    if old.timing is None or new.timing is None:
        said = [f"{when} {row.gate.status}" for when, row in (("then", old), ("now", new)) if row.timing is None]
        why = new.gate.why if new.timing is None else old.gate.why
        return ", ".join(said) + (f": {why}" if why else "")
    if old.batch != new.batch:
        return f"the batch was {old.batch} and is {new.batch}"
    return ""


def _conditions(old: Row, new: Row) -> Iterable[str]:
    a, b = old.conditions, new.conditions
    if a.clock_mhz and b.clock_mhz and abs(b.clock_mhz / a.clock_mhz - 1) > CLOCK:
        yield f"clock {a.clock_mhz:.0f} then, {b.clock_mhz:.0f} MHz now"
    for words, was, now in (
        ("held back by", a.throttles, b.throttles),
        ("on the CPU:", a.cpu_fallback, b.cpu_fallback),
    ):
        if set(was) != set(now):
            yield f"{words} {', '.join(was) or 'nothing'} then, {', '.join(now) or 'nothing'} now"
    for words, name in (("TF32", "tf32"), ("other programs on the device", "busy")):
        was_so, is_so = getattr(a, name), getattr(b, name)
        if was_so is not None and is_so is not None and was_so != is_so:
            yield f"{words}: {'yes' if was_so else 'no'} then, {'yes' if is_so else 'no'} now"
    waited = [intervals.waiting(row) for row in (old, new)]
    if max(waited) > intervals.WAITED:
        yield "waiting for a CPU: {:.0f} % of the time then, {:.0f} % now".format(*(100 * w for w in waited))
    others = [conditions.others_share or 0.0 for conditions in (a, b)]
    if max(others) >= OTHERS:
        yield "other programs on the CPUs: {:.0f} % of them then, {:.0f} % now".format(*(100 * s for s in others))
    yield from _links(a, b)
    if old.threads != new.threads:
        yield f"threads {_said(old.threads)} then, {_said(new.threads)} now"


def _links(a: Conditions, b: Conditions) -> Iterable[str]:
    if None not in (a.pcie_width, b.pcie_width) and (a.pcie_generation, a.pcie_width) != (
        b.pcie_generation, b.pcie_width,
    ):  # fmt: skip
        yield f"PCIe {a.pcie_generation} x{a.pcie_width} then, {b.pcie_generation} x{b.pcie_width} now"


_OF_MACHINE = (
    ("torch", "torch"), ("cuda", "CUDA of torch"), ("hip", "HIP of torch"), ("xpu", "SYCL of torch"),
    ("cudnn", "cuDNN"), ("driver", "driver"), ("python", "Python"), ("os_name", "operating system"),
    ("arch", "architecture"),
)  # fmt: skip
_OF_DEVICE = (
    ("name", ""), ("threads", "threads"), ("cpu_capability", "instruction set"), ("logical_cores", "cores"),
    ("power_limit_w", "power limit, W"), ("clock_max_mhz", "highest clock, MHz"), ("memory_bytes", "memory, bytes"),
)  # fmt: skip


def _changes(old: BenchReport, new: BenchReport) -> Iterable[Change]:
    """What is not the same; what one of the two does not know is named only where the other does."""
    if old.tool != new.tool:
        yield Change(what="torchdoctor", old=old.tool, new=new.tool)
    for name, words in _OF_MACHINE:
        was, now = getattr(old.machine, name), getattr(new.machine, name)
        if was != now:
            yield Change(what=words, old=was, new=now)
    variables, since = dict(old.machine.environ), dict(new.machine.environ)
    for name in sorted(variables.keys() | since.keys()):
        if variables.get(name) != since.get(name):
            yield Change(what=name, old=variables.get(name, "not set"), new=since.get(name, "not set"))
    devices: dict[str, BenchDevice] = {d.device: d for d in old.machine.devices}
    for device in new.machine.devices:
        if (before := devices.get(device.device)) is None:
            continue
        for name, words in _OF_DEVICE:
            was, now = getattr(before, name), getattr(device, name)
            if was != now:
                yield Change(what=f"{device.device} {words}".strip(), old=_said(was), new=_said(now))


def _said(value: object) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)


# ---- many machines


@dataclass(frozen=True, kw_only=True)
class Column:
    """One device of a machine, as it was in one or several reports."""

    machine: str  # "NVIDIA H200", "NVIDIA H200 (2)" where two reports have one
    about: str  # "torch 2.11.0+cu130, driver 580.159, Ubuntu 22.04, 2026-11-21"
    device: str


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of the table: one workload in one setting, and what each column measured (None: it has no such row; a row
    without a time says why)."""

    workload: str
    phase: str
    batch: int
    setting: str
    size: str
    unit: str
    rows: tuple[Row | None, ...]


@dataclass(frozen=True, kw_only=True)
class MergedTable:
    """All that was measured by one method."""

    method: int
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]


@dataclass(frozen=True, kw_only=True)
class Merged:
    """Many reports: a table for each method, the newest first. Rows of different methods never share a table."""

    schema: str = "bench-merge-1"
    tables: tuple[MergedTable, ...]


def merge(reports: Sequence[BenchReport]) -> Merged:
    """The table of many machines. The CPU's rows of several reports are columns of their own, like any device's."""
    methods = sorted({row.method for report in reports for row in report.rows}, reverse=True)
    return Merged(tables=tuple(_merged(method, reports) for method in methods))


def setting_of(row: Row) -> str:
    """What was asked for besides the defaults: "bf16, channels-last, compiled, 2x the work"."""
    words: list[str] = [row.dtype] if row.dtype != "fp32" else []
    words += ["channels-last"] * row.channels_last + ["compiled"] * row.compile
    words += [f"{row.scale}x the work"] * (row.scale != 1)
    return ", ".join(words)


def _merged(method: int, reports: Sequence[BenchReport]) -> MergedTable:
    columns: list[list[Row]] = []
    heads: list[tuple[str, str, str]] = []  # name, device, environment
    dates: list[list[str]] = []
    for report in reports:
        timed = [row for row in report.rows if row.method == method and row.scale == 1]
        for device in dict.fromkeys(row.device for row in timed):
            rows = [row for row in timed if row.device == device]
            head = (_name_of(report, device), device, _about(report))
            place = next((i for i, h in enumerate(heads) if h == head and _disjoint(columns[i], rows)), None)
            if place is None:
                heads.append(head)
                columns.append([])
                dates.append([])
                place = len(heads) - 1
            columns[place] += rows
            dates[place].append(report.taken_at[:10])
    keys = dict.fromkeys(_entry_of(row) for rows in columns for row in rows)
    found = [{_entry_of(row): row for row in rows} for rows in columns]
    return MergedTable(
        method=method,
        columns=tuple(_columns(heads, dates)),
        entries=tuple(
            Entry(
                workload=key[0], phase=key[1], batch=key[2], setting=key[3], size=key[4], unit=key[5],
                rows=tuple(rows.get(key) for rows in found),
            )
            for key in keys
        ),
    )  # fmt: skip


def _columns(heads: Sequence[tuple[str, str, str]], dates: Sequence[Sequence[str]]) -> Iterator[Column]:
    """With a number where two have one name."""
    seen: dict[str, int] = {}
    for (name, device, about), days in zip(heads, dates, strict=True):
        seen[name] = seen.get(name, 0) + 1
        shown = name if seen[name] == 1 else f"{name} ({seen[name]})"
        yield Column(machine=shown, about=", ".join((about, *sorted(set(days)))), device=device)


def _entry_of(row: Row) -> tuple[str, str, int, str, str, str]:
    return row.workload, row.phase, row.batch_wanted, setting_of(row), row.size, row.unit


def _disjoint(some: Iterable[Row], others: Iterable[Row]) -> bool:
    """Whether no cell is in both: several suites of one machine share a column, two runs of one suite do not."""
    return not {_entry_of(row) for row in some} & {_entry_of(row) for row in others}


def _name_of(report: BenchReport, device: str) -> str:
    known = next((d for d in report.machine.devices if d.device == device), None)
    name = known.name if known and known.name else device
    if device != "cpu":
        return name
    threads = sorted({row.threads for row in report.rows if row.device == device and row.threads})
    return f"{name}, {' or '.join(map(str, threads))} thread{'' if threads == [1] else 's'}" if threads else name


def _about(report: BenchReport) -> str:
    machine = report.machine
    parts = (
        f"torch {machine.torch}" if machine.torch else "torch not known",
        f"driver {machine.driver}" if machine.driver else "",
        machine.os_name or machine.system or "",
    )
    return ", ".join(p for p in parts if p)

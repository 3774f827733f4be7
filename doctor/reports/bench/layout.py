"""What stands in the tables of a benchmark, whatever the format: device by batch gives time and speed-up, as in the
articles that a suite repeats, with the published figures beside them. Pure.

Text that is torchdoctor's own (numbers, units) is `Own`; all other cells are foreign, and each format escapes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import get_args

from doctor.bench import statistics
from doctor.bench.compare import Compared, Comparison, Entry, Merged, MergedTable, Verdict, setting_of
from doctor.knowledge import published, speeds
from doctor.knowledge.published import Caveat, Published
from doctor.model.bench import BenchDevice, BenchReport, Row, Timing
from doctor.model.values import dataclass

PUBLISHED_AT_MOST = 16
_NEAR = 8.0  # a published row farther away (another kind of device, another batch) says nothing
_TALL = 2  # batches from which a suite's table has a column for each


class Own(str):
    """Text that consists of numbers and our own words only."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: `title` ("" for none), heads, and lines of as many cells."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    below: tuple[str, ...] = ()  # lines under it: addresses, what was left out
    aside: bool = False  # figures of others: a page folds them


# ---- numbers


def time_of(ms: float) -> Own:
    """Three digits, in ms below a second.

    >>> time_of(0.1234), time_of(12.34), time_of(2760.84)
    ('0.123 ms', '12.3 ms', '2.76 s')
    """
    return Own(f"{ms / 1000:.3g} s" if ms >= 1000 else f"{ms:.3g} ms")


def spread_of(timing: Timing) -> Own:
    """Half of the interval, in per cent of the median; of too few steps for one, half of their range."""
    half = (timing.high_ms - timing.low_ms) / 2 / timing.median_ms
    few = timing.blocks < statistics.LEAST_INTERVAL
    over = f" ({timing.blocks * timing.steps_per_block} steps)" if few else " (time over)"
    return Own(f"±{100 * half:.1f} %" + ("" if timing.stopped == "precise" else over))


def times_of(ratio: float) -> Own:
    """A speed-up.

    >>> times_of(0.1234), times_of(8.149), times_of(123.4)
    ('0.123x', '8.15x', '123x')
    """
    return Own(f"{ratio:.3g}x" if ratio < 1000 else f"{ratio:,.0f}x")


def rate_of(per_s: float) -> Own:
    """Samples per second."""
    return Own(f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}")


def shown_time(row: Row | None) -> str:
    """The time, or the word for why there is none."""
    if row is None:
        return Own("")
    return time_of(row.timing.median_ms) if row.timing else Own(row.gate.status)


# ---- one report


def tables(report: BenchReport) -> tuple[Table, ...]:
    """The tables of a report: one a suite (the tour has one of its own), each followed by its published figures."""
    found: list[Table] = []
    for suite in dict.fromkeys(row.suite for row in report.rows):
        rows = [row for row in report.rows if row.suite == suite and row.scale == 1]
        if not rows:
            continue
        found.append(_measured(rows, suite))
        if suite and (table := _published(suite, report, rows)):
            found.append(table)
    if extra := _loader(report.rows):
        found.append(extra)
    if extra := _unsynchronised(report.rows):
        found.append(extra)
    return tuple(found)


def name_of(row: Row) -> str:
    """ "vgg16 training", "matmul 4096"."""
    words = [row.workload, row.size if row.phase == "product" and row.size else row.phase]
    return " ".join(words)


def _measured(rows: Sequence[Row], suite: str | None) -> Table:
    title = f"suite {suite}" if suite else ""
    batches = sorted({row.batch_wanted for row in rows})
    groups: dict[tuple[str, str, str], dict[int, Row]] = {}
    for row in rows:
        groups.setdefault((name_of(row), row.device, setting_of(row)), {})[row.batch_wanted] = row
    settings = any(key[2] for key in groups)
    if len(batches) >= _TALL and all(len(group) == len(batches) for group in groups.values()):
        heads = ["workload", "device", *["setting"] * settings]
        for batch in batches:
            heads += [f"batch {batch}", "speed-up"]
        lines = (
            (name, device, *[setting] * settings, *(c for b in batches for c in (_time(group[b]), _speedup(group[b]))))
            for (name, device, setting), group in groups.items()
        )
        return Table(title=title, heads=tuple(heads), lines=tuple(lines))
    heads = ["workload", "device", *["setting"] * settings]
    heads += ["batch", "time", Own("95 %"), "samples/s", "speed-up", "roofline"]
    flat = [_flat(row, settings) for row in rows]
    return _without_empty(Table(title=title, heads=tuple(heads), lines=tuple(flat)))


def _flat(row: Row, settings: bool) -> tuple[str, ...]:
    timing = row.timing
    return (
        name_of(row), row.device, *[setting_of(row)] * settings, _batch(row), shown_time(row),
        spread_of(timing) if timing else Own(""),
        rate_of(timing.samples_per_s) if timing and timing.samples_per_s else Own(""), _speedup(row), _roofline(row),
    )  # fmt: skip


def _time(row: Row) -> str:
    shown = shown_time(row)
    return Own(f"{shown} {spread_of(row.timing)}") if row.timing else shown


def _batch(row: Row) -> Own:
    return Own(str(row.batch) + (f" (not {row.batch_wanted})" if row.batch != row.batch_wanted else ""))


def _speedup(row: Row) -> Own:
    ratio = row.speedup
    return Own(f"{times_of(ratio.ratio)} ({ratio.low:.3g}-{ratio.high:.3g})") if ratio else Own("")


def _roofline(row: Row) -> Own:
    if row.roofline_share is None:
        return Own("")
    return Own(f"{100 * row.roofline_share:.0f} %" + (f", {row.bound} bound" if row.bound else ""))


def _without_empty(table: Table) -> Table:
    """The table without its empty columns."""
    kept = [i for i in range(len(table.heads)) if any(line[i] for line in table.lines)]
    heads = tuple(table.heads[i] for i in kept)
    return replace(table, heads=heads, lines=tuple(tuple(line[i] for i in kept) for line in table.lines))


def _loader(rows: Iterable[Row]) -> Table | None:
    lines = tuple(
        (name_of(row), row.device, _batch(row), time_of(row.timing.median_ms), time_of(row.timing.loader_ms),
         Own(f"{100 * row.timing.loader_share:.0f} %" if row.timing.loader_share is not None else ""))
        for row in rows if row.timing and row.timing.loader_ms and row.scale == 1
    )  # fmt: skip
    heads = ("workload", "device", "batch", "compute alone", "with a loader", "of it the loader")
    title = "with a DataLoader in the clock, as the articles measured (never mixed with the times above)"
    return Table(title=title, heads=heads, lines=lines) if lines else None


def _unsynchronised(rows: Iterable[Row]) -> Table | None:
    """For accelerators only: a CPU has nothing to wait for."""
    lines = tuple(
        (name_of(row), row.device, _batch(row), time_of(row.timing.median_ms), time_of(row.timing.unsynchronised_ms),
         times_of(row.timing.median_ms / row.timing.unsynchronised_ms),
         time_of(row.timing.item_ms) if row.timing.item_ms else Own(""))
        for row in rows if row.timing and row.timing.unsynchronised_ms and row.scale == 1 and row.device != "cpu"
    )  # fmt: skip
    heads = ("workload", "device", "batch", "time", "a clock that does not wait", "too fast by", "with loss.item()")
    title = "what a clock without synchronisation would have said (no result)"
    return _without_empty(Table(title=title, heads=heads, lines=lines)) if lines else None


# ---- what is published


def _published(suite: str, report: BenchReport, rows: Sequence[Row]) -> Table | None:
    """The figures of the works that the suite repeats, those of similar devices first: machine by batch gives the
    CPU's time, the GPU's, and the speed-up."""
    wanted = {(row.workload, row.phase) for row in rows}
    mine = [d for d in report.machine.devices if any(row.device == d.device for row in rows)]
    found: dict[tuple[object, ...], dict[str, Published]] = {}
    for number in published.of_suite(suite):
        if (number.workload, number.phase) in wanted:
            every_step = any(c.id == "item-every-step" for c in number.caveats)
            key = (number.work.id, number.workload, number.phase, number.machine, number.batch, number.dtype,
                   number.torch, every_step)  # fmt: skip
            found.setdefault(key, {})["cpu" if number.device == "cpu" else "gpu"] = number
    pairs = sorted(found.values(), key=lambda pair: not any(_alike(p, d) for p in pair.values() for d in mine))
    shown = pairs[:PUBLISHED_AT_MOST]
    if not shown:
        return None
    works = list(dict.fromkeys(p.work.id for pair in shown for p in pair.values()))
    lines = tuple(_published_line(pair.get("cpu"), pair.get("gpu"), works) for pair in shown)
    below = [f"[{n}] {_work(id)}" for n, id in enumerate(works, 1)]
    marks = {c.id: c for pair in shown for p in pair.values() for c in p.caveats}
    below += [f"{_mark(c)}: {c.means}" for c in marks.values()]
    if len(pairs) > len(shown):
        below.append(f"{len(pairs) - len(shown)} more published lines are in the tables.")
    heads = ("published", "machine", "batch", "CPU", "GPU", "speed-up", "torch", "notes")
    title = f"published figures for {suite}"
    return _without_empty(Table(title=title, heads=heads, lines=lines, below=tuple(below), aside=True))


def _published_line(cpu: Published | None, gpu: Published | None, works: Sequence[str]) -> tuple[str, ...]:
    one = gpu or cpu
    assert one is not None
    marks = dict.fromkeys(_mark(c) for p in (cpu, gpu) if p for c in p.caveats)
    return (
        f"{one.workload} {one.phase}", one.machine, Own(str(one.batch) if one.batch else ""), _published_time(cpu),
        _published_time(gpu), _published_speedup(cpu, gpu), one.torch or Own(""),
        Own(f"[{works.index(one.work.id) + 1}] {', '.join(marks)}".strip()),
    )  # fmt: skip


def _mark(caveat: Caveat) -> Own:
    return Own(caveat.id.replace("-", " ").replace("tf32", "TF32"))


def _alike(row: Published, device: BenchDevice) -> bool:
    return row.device == device.device.partition(":")[0] and published.same_model(row.machine, device.name)


def _published_time(row: Published | None) -> Own:
    """Show no time for a computation with wrong results."""
    if row is None:
        return Own("")
    if row.wrong:
        return Own("WRONG")
    if row.step_ms is not None:
        return time_of(row.step_ms)
    return Own(f"{row.value:g} s an epoch") if row.quantity == "epoch_s" else Own("")


def _published_speedup(cpu: Published | None, gpu: Published | None) -> Own:
    """As published, or of the two times."""
    if gpu is None or gpu.wrong:
        return Own("")
    if gpu.quantity == "speedup":
        return times_of(gpu.value)
    if cpu is None or cpu.wrong or cpu.quantity != gpu.quantity:
        return Own("")
    ratio = cpu.value / gpu.value
    return times_of(1 / ratio if gpu.quantity == "samples_per_s" else ratio)


def _work(id: str) -> str:
    work = published.works()[id]
    return f"{work.title}: {work.where}"


def references() -> Table:
    """`bench --known`: what is published and wrong, or not comparable, each with its reason and source."""
    lines = tuple(
        (Own(k.kind.replace("-", " ")), k.work.title, k.claim, k.reason, Own(f"{k.factor:g}x" if k.factor else ""),
         k.see, k.work.where)
        for k in published.known()
    )  # fmt: skip
    heads = ("", "where", "what it says", "what is wrong", "by", "see it yourself", "address")
    return Table(title="published numbers that are wrong, or not comparable", heads=heads, lines=lines)


# ---- in words


def devices(report: BenchReport) -> Iterator[str]:
    """A line for each device."""
    for device in report.machine.devices:
        parts = [device.name or "name not known"]
        if device.memory_bytes:
            parts.append(f"{device.memory_bytes / 1e9:.0f} GB")
        if device.threads:
            parts.append(f"{device.threads} threads" + (f" of {device.logical_cores}" if device.logical_cores else ""))
        if device.cpu_capability:
            parts.append(device.cpu_capability)
        if device.power_limit_w:
            parts.append(f"limit {device.power_limit_w:g} W")
        yield f"{device.device}: {', '.join(parts)}"


def environment(report: BenchReport) -> str:
    """ "torch 2.11.0+cu130, driver 580.159, Python 3.12.4, Ubuntu 22.04"."""
    m = report.machine
    parts = (
        f"torch {m.torch}" if m.torch else "torch not known", f"cuDNN {m.cudnn}" if m.cudnn else "",
        f"driver {m.driver}" if m.driver else "", f"Python {m.python}" if m.python else "", m.os_name or m.system or "",
        *(f"{name}={value}" for name, value in m.environ),
    )  # fmt: skip
    return ", ".join(p for p in parts if p)


def means(report: BenchReport) -> Iterator[str]:
    """The geometric means, one line for each device and type."""
    for mean in report.means:
        yield (
            f"{mean.device} {mean.dtype}: {times_of(mean.speedup)} ({mean.low:.3g}-{mean.high:.3g}) of the CPU, "
            f"geometric mean of {mean.rows} row{'' if mean.rows == 1 else 's'}"
        )


def remarks(report: BenchReport) -> Iterator[tuple[str, str]]:
    """(row, sentence): why a row has no time, why it is slow, what it notes."""
    for row in report.rows:
        name = " ".join(p for p in (name_of(row), setting_of(row), f"batch {row.batch_wanted}", row.device) if p)
        if row.gate.status != "ok":
            yield name, f"{row.gate.status}: {row.gate.why or 'no reason was given'}"
        if row.scaling and not row.scaling.ok:
            yield name, f"twice the work takes {row.scaling.ratio:.2f} times as long"
        for reason in row.reasons:
            yield name, f"{reason.text} (torchdoctor explain {reason.id})"
        for note in row.notes:
            yield name, note


def standing(report: BenchReport) -> Iterator[tuple[str, str]]:
    """(row, sentence): of a product what healthy devices of the model reach, of all others the nearest published row,
    where one is near enough to say something."""
    known = {device.device: device for device in report.machine.devices}
    for row in report.rows:
        if row.timing is None or row.timing.samples_per_s is None or row.scale != 1:
            continue
        device = known.get(row.device)
        dtype = "tf32" if row.dtype == "fp32" and row.conditions.tf32 else row.dtype
        if row.workload == "matmul" and row.tflops and device and device.name:
            if expected := speeds.product_rate(device.name, dtype):
                share = 100 * row.tflops / expected.rate
                yield name_of(row) + f", {row.device}", (
                    f"{row.tflops:.3g} TFLOP/s {dtype.upper()}, {share:.0f} % of the {expected.rate:.3g} that a "
                    f"healthy {device.name} reaches ({expected.source})"
                )
            continue
        near = published.nearest(
            row.workload, row.phase, device=row.device.partition(":")[0], name=device.name if device else None,
            batch=row.batch, dtype=dtype, torch=report.machine.torch, most=1,
        )  # fmt: skip
        for found in near:
            rate = found.row.samples_per_s
            if rate and found.distance <= _NEAR and found.row.device == row.device.partition(":")[0]:
                differs = f"; differs: {', '.join(found.differs)}" if found.differs else ""
                yield name_of(row) + f", batch {row.batch}, {row.device}", (
                    f"{rate_of(row.timing.samples_per_s)} {row.unit}/s; nearest published: {rate_of(rate)} on "
                    f"{found.row.machine}, {found.row.device} ({found.row.work.title}{differs})"
                )


def verdict(report: BenchReport) -> str:
    """The last line."""
    timed = sum(row.timing is not None for row in report.rows)
    words = [f"{timed} of {len(report.rows)} rows have a time"]
    for status, meaning in (("INVALID", "wrong results"), ("IMPOSSIBLE", "impossible times")):
        if number := sum(row.gate.status == status for row in report.rows):
            words.append(f"{number} {status} ({meaning})")
    if report.interrupted:
        words.append("interrupted")
    return "; ".join(words) + "."


# ---- comparisons and merged tables


def comparison(result: Comparison) -> tuple[Table, ...]:
    """What became faster or slower, then what else changed."""
    lines = tuple(
        (Own(c.verdict), c.key, _maybe(c.old_ms), _maybe(c.new_ms), _change(c),
         "; ".join((*[c.why] * bool(c.why), *c.changed)))
        for c in result.rows
    )  # fmt: skip
    heads = ("verdict", "row", "then", "now", "time", "what else")
    found = [_without_empty(Table(title=f"{result.old} to {result.new}", heads=heads, lines=lines))]
    if result.changes:
        changes = tuple((c.what, c.old or Own("not known"), c.new or Own("not known")) for c in result.changes)
        found.append(Table(title="what else changed", heads=("", "then", "now"), lines=changes))
    return tuple(found)


def compared_in_a_line(result: Comparison) -> str:
    """ "1 FASTER, 2 SAME, 1 NOT COMPARED."."""
    counts = {word: sum(c.verdict == word for c in result.rows) for word in get_args(Verdict)}
    return ", ".join(f"{n} {word}" for word, n in counts.items() if n) + "." if result.rows else "no rows."


def _maybe(ms: float | None) -> Own:
    return Own("") if ms is None else time_of(ms)


def _change(c: Compared) -> Own:
    if c.ratio is None or c.low is None or c.high is None:
        return Own("")
    return Own(f"{100 * (c.ratio - 1):+.1f} % ({100 * (c.low - 1):+.1f} to {100 * (c.high - 1):+.1f})")


def merged(result: Merged) -> tuple[Table, ...]:
    """A table for each method; each column is a device of a report, named below."""
    return tuple(_merged(table) for table in result.tables)


def _merged(table: MergedTable) -> Table:
    heads = ("workload", "batch", "setting", *(column.machine for column in table.columns))
    lines = tuple(_entry(entry) for entry in table.entries)
    below = tuple(f"{column.machine}: {column.device}, {column.about}" for column in table.columns)
    title = f"time of a step, method {table.method}"
    kept = any(entry.setting for entry in table.entries)
    if not kept:
        heads, lines = (*heads[:2], *heads[3:]), tuple((*line[:2], *line[3:]) for line in lines)
    return Table(title=title, heads=heads, lines=lines, below=below)


def _entry(entry: Entry) -> tuple[str, ...]:
    name = f"{entry.workload} {entry.size if entry.phase == 'product' and entry.size else entry.phase}"
    return (name, Own(str(entry.batch)), entry.setting, *(shown_time(row) for row in entry.rows))

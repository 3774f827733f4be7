"""A benchmark as one HTML file that needs nothing else: tables, bars with error bars, and a plot of the speed-ups.

The drawings are inline SVG whose lengths are per cent of the page's width and whose text is not scaled, so they fit a
telephone and a wide screen. Needs jinja2, which comes with torchdoctor[html].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from doctor.bench.compare import setting_of
from doctor.model.bench import BenchReport, Row
from doctor.model.values import dataclass
from doctor.reports.bench import layout
from doctor.reports.pages import page

LINE = 40  # height of one row of a drawing, in CSS pixels: its name, then its bar
ROOM = 98.0  # per cent of the width that the longest interval reaches to
LEFT, RIGHT = 2.0, 96.0  # per cent: the ends of the speed-ups' axis


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A time: all x are per cent of the width, y are pixels."""

    name: str
    device: int  # number of its colour
    shown: str
    y: int
    width: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Bars:
    """One workload on several devices, on a scale of its own that begins at 0."""

    title: str
    bars: tuple[Bar, ...]
    height: int
    said: str  # the same in words, for those who cannot see it


@dataclass(frozen=True, kw_only=True)
class Point:
    """A speed-up with its interval."""

    name: str
    device: int
    shown: str
    y: int
    x: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Speedups:
    """All speed-ups on one logarithmic axis. `ticks`: (x, label)."""

    points: tuple[Point, ...]
    ticks: tuple[tuple[float, str], ...]
    one: float
    height: int
    said: str


def render(report: BenchReport) -> str:
    """The document. All foreign text is escaped by the template's autoescaping, after sinks.py's escapers."""
    return page(
        "bench.html.j2",
        report=report,
        environment=layout.environment(report),
        devices=list(layout.devices(report)),
        tables=layout.tables(report),
        groups=list(bars(report)),
        speedups=speedups(report),
        means=list(layout.means(report)),
        standing=list(layout.standing(report)),
        remarks=list(layout.remarks(report)),
        verdict=layout.verdict(report),
        invalid=any(row.gate.status in ("INVALID", "IMPOSSIBLE") for row in report.rows),
    )


def bars(report: BenchReport) -> Iterator[Bars]:
    """Times of each workload that has one on some device."""
    order = _order(report)
    groups: dict[tuple[str | None, str, int], list[Row]] = {}
    for row in report.rows:
        if row.timing and row.scale == 1:
            groups.setdefault((row.suite, layout.name_of(row), row.batch), []).append(row)
    for (_, name, batch), rows in groups.items():
        longest = max(row.timing.high_ms for row in rows if row.timing)
        found = tuple(_bar(row, number, longest, order) for number, row in enumerate(rows))
        said = "; ".join(f"{bar.name} {bar.shown}" for bar in found)
        yield Bars(title=f"{name}, batch {batch}", bars=found, height=LINE * len(found), said=said)


def _bar(row: Row, number: int, longest: float, order: Sequence[str]) -> Bar:
    timing = row.timing
    assert timing is not None
    scale = ROOM / longest
    return Bar(
        name=" ".join(p for p in (row.device, setting_of(row)) if p), device=order.index(row.device) % 6,
        shown=f"{layout.time_of(timing.median_ms)} {layout.spread_of(timing)}", y=LINE * number,
        width=_percent(timing.median_ms * scale), low=_percent(timing.low_ms * scale),
        high=_percent(timing.high_ms * scale),
    )  # fmt: skip


def speedups(report: BenchReport) -> Speedups | None:
    """The plot of the speed-ups; None where no row has one."""
    order = _order(report)
    rows = [row for row in report.rows if row.speedup and row.scale == 1]
    if not rows:
        return None
    ends = [end for row in rows if row.speedup for end in (row.speedup.low, row.speedup.high)]
    low = math.floor(math.log10(min(*ends, 1.0)))
    high = math.ceil(math.log10(max(*ends, 2.0)))

    def place(ratio: float) -> float:
        share = (math.log10(ratio) - low) / (high - low)
        return _percent(LEFT + (RIGHT - LEFT) * min(1.0, max(0.0, share)))

    points = tuple(
        Point(
            name=" ".join(p for p in (layout.name_of(row), setting_of(row), f"batch {row.batch}", row.device) if p),
            device=order.index(row.device) % 6, shown=str(layout.times_of(row.speedup.ratio)), y=LINE * number,
            x=place(row.speedup.ratio), low=place(row.speedup.low), high=place(row.speedup.high),
        )
        for number, row in enumerate(rows) if row.speedup
    )  # fmt: skip
    ticks = tuple((place(10.0**power), f"{10.0**power:g}x") for power in range(low, high + 1))
    said = "; ".join(f"{point.name} {point.shown}" for point in points)
    return Speedups(points=points, ticks=ticks, one=place(1.0), height=LINE * len(points), said=said)


def _order(report: BenchReport) -> list[str]:
    return list(dict.fromkeys(_devices(report)))


def _devices(report: BenchReport) -> Iterable[str]:
    yield from (device.device for device in report.machine.devices)
    yield from (row.device for row in report.rows)


def _percent(value: float) -> float:
    return round(value, 2)

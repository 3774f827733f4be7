"""What is run, in which order, and how long. Pure: from the suite, the options and the devices that torch sees.

One child for each accelerator, one after the other. The first one also runs the CPU's cells, in turn with its own, so
that a drift of the machine hits both sides of a speed-up. Without an accelerator there is a child of the CPU. """

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from doctor.bench.suites import Entry, suite_of
from doctor.model.bench import BenchOptions, DType, Phase
from doctor.model.values import dataclass

WARM_S = {"quick": 2.0, "full": 10.0}  # at least, where the cell has that time
CELL_S = {"quick": 3.0, "full": 10.0}  # of the clock
ROUNDS = {"quick": 3, "full": 5}
TOUR_S = {"quick": 92.0, "full": 560.0}  # of all measuring; looking at the machine and importing torch come before
SUITE_S = {"quick": 160.0, "full": 560.0}


@dataclass(frozen=True, kw_only=True)
class PlannedCell:
    """A row to be. `key` is that of `model.bench.Row`."""

    key: str
    workload: str
    phase: Phase
    device: str
    dtype: DType
    batch: int
    size: str
    scale: int
    threads: int | None
    channels_last: bool
    compile: bool


@dataclass(frozen=True, kw_only=True)
class Group:
    """The cells that take turns: one workload with one phase."""

    workload: str
    size: str
    cells: tuple[PlannedCell, ...]


@dataclass(frozen=True, kw_only=True)
class ChildPlan:
    """What one child runs. `device` is the one it opens."""

    device: str
    groups: tuple[Group, ...]
    seconds: float

    @property
    def cells(self) -> tuple[PlannedCell, ...]:
        return tuple(cell for group in self.groups for cell in group.cells)

    def without(self, keys: frozenset[str]) -> ChildPlan:
        """The plan without these cells."""
        groups = (replace(g, cells=tuple(c for c in g.cells if c.key not in keys)) for g in self.groups)
        return replace(self, groups=tuple(g for g in groups if g.cells))


def plan(options: BenchOptions, devices: tuple[str, ...]) -> tuple[ChildPlan, ...]:
    """The children, in order. `devices`: those to be measured ("cpu", "cuda:0"), as torch names them."""
    suite = suite_of(options.suite, options.effort)
    accelerators = [d for d in devices if d != "cpu"]
    first = accelerators[:1] or ["cpu"]
    opened = [*first, *accelerators[1:]]
    seconds = planned_seconds(options) / len(opened)
    return tuple(
        ChildPlan(
            device=device,
            groups=tuple(_groups(suite.entries, options, _sides(device, devices, first[0]))),
            seconds=seconds,
        )
        for device in opened
    )


def planned_seconds(options: BenchOptions) -> float:
    """Of all measuring."""
    return options.time_limit_s or (TOUR_S if options.suite is None else SUITE_S)[options.effort]


def _sides(device: str, devices: tuple[str, ...], first: str) -> tuple[str, ...]:
    """The devices of a child's cells."""
    return ("cpu", device) if device == first != "cpu" and "cpu" in devices else (device,)


def _groups(entries: tuple[Entry, ...], options: BenchOptions, sides: tuple[str, ...]) -> list[Group]:
    groups = []
    for entry in entries:
        sized: dict[str, list[str]] = {}
        for side in sides:
            sized.setdefault((entry.cpu_size if side == "cpu" else entry.size) or "", []).append(side)
        for size, members in sized.items():
            cells = [
                cell(entry, device, dtype, size, scale, options)
                for dtype in options.dtypes
                for device in members
                for scale in ((1, 2) if entry.doubled else (1,))
            ]
            groups.append(Group(workload=entry.workload, size=size, cells=tuple(cells)))
    return groups


def cell(entry: Entry, device: str, dtype: DType, size: str, scale: int, options: BenchOptions) -> PlannedCell:
    """The cell of an entry, with its key."""
    words = [entry.workload + (f"-{size}" if size else ""), entry.phase, device, dtype, f"b{entry.batch}"]
    words += [f"t{options.threads}"] if options.threads else []
    words += ["channels-last"] if options.channels_last else []
    words += ["compile"] if options.compile else []
    words += [f"x{scale}"] if scale > 1 else []
    return PlannedCell(
        key="/".join(words),
        workload=entry.workload,
        phase=entry.phase,
        device=device,
        dtype=dtype,
        batch=entry.batch * scale,
        size=size,
        scale=scale,
        threads=options.threads,
        channels_last=options.channels_last,
        compile=options.compile,
    )


def partner(cell: PlannedCell | str, device: str = "cpu") -> str:
    """The key of the same cell on another device.

    >>> partner("vae/training/cuda:0/fp32/b128")
    'vae/training/cpu/fp32/b128'
    """
    words = (cell if isinstance(cell, str) else cell.key).split("/")
    words[2] = device
    return "/".join(words)


def spoken(child: ChildPlan, options: BenchOptions) -> dict[str, Any]:
    """The plan as inside/bench/run.py reads it."""
    effort: Literal["quick", "full"] = options.effort
    return {
        "seconds": child.seconds,
        "warm_s": WARM_S[effort],
        "rounds": ROUNDS[effort],
        "loader": options.with_loader,
        "unsynchronised": options.show_unsynchronised,
        "seed": options.seed,
        "groups": [
            {
                "workload": group.workload,
                "size": (int(group.size) if group.size.isdecimal() else group.size) or None,
                "cells": [
                    {
                        "key": c.key, "device": c.device, "phase": c.phase, "dtype": c.dtype, "batch": c.batch,
                        "threads": c.threads, "channels_last": c.channels_last, "compile": c.compile,
                        "seconds": CELL_S[effort], "ungated": c.scale > 1,
                    }
                    for c in group.cells
                ],
            }
            for group in child.groups
        ],
    }  # fmt: skip

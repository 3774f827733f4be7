"""A benchmark as CSV: a line a row, every setting and number in a column of its own, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from doctor.bench.compare import Merged
from doctor.model.bench import BenchReport, Row
from doctor.reports.sinks import csv_cell

COLUMNS = (
    "taken_at", "torch", "driver", "device_name", "key", "suite", "workload", "phase", "size", "device", "dtype",
    "batch", "batch_wanted", "threads", "channels_last", "compile", "scale", "method", "status", "why", "median_ms",
    "low_ms",
    "high_ms", "p5_ms", "p95_ms", "first_call_ms", "blocks", "steps_per_block", "stopped", "samples_per_s", "unit",
    "speedup", "speedup_low", "speedup_high", "tflops", "roofline_share", "bound", "clock_mhz", "power_w",
    "joules_per_sample", "throttles", "peak_memory_bytes", "memory_growth_bytes_per_step", "cpu_fallback", "tf32",
    "loader_ms", "unsynchronised_ms", "item_ms", "reasons",
)  # fmt: skip


def render(report: BenchReport) -> str:
    """With a header line."""
    return _written(COLUMNS, (_fields(report, row) for row in report.rows))


def render_merged(result: Merged) -> str:
    """The rows of all reports, in long form: a line for each column that has a row."""
    heads = ("method", "machine", "about", "device", "workload", "phase", "size", "batch", "setting", "status",
             "median_ms", "low_ms", "high_ms", "samples_per_s", "unit")  # fmt: skip
    lines = (
        (
            table.method, column.machine, column.about, column.device, entry.workload, entry.phase, entry.size,
            entry.batch, entry.setting, row.gate.status,
            *_of(row, "timing", "median_ms", "low_ms", "high_ms", "samples_per_s"),
            entry.unit,
        )
        for table in result.tables
        for entry in table.entries
        for column, row in zip(table.columns, entry.rows, strict=True)
        if row is not None
    )  # fmt: skip
    return _written(heads, lines)


def _fields(report: BenchReport, row: Row) -> tuple[object, ...]:
    machine = report.machine
    name = next((d.name for d in machine.devices if d.device == row.device), None)
    conditions = row.conditions
    return (
        report.taken_at, machine.torch, machine.driver, name, row.key, row.suite, row.workload, row.phase, row.size,
        row.device, row.dtype, row.batch, row.batch_wanted, row.threads, row.channels_last, row.compile, row.scale,
        row.method, row.gate.status, row.gate.why,
        *_of(row, "timing", "median_ms", "low_ms", "high_ms", "p5_ms", "p95_ms", "first_call_ms", "blocks",
             "steps_per_block", "stopped", "samples_per_s"),
        row.unit, *_of(row, "speedup", "ratio", "low", "high"), row.tflops, row.roofline_share, row.bound,
        conditions.clock_mhz, conditions.power_w, conditions.joules_per_sample, "; ".join(conditions.throttles),
        conditions.peak_memory_bytes, conditions.memory_growth_bytes_per_step, "; ".join(conditions.cpu_fallback),
        conditions.tf32, *_of(row, "timing", "loader_ms", "unsynchronised_ms", "item_ms"),
        "; ".join(f"{reason.id}: {reason.text}" for reason in row.reasons),
    )  # fmt: skip


def _of(row: Row, part: str, *names: str) -> tuple[object, ...]:
    held = getattr(row, part)
    return tuple(None if held is None else getattr(held, name) for name in names)


def _written(heads: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heads)
    for line in lines:
        writer.writerow([csv_cell(value) if isinstance(value, str) else value for value in line])
    return file.getvalue()

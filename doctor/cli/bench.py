"""`torchdoctor bench`: well-known workloads, timed after each is proved right, and where this machine stands."""

from __future__ import annotations

import json
import threading
from typing import Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT, INTERRUPTED, NO_VERDICT
from doctor.cli.options import _devices, _output, _python
from doctor.model.bench import BenchOptions, BenchReport, Row
from doctor.pipeline import NothingToMeasure, Request, benchmark

SUITES = ("mnist", "vae", "vgg16", "five-models", "mlp")


@click.command()
@click.option("--suite", type=click.Choice(SUITES), help="The tables of an article people read. Default: a tour.")
@click.option("--quick", is_flag=True, help="Two to three minutes (the default).")
@click.option("--full", is_flag=True, help="Ten minutes: longer clocks, and in the tour more workloads.")
@click.option("--list", "listing", is_flag=True, help="List suites and workloads, and measure nothing.")
@click.option("--python", metavar="PATH", callback=_python, help="The Python to measure, or its environment's folder.")
@click.option("--device", multiple=True, metavar="DEVICE", callback=_devices,
              help="Only this one: cpu, cuda, cuda:1, mps, xpu (repeatable). Default: CPU and first GPU.")  # fmt: skip
@click.option("--dtype", multiple=True, type=click.Choice(("fp32", "bf16", "fp16")),
              help="Types to compute with, by autocast (repeatable). Default: fp32.")  # fmt: skip
@click.option("--channels-last", is_flag=True, help="Images in the order NHWC.")
@click.option("--compile", is_flag=True, help="Through torch.compile.")
@click.option("--threads", type=click.IntRange(1, 4096), metavar="N", help="CPU threads. Default: torch's choice.")
@click.option("--with-loader", is_flag=True, help="Also with a DataLoader in the clock, as a separate number.")
@click.option("--show-unsynchronised", is_flag=True, help="Also what a clock would say that does not wait.")
@click.option("--seed", type=click.IntRange(0, 1 << 31), default=0, show_default=True, help="Of parameters and data.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON (schema bench-1).")
@click.option("-o", "--output", metavar="FILE", callback=_output, help="Write there, atomically, not to stdout.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
def command(**options: Any) -> int:
    """Time well-known workloads on this machine.

    Each is first compared with the CPU in float64; what computes wrongly shows no time. The CPU and the GPU take turns,
    and a speed-up is a ratio of medians with its interval. Exit code 1 where something is INVALID or IMPOSSIBLE, 3
    where nothing could be measured; Ctrl-C keeps what is done.
    """
    if options["listing"]:
        output.emit(_listing(), options["output"])
        return 0
    if options["quick"] and options["full"]:
        raise click.UsageError("--quick and --full exclude each other.")
    wanted = BenchOptions(
        suite=options["suite"],
        effort="full" if options["full"] else "quick",
        devices=options["device"],
        dtypes=tuple(dict.fromkeys(options["dtype"])) or ("fp32",),
        channels_last=options["channels_last"],
        compile=options["compile"],
        threads=options["threads"],
        with_loader=options["with_loader"],
        show_unsynchronised=options["show_unsynchronised"],
        seed=options["seed"],
    )
    try:
        report = _measured(Request(python=options["python"]), wanted, quiet=options["quiet"])
    except NothingToMeasure as error:
        if error.usage:
            raise click.UsageError(f"{error}.") from error
        output.complain(f"torchdoctor: {error}.")
        return NO_VERDICT
    output.emit(_json(report) if options["as_json"] else _table(report), options["output"])
    return exit_code(report)


def exit_code(report: BenchReport) -> int:
    """130 after Ctrl-C, 1 where a row or the catalogue says that something is wrong, 3 where no row has a time."""
    if report.interrupted:
        return INTERRUPTED
    if report.findings or any(row.gate.status in ("INVALID", "IMPOSSIBLE") for row in report.rows):
        return FAULT
    return 0 if any(row.timing for row in report.rows) else NO_VERDICT


def _measured(request: Request, wanted: BenchOptions, *, quiet: bool) -> BenchReport:
    if quiet or not output.somebody_types():
        return benchmark(request, wanted)
    with _Bar() as bar:
        return benchmark(request, wanted, bar)


class _Bar:
    """A bar on stderr: what is measured, and the time that is left."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn()
        )  # fmt: skip
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("starting", total=1.0)
        self._lock = threading.Lock()

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def __call__(self, what: str, share: float) -> None:
        from doctor.reports.text import safe

        with self._lock:  # the child's lines are heard in a thread
            self._bar.update(self._task, description=safe(what), completed=share)


def _listing() -> str:
    from doctor.bench.suites import SUITES as KNOWN
    from doctor.bench.suites import WORKLOADS

    width = max(map(len, KNOWN))
    lines = ["Suites"]
    lines += [f"  {name:{width}}  {suite.title}" for name, suite in KNOWN.items()]
    lines += ["", "Workloads (of the suites, and of the tour with --full)", *(f"  {name}" for name in WORKLOADS)]
    return "\n".join(lines)


def _json(report: BenchReport) -> str:
    from doctor.reports.json import encode
    from doctor.reports.sinks import json_text

    return json_text(json.dumps(encode(report), indent=2, allow_nan=False)) + "\n"


def _table(report: BenchReport) -> str:
    from doctor.reports import terminal
    from doctor.reports.text import safe

    heads = ("workload", "phase", "device", "type", "batch", "ms a step", "95 % interval", "speed-up", "")
    rows = [_cells(row) for row in report.rows if row.scale == 1 or row.gate.status in ("INVALID", "IMPOSSIBLE")]
    text = terminal.render_table(rows, heads=heads)
    for mean in report.means:
        text += (
            f"\n{mean.device} {mean.dtype}: {mean.speedup:.3g} times the CPU "
            f"(geometric mean of {mean.rows}; {mean.low:.3g} to {mean.high:.3g})\n"
        )
    lines = [f"!! {f.id}: {f.text}" for f in report.findings] + list(report.notes)
    return text + "".join(f"\n{safe(line)}" for line in lines) + ("\n" if lines else "")


def _cells(row: Row) -> tuple[str, ...]:
    """A row of the table."""
    batch = f"{row.batch}" if row.batch == row.batch_wanted else f"{row.batch} (of {row.batch_wanted})"
    settings = "".join(
        word
        for word, there in (
            (f" t{row.threads}", row.threads and row.device == "cpu"),
            (" NHWC", row.channels_last),
            (" compiled", row.compile),
            (" x2", row.scale > 1),
        )
        if there
    )
    named = (row.workload + (f" {row.size}" if row.size else ""), row.phase, row.device, row.dtype + settings, batch)
    if row.timing is None:
        status = row.gate.status if row.gate.status in ("INVALID", "IMPOSSIBLE") else row.gate.status.replace("-", " ")
        return (*named, status, "", "", row.gate.why)
    timing = row.timing
    words = [
        "" if timing.stopped == "precise" else "time over",
        f"{row.tflops:.3g} TFLOP/s" if row.tflops else "",
        f"{row.roofline_share:.0%} of the roofline" if row.roofline_share else "",
        f"loader {timing.loader_ms:.3g} ms" if timing.loader_ms else "",
        f"unsynchronised {timing.unsynchronised_ms:.3g} ms" if timing.unsynchronised_ms else "",
        *(f"{reason.id}: {reason.text}" for reason in row.reasons),
    ]
    return (
        *named,
        f"{timing.median_ms:.4g}",
        f"{timing.low_ms:.4g} to {timing.high_ms:.4g}",
        f"{row.speedup.ratio:.3g} ({row.speedup.low:.3g} to {row.speedup.high:.3g})" if row.speedup else "",
        ", ".join(word for word in words if word),
    )

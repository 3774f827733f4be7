"""`torchdoctor bench`: well-known workloads, timed after each is proved right, and where this machine stands."""

from __future__ import annotations

from typing import Any

import click

from doctor.bench.plan import planned_seconds
from doctor.cli import output
from doctor.cli.benchmarks import (
    COMPARED,
    Live,
    compare,
    format_of,
    on_files,
    output_options,
    read_report,
    renderer_of,
    text_of,
)
from doctor.cli.codes import FAULT, INTERRUPTED, NO_VERDICT
from doctor.cli.options import _devices, _python
from doctor.model.bench import BenchOptions, BenchReport
from doctor.model.request import Request
from doctor.pipeline import NothingToMeasure, benchmark

SUITES = ("mnist", "vae", "vgg16", "five-models", "mlp")


@click.command()
@click.option("--suite", type=click.Choice(SUITES), help="Reproduce the tables of an article. Default: a tour.")
@click.option("--quick", is_flag=True, help="Two to three minutes (the default).")
@click.option("--full", is_flag=True, help="Ten minutes: each row measured longer, and more workloads in the tour.")
@click.option("--seconds", type=click.IntRange(10, 36000), metavar="N",
              help="Total measuring time. What does not fit is reported as not-run.")  # fmt: skip
@click.option("--list", "listing", is_flag=True, help="List suites and workloads without measuring.")
@click.option("--python", metavar="PATH", callback=_python, help="The Python to measure, or its environment's folder.")
@click.option("--device", multiple=True, metavar="DEVICE", callback=_devices,
              help="Only this one: cpu, cuda, cuda:1, mps, xpu (repeatable). Default: CPU and first GPU.")  # fmt: skip
@click.option("--dtype", multiple=True, type=click.Choice(("fp32", "bf16", "fp16")),
              help="Compute in this type, with autocast (repeatable). Default: fp32.")  # fmt: skip
@click.option("--channels-last", is_flag=True, help="Images in the channels-last memory format (NHWC).")
@click.option("--compile", is_flag=True, help="Compile the models with torch.compile.")
@click.option("--threads", type=click.IntRange(1, 4096), metavar="N", help="CPU threads. Default: torch's choice.")
@click.option("--with-loader", is_flag=True, help="Also time the steps with a DataLoader, as a separate figure.")
@click.option("--show-unsynchronised", is_flag=True, help="Also show the time without synchronization.")
@click.option("--seed", type=click.IntRange(0, 1 << 31), default=0, show_default=True, help="Of parameters and data.")
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@output_options()
def command(**options: Any) -> int:
    """Time well-known workloads on this machine.

    The results of each workload are first compared with a float64 run on the CPU; a workload that computes wrong
    results gets no time. CPU and GPU take turns, and a speed-up is the ratio of the two medians with its 95 % interval.
    Exit code 1 if a row is INVALID or IMPOSSIBLE (with --compare also if one is SLOWER), 3 if nothing could be
    measured. Ctrl-C keeps what has been measured.
    """
    if options["listing"]:
        output.emit(_listing(), options["output"])
        return 0
    if (done := on_files(options)) is not None:
        return done
    if options["compare"] is not None:
        format_of(options, COMPARED)
        old = read_report(options["compare"])
    else:
        renderer_of(format_of(options))
        old = None
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
        time_limit_s=options["seconds"],
    )
    try:
        report = _measured(Request(python=options["python"]), wanted, quiet=options["quiet"])
    except NothingToMeasure as error:
        if error.usage:
            raise click.UsageError(f"{error}.") from error
        output.complain(f"torchdoctor: {error}.")
        return NO_VERDICT
    if old is not None and not report.interrupted:
        return max(compare(old, report, options), exit_code(report))
    output.emit(text_of(report, options), options["output"])
    return exit_code(report)


def exit_code(report: BenchReport) -> int:
    """130 after Ctrl-C, 1 where a row or the catalogue says that something is wrong, 3 where no row has a time."""
    if report.interrupted:
        return INTERRUPTED
    if report.findings or any(row.gate.status in ("INVALID", "IMPOSSIBLE") for row in report.rows):
        return FAULT
    return 0 if any(row.timing for row in report.rows) else NO_VERDICT


def _measured(request: Request, wanted: BenchOptions, *, quiet: bool) -> BenchReport:
    with Live(planned_seconds(wanted), quiet=quiet) as live:
        return benchmark(request, wanted, live, live.rows)


def _listing() -> str:
    from doctor.bench.suites import SUITES as KNOWN
    from doctor.bench.suites import WORKLOADS

    width = max(map(len, KNOWN))
    lines = ["Suites"]
    lines += [f"  {name:{width}}  {suite.title}" for name, suite in KNOWN.items()]
    lines += ["", "Workloads (of the suites, and of the tour with --full)", *(f"  {name}" for name in WORKLOADS)]
    return "\n".join(lines)

"""`torchdoctor probe`: the device probe alone, as a table of devices, stages and rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from doctor.checks._speed import product_ratio
from doctor.cli import output
from doctor.cli.check import examine
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import Positive, chosen_format, machine_options, request_from
from doctor.knowledge import speeds
from doctor.model.facts import ProbeResult, Stage
from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.reports import layers
from doctor.reports.text import safe


@click.command()
@machine_options(formats=("terminal", "json", "html"))
@click.option("--quick", is_flag=True, help="About a second a device (the default).")
@click.option("--full", is_flag=True, help="About a minute a device: silent faults, training, all memory, long rates, "
              "torch.compile, attention, workers, files.")  # fmt: skip
@click.option("--soak", type=Positive(), metavar="MINUTES",
              help="Compute for that long, compare every result, and watch rate and clocks.")  # fmt: skip
@click.option("--errata", is_flag=True, help="Check which errata of this torch can be reproduced here.")
def command(**options: Any) -> int:
    """Prove each device with a short computation, and time it.

    Every device has a child process of its own: results are compared with an fp64 reference on the CPU, and rates are
    those of the computation alone. Exit code 1 where a device failed, or a part of torch that most programs use; 3
    where nothing could be probed.
    """
    if options["sources"]:
        raise click.UsageError("probe works on the live machine; it takes no --from.")
    if options["no_probe"]:
        raise click.UsageError("--no-probe leaves nothing to do.")
    if sum((options["quick"], options["full"], options["soak"] is not None, options["errata"])) > 1:
        raise click.UsageError("--quick, --full, --soak and --errata exclude each other.")
    if options["errata"]:
        from doctor.cli.errata import try_them

        return try_them(options)
    report = _examine(options)
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        if chosen_format(options) == "terminal":
            return NO_VERDICT
    if (format := chosen_format(options)) != "terminal":
        output.emit(output.text_of(report, format, options), options["output"])
    else:
        output.emit(_table(report, options), options["output"])
    return _exit_code(report)


def _examine(options: dict[str, Any]) -> Report:
    mode = f"soak:{options['soak']:g}" if options["soak"] else "full" if options["full"] else "quick"
    if mode == "quick":
        return examine(options)
    from doctor.pipeline import examine as run

    request = replace(request_from(**options), mode=mode)
    if options["quiet"] or not output.somebody_types():
        return run(request)
    with _Bar() as bar:
        return run(request, bar)


class _Bar:
    """A progress bar on stderr: the slow stage, and the share of all probes that is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task("starting", total=1.0)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def __call__(self, stage: str) -> None:
        self._bar.update(self._task, description=safe(stage))

    def share(self, done: float) -> None:
        self._bar.update(self._task, completed=done)


def _exit_code(report: Report) -> int:
    run = [p for p in report.facts.probes or () if p.status != "skipped"]
    if any(p.status != "ok" for p in run) or any(f.severity == "fault" and _of_probe(f) for f in report.findings):
        return FAULT
    return 0 if run else NO_VERDICT


def _table(report: Report, options: dict[str, Any]) -> str:
    from doctor.reports import terminal
    from doctor.reports.terminal import pages

    rows = [row for probe in report.facts.probes or () for row in (*_rows(probe), *_verdict(report, probe))]
    color = output.wants_color(options["color"], to_file=bool(options["output"]))
    if not rows:
        return terminal.render(report, color=color, width=output.width())
    width = output.width()
    table = pages.render_table(rows, heads=("device", "stage", "", "ms", "measured"), color=color, prose=width)
    found = [(_MARKS[f.severity], f"{f.id}: {f.detail}") for f in report.findings if _of_probe(f)]
    return table + "".join("\n" + pages.render_table([row], gap=1, prose=width) for row in found)


def _of_probe(finding: Finding) -> bool:
    """Whether it is about what the probe saw: the device, or a feature that was tried on it."""
    return finding.layer == "run" or any(", stage " in e.source for e in finding.evidence)


_MARKS = {"fault": "!!", "warning": " !", "note": "  "}


def _verdict(report: Report, probe: ProbeResult) -> list[tuple[str, ...]]:
    """How the rate compares with the expected one and its source, or why there is no verdict."""
    if probe.status != "ok" or not layers.probe_rates(probe):
        return []
    measured = product_ratio(report.facts, probe)
    if probe.data.get("busy") and (measured is None or measured.ratio < speeds.OK):
        return [(probe.id, "verdict", "-", "", "none: other programs used the device meanwhile")]
    if measured is None:
        return [(probe.id, "verdict", "-", "", "none: the tables don't say what this device should reach")]
    if probe.device == "cpu":  # its clock is not well known, so the expected rate is a lower bound
        text = f"{measured.rate:.3g} TFLOP/s {measured.kind}, of at least {measured.expected.rate:.3g} expected"
        mark = "ok" if measured.ratio >= speeds.SLOW else "!"
        return [(probe.id, "verdict", mark, "", f"{text} ({measured.expected.source})")]
    mark = {"ok": "ok", "below": "-", "slow": "!", "very slow": "!!"}[speeds.band(measured.ratio)]
    text = f"{measured.ratio:.0%} of {measured.expected.rate:.3g} TFLOP/s {measured.kind} ({measured.expected.source})"
    usual = "" if measured.ratio >= speeds.OK else f"; {speeds.OK:.0%} and more is usual"
    return [(probe.id, "verdict", mark, "", text + usual)]


def _rows(probe: ProbeResult) -> list[tuple[str, ...]]:
    """One row for each stage, then one for the outcome if it is not ok."""
    rows: list[tuple[str, ...]] = [
        (probe.id, stage.name, _mark(stage), f"{stage.ms:.1f}", _measured(stage))
        for stage in probe.stages
    ]
    if probe.status == "skipped":
        rows.append((probe.id, "", "-", "", probe.reason))
    elif probe.status != "ok":
        signal = f", signal {probe.signal}" if probe.signal else ""
        reason = probe.reason or (probe.stderr_tail.strip().splitlines() or [""])[-1]
        rows.append((probe.id, probe.stage or "", "!!", "", f"{probe.status}{signal}: {reason}".rstrip(": ")))
    return rows


def _mark(stage: Stage) -> str:
    """A feature that failed is no failure of the device; one of which nothing could be tried is not looked at."""
    failed, tried, not_here = (stage.data.get(key) for key in ("failures", "tried", "not_here"))
    return "!!" if not stage.ok else "!" if failed else "-" if not_here and not tried else "ok"


def _measured(stage: Stage) -> str:
    """What a stage found wrong, or which feature failed; else what it measured, in a few words."""
    for key, words in (("wrong", ""), ("failures", "failed: ")):
        texts = stage.data.get(key)
        if isinstance(texts, (list, tuple)) and texts:
            return words + "; ".join(str(text)[:300] for text in texts)
    rates = [
        *(f"{rate:.3g} TFLOP/s {dtype}" for dtype, rate in layers.probe_rates(ProbeResult(
            id="", device="", status="ok", stages=(stage,)))),
        *(words.format(stage.data[key]) for key, words in _WORDS if stage.data.get(key) not in (None, [], ())),
        *_listed(stage),
        *(f"{size >> 20} MiB" for size in (stage.data.get("memory_checked_bytes"),) if isinstance(size, int)),
    ]  # fmt: skip
    return ", ".join(rates)


def _listed(stage: Stage) -> list[str]:
    """What a stage holds as lists: throttle reasons, the rates of a soak's rounds, pairs of GPUs."""

    def entries(key: str) -> Sequence[Any]:
        found = stage.data.get(key)
        return found if isinstance(found, list | tuple) else ()

    return [
        *map(str, entries("tried")),
        *(f"not here: {what}" for what in entries("not_here")),
        *(f"held back by {reason}" for reason in entries("throttles")),
        *(f"{rate:.4g} TFLOP/s" for rate in entries("rounds_tflops")),
        *(f"{p['from']} to {p['to']} {p['gbs']:.4g} GB/s" for p in entries("pairs")),
    ]


# what is shown of a stage's data (docs/probes.md says what all of it means)
_WORDS = (
    ("float32_bits_effective", "fp32 has {} bits"),
    ("layouts_compared", "{} layouts"),
    ("cores_checked", "{} cores"),
    ("silent_checked", "{} computations that were once wrong"),
    ("training_change_error", "off by {:.2g} of the way"),
    ("bfloat16_tflops_mean", "{:.4g} TFLOP/s bf16"),
    ("float16_tflops_mean", "{:.4g} TFLOP/s fp16"),
    ("float32_tflops_mean", "{:.4g} TFLOP/s fp32"),
    ("sm_clock_mhz", "{:g} MHz"),
    ("power_w", "{:g} W"),
    ("memory_gbs", "{:.4g} GB/s"),
    ("launch_us", "launch {:.3g} us"),
    ("h2d_gbs", "to device {:.3g} GB/s"),
    ("d2h_gbs", "back {:.3g} GB/s"),
    ("pcie_width", "x{}"),
    ("pcie_generation", "PCIe {}"),
)

"""`torchdoctor probe`: the device probe alone, as a table of devices, stages and rates."""

from __future__ import annotations

from typing import Any

import click

from doctor.cli import output
from doctor.cli.check import examine
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import chosen_format, machine_options
from doctor.model.facts import ProbeResult, Stage
from doctor.model.report import Report
from doctor.reports import summary


@click.command()
@machine_options(formats=("terminal", "json"))
def command(**options: Any) -> int:
    """Prove each device with a short computation, and time it.

    Every device has a child process of its own: results are compared with an fp64 reference on the CPU, and rates are
    those of the computation alone. Exit code 1 where a device failed, 3 where nothing could be probed.
    """
    if options["sources"]:
        raise click.UsageError("probe works on the live machine; it takes no --from.")
    if options["no_probe"]:
        raise click.UsageError("--no-probe leaves nothing to do.")
    report = examine(options)
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        if chosen_format(options) == "terminal":
            return NO_VERDICT
    if chosen_format(options) == "json":
        output.emit(output.text_of(report, "json", options), options["output"])
    else:
        output.emit(_table(report, options), options["output"])
    return _exit_code(report.facts.probes or ())


def _exit_code(probes: tuple[ProbeResult, ...]) -> int:
    run = [p for p in probes if p.status != "skipped"]
    if any(p.status != "ok" for p in run):
        return FAULT
    return 0 if run else NO_VERDICT


def _table(report: Report, options: dict[str, Any]) -> str:
    from doctor.reports import terminal

    rows = [row for probe in report.facts.probes or () for row in _rows(probe)]
    color = output.wants_color(options["color"], to_file=bool(options["output"]))
    if rows:
        return terminal.render_table(rows, heads=("device", "stage", "", "ms", "measured"), color=color)
    return terminal.render(report, color=color, width=output.width())


def _rows(probe: ProbeResult) -> list[tuple[str, ...]]:
    """A row a stage, then one for how it ended if that was not well."""
    rows: list[tuple[str, ...]] = [
        (probe.id, stage.name, "ok" if stage.ok else "!!", f"{stage.ms:.1f}", _measured(stage))
        for stage in probe.stages
    ]
    if probe.status == "skipped":
        rows.append((probe.id, "", "-", "", probe.reason))
    elif probe.status != "ok":
        signal = f", signal {probe.signal}" if probe.signal else ""
        reason = probe.reason or (probe.stderr_tail.strip().splitlines() or [""])[-1]
        rows.append((probe.id, probe.stage or "", "!!", "", f"{probe.status}{signal}: {reason}".rstrip(": ")))
    return rows


def _measured(stage: Stage) -> str:
    """Rates of the speed stage; of the others what they found wrong, or the effective precision."""
    if rates := summary.probe_rates(ProbeResult(id="", device="", status="ok", stages=(stage,))):
        return ", ".join(f"{rate:.3g} TFLOP/s {dtype}" for dtype, rate in rates)
    wrong = stage.data.get("wrong")
    if isinstance(wrong, (list, tuple)) and wrong:
        return "; ".join(str(w) for w in wrong)
    bits = stage.data.get("float32_bits_effective")
    return f"fp32 has {bits} bits" if bits else ""

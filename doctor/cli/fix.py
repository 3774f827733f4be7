"""`torchdoctor fix`: the plan that mends what `check` finds, to read or as a script of commands. It changes nothing."""

from __future__ import annotations

from typing import Any

import click

from doctor.cli import output
from doctor.cli.check import examine
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import chosen_format, machine_options, machines_of, read_all
from doctor.fixes.situation import TOOLS
from doctor.model.report import Report

tool_option = click.option(
    "--tool", type=click.Choice(TOOLS), help="Commands for this tool. Default: the environment's own."
)


@click.command()
@click.option("--print-commands", is_flag=True, help="Only a script: commands, with manual steps as comments.")
@tool_option
@machine_options(formats=("terminal", "json"))
def command(print_commands: bool, **options: Any) -> int:
    """Say how to mend this machine and its torch: steps in order, with alternatives.

    \b
    Exit codes: 0 the plan is printed, or there is nothing to fix, 1 a fault without a known fix remains,
    2 wrong usage, 3 no verdict, 70 a bug in torchdoctor. Nothing is changed.
    """
    format = chosen_format(options)
    if machines_of(options["sources"]).each_alone:
        raise click.UsageError("a plan is for one machine: name its files, not a folder.")
    report = examine(options, read_all(options["sources"]))
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        return NO_VERDICT
    output.emit(_text(report, format, print_commands, options), options["output"])
    return exit_code(report)


def exit_code(report: Report) -> int:
    """1 where a fault remains that no fix is known for, 3 where nothing could be judged."""
    without = {id for id, _ in report.plan.unfixed} | {f.finding for f in report.plan.fixes if f.action == "none"}
    if any(f.id in without and f.severity == "fault" for f in report.findings):
        return FAULT
    return NO_VERDICT if report.verdict == "unknown" and not report.plan.fixes else 0


def _text(report: Report, format: str, print_commands: bool, options: dict[str, Any]) -> str:
    windows = report.facts.host.system == "windows"
    if print_commands:  # never redacted: commands with stand-ins would not run
        from doctor.fixes.plan import script

        return script(report.plan, windows=windows)
    if format == "json":
        return output.text_of(report, "json", options)
    from doctor.reports import terminal

    color = output.wants_color(options["color"], to_file=bool(options["output"]))
    return terminal.render_plan(report.plan, color=color, width=output.width(), windows=windows)

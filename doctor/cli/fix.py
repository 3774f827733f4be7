"""`torchdoctor fix`: the plan that fixes what `check` finds, to read, as a script of commands, or carried out (--run)
and undone again (--undo)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from doctor.cli import applying, output
from doctor.cli.check import examine
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import chosen_format, facts_option, machine_options, machines_of, read_all
from doctor.fixes import tools
from doctor.fixes.quoting import SHELLS
from doctor.fixes.sources import redirected
from doctor.model.report import Report

tool_option = click.option(
    "--tool", type=click.Choice(tools.names()), help="Commands for this tool. Default: the environment's own."
)

shell_option = click.option(
    "--shell",
    type=click.Choice(SHELLS),
    help="Whose spelling --print-commands takes. Default: sh; on Windows powershell.",
)


@click.command()
@click.option("--print-commands", is_flag=True, help="Only a script: commands, with manual steps as comments.")
@shell_option
@click.option("--run", "run_it", is_flag=True, help="Carry it out: snapshot, run, verify; undone if it is no cure.")
@click.option(
    "--undo",
    is_flag=False,
    flag_value="newest",
    metavar="[SNAPSHOT]",
    help="Put the environment back to before the newest --run, or to a SNAPSHOT; «list» lists them.",
)
@applying.consent_option
@applying.source_options
@tool_option
@machine_options(formats=("terminal", "json"))
@facts_option
def command(print_commands: bool, run_it: bool, undo: str | None, **options: Any) -> int:
    """Say how to fix this machine and its torch: steps in order, with alternatives. With --run, do it.

    Exit codes: 0 the plan is printed, or there is nothing to fix; with --run: applied and verified,
    1 a fault without a known fix remains; with --run: it failed, and all is as it was before,
    2 wrong usage; with --run: no terminal to ask on, and no --yes, 3 no verdict, 70 a bug in torchdoctor.
    Nothing is changed without --run or --undo.
    """
    if sum((print_commands, run_it, undo is not None)) > 1:
        raise click.UsageError("--print-commands, --run and --undo exclude each other.")
    refuse_idle_options(options, prints=print_commands, changes=run_it or undo is not None)
    format = chosen_format(options)
    if (run_it or undo is not None) and (options["sources"] or options["stated"]):
        given = "--from" if options["sources"] else "--facts"
        raise click.UsageError(f"{given} is evidence of a machine: only the one before you can be changed.")
    if undo is not None:
        return applying.undo(undo, options)
    sources = applying.sources_from(options)
    if machines_of(options["sources"]).each_alone:
        raise click.UsageError("a plan is for one machine: name its files, not a folder.")
    report = examine(options, read_all(options["sources"]))
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        return NO_VERDICT
    if (wheels := applying.wheels_from(sources)) is not None:
        from doctor.fixes.plan import plan

        made = plan(report.findings, report.facts, tool=options["tool"], shell=options["shell"], wheels=wheels)
        report = replace(report, plan=made)
    report = replace(report, plan=redirected(report.plan, sources))
    if run_it:
        return _run(report, options)
    return _told(report, format, print_commands, options)


def _told(report: Report, format: str, print_commands: bool, options: dict[str, Any]) -> int:
    """Print the plan. Without a verdict, do not claim that there is nothing to fix."""
    code = exit_code(report)
    if code == NO_VERDICT:
        from doctor.reports import verdict

        output.complain(f"torchdoctor: {verdict.sentence(report)}")
    if code != NO_VERDICT or format == "json":
        output.emit(_text(report, format, print_commands, options), options["output"])
    return code


def _run(report: Report, options: dict[str, Any]) -> int:
    """Carry out the plan; with nothing to carry out, print what `fix` prints."""
    if not report.plan.fixes:
        return _told(report, chosen_format(options), False, options)
    return applying.run(report, lambda python: examine({**options, "python": python or options["python"]}), options)


def refuse_idle_options(options: dict[str, Any], *, prints: bool, changes: bool) -> None:
    """What would do nothing is a misunderstanding: --shell without a script, a consent where nothing is changed."""
    if options["shell"] and not prints:
        raise click.UsageError("--shell is for --print-commands.")
    if (options["yes"] or options["allow"]) and not changes:
        raise click.UsageError(
            f"{'--yes' if options['yes'] else '--allow'} is for --run: without it nothing is changed."
        )


def exit_code(report: Report) -> int:
    """The exit code: 1 if a fault without a known fix remains, 3 if nothing could be judged."""
    without = {id for id, _ in report.plan.unfixed} | {f.finding for f in report.plan.fixes if f.action == "none"}
    if any(f.id in without and f.severity == "fault" for f in report.findings):
        return FAULT
    planned = any(fix.action != "none" for fix in report.plan.fixes)  # a note's reason for having no fix is not a plan
    return NO_VERDICT if report.verdict == "unknown" and not planned else 0


def _text(report: Report, format: str, print_commands: bool, options: dict[str, Any]) -> str:
    windows = report.facts.host.system == "windows"
    if print_commands:  # never redacted: commands with stand-ins would not run
        from doctor.fixes.plan import script

        return script(report.plan, windows=windows, shell=options["shell"])
    if format == "json":
        return output.text_of(report, "json", options)
    return applying.rendered(report, report.plan, options)

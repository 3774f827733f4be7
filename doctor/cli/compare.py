"""`torchdoctor compare`: why torch works on one machine and not on another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT
from doctor.cli.options import chosen_format, format_options
from doctor.cli.sources import read_source

if TYPE_CHECKING:
    from doctor.model.compare import Comparison

MACHINES_AT_MOST = 200


def _formats(command: Any) -> Any:
    for option in reversed(format_options(("terminal", "json", "markdown"))):
        command = option(command)
    return command


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="GOOD BAD [MORE]...")
@click.option("--python", metavar="PATH", help="With GOOD alone: the Python of this machine to compare it with.")
@click.option("--no-probe", is_flag=True, help="With GOOD alone: compute nothing on the devices of this machine.")
@click.option("--all", "every", is_flag=True, help="Also show the differences that nothing depends on.")
@click.option("-q", "--quiet", is_flag=True, help="Don't say on stderr how much was replaced.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True,
              help="Colour in terminal output.")
@_formats
def command(**options: Any) -> int:
    """Say what differs between machines, and which difference explains what is wrong with one of them.

    \b
    torchdoctor compare his.json mine.json     it works on his machine
    torchdoctor compare his.json               this machine against it
    torchdoctor compare node*.json             many: groups, and the odd ones out

    Each is a report (check --json), a ticket, or any other evidence that check --from reads; a folder is one machine a
    file, - is standard input. A difference explains a finding when the finding is gone after judging the machine again
    with the other one's value.

    \b
    Exit codes: 0 nothing differs that a check, the choice of a build or a probe
    depends on, 1 something does, 2 wrong usage or a file that cannot be compared,
    70 a bug in torchdoctor.
    """
    format = chosen_format(options)
    comparison = _compared(options)
    if format == "terminal":
        from doctor.reports.compare import text

        color = output.wants_color(options["color"], to_file=bool(options["output"]))
        shown = text.render(comparison, color=color, width=output.width(), every=options["every"])
    else:
        from importlib import import_module

        shown = import_module(f"doctor.reports.compare.{format}").render(_redacted(comparison, options))
    output.emit(shown, options["output"])
    return FAULT if any(d.rank != "incidental" for d in comparison.differences) else 0


def _compared(options: dict[str, Any]) -> Comparison:
    from doctor.comparison import compare
    from doctor.comparison.refusals import says_nothing
    from doctor.evidence.refusals import refusal
    from doctor.model.request import Request
    from doctor.pipeline import examine

    reports, names = [], []
    for source in _files(options["sources"]):
        name, data = read_source(source)
        name = os.path.basename(name)
        if why := refusal(data):
            raise click.UsageError(f"cannot compare '{source}': {why}.")
        report = examine(Request(evidence=((name, data),)))
        if why := says_nothing(report):
            raise click.UsageError(f"cannot compare '{source}': {why}.")
        reports.append(report)
        names.append(name)
    if len(reports) == 1:
        from doctor.cli.check import examine as look

        live = {"python": options["python"], "no_probe": options["no_probe"], "quiet": options["quiet"],
                "format": "json"}  # fmt: skip
        reports.append(look(live))
        names.append("this machine")
        if problem := output.wrong_target(reports[-1]):
            raise click.UsageError(problem)
    elif options["python"] or options["no_probe"]:
        raise click.UsageError("--python and --no-probe are for this machine, which is compared with GOOD alone.")
    return compare(reports, names)


def _files(sources: tuple[str, ...]) -> list[str]:
    """The files that the arguments name; a folder stands for each of its files."""
    if sources.count("-") > 1:
        raise click.UsageError("- is given twice: stdin can be read only once.")
    files: list[str] = []
    for source in sources:
        if os.path.isdir(source):
            files += sorted(e.path for e in os.scandir(source) if e.is_file() and not e.name.startswith("."))
        else:
            files.append(source)
    if not files:
        raise click.UsageError("there are no files in the folders named.")
    if len(files) > MACHINES_AT_MOST:
        raise click.UsageError(f"these are {len(files)} machines; at most {MACHINES_AT_MOST} can be compared.")
    return files


def _redacted(comparison: Comparison, options: dict[str, Any]) -> Comparison:
    if options["no_redact"]:
        return comparison
    from doctor.facts.own_names import names_of_this_machine
    from doctor.redaction.report import comparison_redaction

    live = any(machine.name == "this machine" for machine in comparison.machines)
    done, stand_ins = comparison_redaction(comparison, names=names_of_this_machine() if live else ())
    output.tell_redacted(stand_ins, options)
    return done

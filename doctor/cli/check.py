"""`torchdoctor check`: examine one machine (or the machines of a folder of tickets) and judge."""

from __future__ import annotations

import importlib
from typing import Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import (
    Evidence,
    Machines,
    chosen_format,
    facts_option,
    machine_options,
    machines_of,
    no_plugins_option,
    plugin_option,
    read_all,
    request_from,
    require_option,
)
from doctor.cli.progress import watching
from doctor.model.report import Report


@click.command()
@machine_options()
@require_option
@plugin_option
@no_plugins_option
@facts_option
@click.option("--errata", is_flag=True, help="Also list all errata of this torch that apply here, with their fixes.")
def command(**options: Any) -> int:
    """Examine this machine and its torch, and name what is wrong.

    Exit codes: 0 no fault, 1 a fault (with --strict: or a warning other than known
    errata), 2 wrong usage, 3 no verdict, 70 a bug in torchdoctor. Nothing is changed,
    nothing is sent.
    """
    format = chosen_format(options)
    if options["no_plugins"] and options["plugins"]:
        raise click.UsageError("--plugin and --no-plugins exclude each other.")
    if not options["plugins"]:  # a judgement limited to some ids asks no plugins
        options["plugins"] = () if options["no_plugins"] or options["only"] else None
    machines = machines_of(options["sources"])
    if machines.each_alone:
        if options["stated"]:
            raise click.UsageError("--facts is of one machine, and --from names a folder of several.")
        return _check_each(machines, format, options)
    report, headed = _shown(options, format, read_all(options["sources"]))
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        if format == "terminal":
            return NO_VERDICT
    output.emit(output.text_of(report, format, options, headed=headed), options["output"])
    return output.exit_code(report, strict=options["strict"])


def _shown(options: dict[str, Any], format: str, evidence: Evidence) -> tuple[Report, bool]:
    """The report, and whether its first line is already on the screen, which is so where somebody watches."""
    if format != "terminal" or options["output"] or options["quiet"] or evidence or options["stated"]:
        return examine(options, evidence), False
    from doctor.cli.progress import showing

    with showing() as screen:
        if screen is not None:
            from doctor.pipeline import examine as look

            return look(request_from(**options), screen), screen.headed
    return examine(options), False


def examine(options: dict[str, Any], evidence: Evidence = ()) -> Report:
    """The report of one machine, with the progress line while it is made."""
    from doctor.pipeline import examine

    with watching(quiet=options["quiet"]) as tell:

        def progress(stage: str) -> None:
            tell(stage)
            if chosen_format(options) == "terminal":
                importlib.import_module("doctor.reports.terminal")  # loaded, like rich, while the children work
                if output.wants_color(options.get("color", "auto"), to_file=bool(options["output"])):
                    importlib.import_module("rich.console")

        return examine(request_from(**{**options, "evidence": evidence}), progress)


def _check_each(machines: Machines, format: str, options: dict[str, Any]) -> int:
    """A folder: one machine a file, one line each (of JSON, of a Markdown table, of text), printed as soon as it is
    known; how many had which verdict on stderr; the worst exit code."""
    if format not in _OF_FOLDERS:
        raise click.UsageError(f"a folder is reported as {', '.join(_OF_FOLDERS)}, not as {format}.")
    lines: list[str] = []
    codes: list[int] = []
    verdicts = dict.fromkeys(("faulty", "unknown", "healthy", "not read"), 0)

    def say(line: str) -> None:
        if options["output"] is None:
            output.emit(line)
        else:
            lines.append(line)

    options = {**options, "fixes": format == "json"}  # the other lines name the causes only
    if format == "markdown":
        say("| file | verdict | faults |\n|---|---|---|\n")
    for files in machines.files:
        try:
            report = examine(options, read_all(files))
        except click.UsageError as error:  # one unreadable file does not hide the others
            output.complain(f"torchdoctor: {error.message}")
            codes.append(NO_VERDICT)
            verdicts["not read"] += 1
            continue
        codes.append(output.exit_code(report, strict=options["strict"]))
        verdicts[report.verdict] += 1
        say(_OF_FOLDERS[format](report, options))
    if options["output"] is not None:
        output.emit("".join(lines), options["output"])
    if not options["quiet"]:
        said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items() if count)
        output.complain(f"torchdoctor: {len(codes)} {'file' if len(codes) == 1 else 'files'}: {said}.")
    return next((code for code in (FAULT, NO_VERDICT) if code in codes), 0)


def _json_line(report: Report, options: dict[str, Any]) -> str:
    from doctor.reports import json

    return json.render(output.redacted(report, options, of=f"{', '.join(report.target.evidence)}: "), indent=None)


def _line(report: Report, options: dict[str, Any]) -> str:
    from doctor.reports.text import safe

    roots = _roots(report)
    return safe(f"{', '.join(report.target.evidence)}: {report.verdict}{': ' + roots if roots else ''}") + "\n"


def _row(report: Report, options: dict[str, Any]) -> str:
    from doctor.reports.sinks import markdown_cell

    names = ", ".join(report.target.evidence)
    shown = output.redacted(report, options, of=f"{names}: ")
    cells = (", ".join(shown.target.evidence), shown.verdict, _roots(shown))
    return f"| {' | '.join(map(markdown_cell, cells))} |\n"


def _roots(report: Report) -> str:
    return ", ".join(f.id for f in report.findings if f.root and f.severity == "fault")


_OF_FOLDERS = {"terminal": _line, "json": _json_line, "markdown": _row}

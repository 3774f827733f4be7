"""`torchdoctor fleet`: which node, GPU or link is sick. On this machine, as scripts for launchers, or from records."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import output
from doctor.cli.options import Positive, _output, _python

if TYPE_CHECKING:
    from doctor.fleet.rank.options import Options
    from doctor.model.fleet import FleetReport

NOT_MEASURED = 3  # as the verdict of that name (doctor/fleet/judge)
FORMATS = ("terminal", "json", "markdown", "html", "junit")


@click.command()
@click.option("--local", is_flag=True, help="Check the GPUs of this machine: starts torchrun of the target itself.")
@click.option("--hosts", metavar="A,B", help="The nodes, for --print-commands, or in the order of their ranks.")
@click.option("--hostfile", type=click.Path(dir_okay=False), metavar="FILE", help="The same from a file, one a line.")
@click.option("--print-commands", type=click.Choice(("torchrun", "srun")), is_flag=False, flag_value="torchrun",
              help="Print the script that starts all ranks: torchrun (default) or srun.")  # fmt: skip
@click.option("--merge", metavar="DIR", help="Make the report of the records that ranks left in DIR.")
@click.option("--python", metavar="PATH", callback=_python, help="The Python to run, or its environment's folder.")
@click.option("--output", "folder", metavar="DIR", help="Where ranks leave their records, and the report's files go.")
@click.option("--ranks", type=click.IntRange(1, 4096), metavar="N", help="Ranks of a node. Default: one for each GPU.")
@click.option("--expect", type=click.IntRange(1, 1 << 20), metavar="N", help="--merge: how many ranks there should be.")
@click.option("--backend", type=click.Choice(("nccl", "gloo", "xccl")), help="Default: by the device (RCCL is nccl).")
@click.option("--limit", type=Positive(), metavar="S", default=60.0, help="Seconds for each operation. Default: 60.")
@click.option("--join-limit", type=Positive(), metavar="S", default=90.0, help="Seconds until all ranks have come.")
@click.option("--pair-bytes", type=click.IntRange(4096, 1 << 33), metavar="N", help="Of a message between two ranks.")
@click.option("--collective-bytes", type=click.IntRange(4096, 1 << 35), metavar="N", help="Of a collective operation.")
@click.option("--soak", type=Positive(), metavar="MINUTES", help="Go on for that long, and look for drift.")
@click.option("--strict", is_flag=True, help="A rate that nothing can be held against is not-measured.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="Default: terminal.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "file", metavar="FILE", callback=_output, help="Write the report there, not to stdout.")
@click.option("--openmetrics", metavar="FILE", callback=_output, help="Also write a textfile for a metrics collector.")
@click.option("--redact", is_flag=True, help="Replace host names, as in reports for passing on.")
@click.option("-v", "--verbose", is_flag=True, help="Also all nodes and rates that pass.")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", help="Colour in the terminal.")
def command(**options: Any) -> int:
    """Check many GPUs and machines before a job: which node, GPU or link is sick.

    \b
    torchdoctor fleet --local                             this machine
    torchdoctor fleet --hosts a,b --print-commands        torchrun's script
    torchdoctor fleet --hostfile F --print-commands srun  the script for Slurm
    torchdoctor fleet --merge DIR                         what the ranks left

    Exit codes: 0 pass, 1 degraded, 2 failed, 3 not measured. Hosts are named in the report; --redact replaces them.
    """
    asked = [name for name in ("local", "merge", "print_commands") if options[name]]
    if len(asked) > 1:
        raise click.UsageError("--local, --merge and --print-commands exclude each other.")
    if not asked:
        raise click.UsageError("say what to do: --local, --merge DIR, or --hosts A,B --print-commands.")
    if options["hosts"] and options["hostfile"]:
        raise click.UsageError("--hosts and --hostfile exclude each other.")
    format = _format(options)
    if options["print_commands"]:
        output.emit(_script(options), options["file"])
        return 0
    if format == "html":
        _needs_jinja()
    from doctor.fleet.merge import NothingThere
    from doctor.pipeline import NothingToMeasure

    try:
        report = _merged(options) if options["merge"] else _local(options)
    except NothingThere as error:
        output.complain(f"torchdoctor: {error}.")
        return NOT_MEASURED
    except NothingToMeasure as error:
        if error.usage:
            raise click.UsageError(f"{error}.") from error
        output.complain(f"torchdoctor: {error}.")
        return NOT_MEASURED
    return _shown(report, format, options)


def _format(options: dict[str, Any]) -> str:
    if options["as_json"] and options["format"] not in (None, "json"):
        raise click.UsageError(f"--json and --format {options['format']} exclude each other.")
    return "json" if options["as_json"] else options["format"] or "terminal"


def _needs_jinja() -> None:
    from importlib.util import find_spec

    if find_spec("jinja2") is None:
        raise click.UsageError("--format html needs jinja2: install torchdoctor[html].")


def _hosts(options: dict[str, Any]) -> tuple[str, ...]:
    from doctor.cli.sources import read_source
    from doctor.fleet.launch import BadHosts, hosts_of

    if options["hostfile"]:
        text = read_source(options["hostfile"])[1].decode("utf-8", "replace")
    elif options["hosts"]:
        text = options["hosts"]
    else:
        return ()
    try:
        return hosts_of(text)
    except BadHosts as error:
        raise click.UsageError(f"{'--hostfile' if options['hostfile'] else '--hosts'}: {error}.") from None


def _options(options: dict[str, Any]) -> Options:
    from doctor.fleet.rank.options import OUTPUT, Options

    return Options(
        output=os.path.abspath(options["folder"]) if options["folder"] and options["local"] else
        options["folder"] or OUTPUT,
        backend=options["backend"], limit_s=options["limit"], join_s=options["join_limit"],
        pair_bytes=options["pair_bytes"], collective_bytes=options["collective_bytes"],
        soak_minutes=options["soak"],
    )  # fmt: skip


def _script(options: dict[str, Any]) -> str:
    from doctor.fleet import launch

    hosts = _hosts(options)
    if not hosts:
        raise click.UsageError("--print-commands needs --hosts A,B or --hostfile FILE.")
    make = launch.srun_script if options["print_commands"] == "srun" else launch.torchrun_script
    return make(hosts, _options(options), options["ranks"] or 8)


def _merged(options: dict[str, Any]) -> FleetReport:
    from doctor.fleet.merge import merge

    return merge(options["merge"], expect=options["expect"], hosts=_hosts(options), strict=options["strict"])


def _local(options: dict[str, Any]) -> FleetReport:
    from doctor.model.request import Request
    from doctor.pipeline import fleet_of_this_machine

    wanted = _options(options)
    request = Request(python=options["python"])
    tell = (lambda text: None) if options["quiet"] else output.complain
    if options["folder"]:
        return fleet_of_this_machine(request, wanted, ranks=options["ranks"], strict=options["strict"], tell=tell)
    with tempfile.TemporaryDirectory(prefix="torchdoctor-fleet-", ignore_cleanup_errors=True) as folder:
        wanted = replace(wanted, output=folder)
        return fleet_of_this_machine(request, wanted, ranks=options["ranks"], strict=options["strict"], tell=tell)


def _shown(report: FleetReport, format: str, options: dict[str, Any]) -> int:
    from importlib import import_module

    from doctor.fleet import outputs
    from doctor.fleet.judge.judgement import EXIT_CODES

    if options["redact"]:
        from doctor.facts.own_names import names_of_this_machine
        from doctor.redaction.report import redact_fleet

        report = redact_fleet(report, names=names_of_this_machine())
    folder = options["folder"]
    if folder:
        try:
            for note in outputs.write_all(report, folder):
                output.complain(f"torchdoctor: {note}")
        except OSError as error:
            output.complain(f"torchdoctor: cannot write to {folder}: {error.strerror or error}")
    if options["openmetrics"]:
        from doctor.reports.fleet import openmetrics

        output.emit(openmetrics.render(report), options["openmetrics"])
    if format == "terminal":
        from doctor.reports.fleet import text

        color = output.wants_color(options["color"], to_file=bool(options["file"]))
        shown = text.render(report, color=color, width=output.width(), verbose=options["verbose"])
    else:
        shown = import_module(f"doctor.reports.fleet.{format}").render(report)
    output.emit(shown, options["file"])
    return EXIT_CODES[report.verdict]

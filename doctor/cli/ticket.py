"""`torchdoctor ticket`: what a maintainer asks for, ready to be pasted into an issue."""

from __future__ import annotations

from typing import Any

import click

from doctor.cli import output
from doctor.cli.check import examine
from doctor.cli.options import machine_options, machines_of, read_all

TIME_LIMIT_S = 7.0  # the ticket is written within ten seconds, whatever is broken
SHAPES = ("collect_env", "transformers", "accelerate", "diffusers", "vllm")


@click.command()
@machine_options(formats=("markdown",))
@click.option("--as", "shape", type=click.Choice(SHAPES), help="Only the fields of that tool's report, in its shape.")
def command(**options: Any) -> int:
    """Write what an issue needs, as Markdown: the verdict, the findings, the facts, and a block for machines.

    \b
    torchdoctor ticket -o issue.md        whoever gets it reads it by:
                                          torchdoctor check --from issue.md
    torchdoctor ticket --as collect_env   for a form that asks for it

    Names, secrets and serial numbers are replaced. Nothing is sent. The exit code is 0, whatever is found. It takes at
    most ten seconds: what has not answered by then is not known (--time-limit SECONDS gives it more).
    """
    machines = machines_of(options["sources"])
    if machines.each_alone:
        raise click.UsageError("a ticket is of one machine, and --from names a folder of several.")
    options["time_limit"] = options["time_limit"] or TIME_LIMIT_S
    report = examine({**options, "format": "markdown"}, read_all(options["sources"]))
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
    if options["shape"]:
        from doctor.reports.env import SHAPES as renderers

        text = renderers[options["shape"]](output.redacted(report, options))
    else:
        text = output.text_of(report, "markdown", options)
    output.emit(text, options["output"])
    return 0

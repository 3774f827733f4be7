"""`torchdoctor schema`: the JSON schema of reports, as it is packaged."""

from __future__ import annotations

import click

from doctor.cli import output


@click.command()
@click.option("-o", "--output", "file", metavar="FILE", help="Write there, atomically, not to stdout.")
def command(file: str | None) -> int:
    """Print the JSON schema of reports (check --json)."""
    from importlib.resources import files

    output.emit(files("doctor.reports").joinpath("report-1.schema.json").read_text(encoding="utf-8"), file)
    return 0

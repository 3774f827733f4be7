"""`torchdoctor schema`: the JSON schemas of reports, as they are packaged."""

from __future__ import annotations

import click

from doctor.cli import output

FILES = {"report": "report-1.schema.json", "bench": "bench-1.schema.json", "fleet": "fleet-1.schema.json"}


@click.command()
@click.argument("of", type=click.Choice(tuple(FILES)), default="report", metavar="[report|bench|fleet]")
@click.option("-o", "--output", "file", metavar="FILE", help="Write there, atomically, not to stdout.")
def command(of: str, file: str | None) -> int:
    """Print the JSON schema of reports (check --json), of benchmarks (bench --json), or of fleets (fleet --json)."""
    from importlib.resources import files

    output.emit(files("doctor.reports").joinpath(FILES[of]).read_text(encoding="utf-8"), file)
    return 0

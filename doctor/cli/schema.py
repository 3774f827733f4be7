"""`torchdoctor schema`: the JSON schemas of reports, as they are packaged."""

from __future__ import annotations

import click

from doctor.cli import output

FILES = {"report": "report-1.schema.json", "bench": "bench-1.schema.json", "fleet": "fleet-1.schema.json",
         "compare": "compare-1.schema.json"}  # fmt: skip


@click.command()
@click.argument("of", type=click.Choice(tuple(FILES)), default="report", metavar="[report|bench|fleet|compare]")
@click.option("-o", "--output", "file", metavar="FILE", help="Write there, atomically, not to stdout.")
def command(of: str, file: str | None) -> int:
    """Print the JSON schema of reports (check --json), benchmarks (bench --json), fleets (fleet --json) or comparisons
    (compare --json)."""
    from importlib.resources import files

    output.emit(files("doctor.reports").joinpath(FILES[of]).read_text(encoding="utf-8"), file)
    return 0

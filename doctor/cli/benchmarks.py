"""What `torchdoctor bench` shows and writes: the live table, the formats, comparisons and merged tables, the known
errors. The measuring itself is asked for in cli/bench.py."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT
from doctor.cli.options import _output, decorator

if TYPE_CHECKING:
    from doctor.model.bench import BenchReport, Row

FORMATS = ("terminal", "json", "csv", "markdown", "html")
MERGED = ("terminal", "json", "csv", "markdown")
COMPARED = ("terminal", "json", "markdown")
SIZE = 4 << 20  # bytes of a report; a full one takes a few hundred kilobytes

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def output_options() -> Decorator:
    """--format and its short forms, -o, and what works on reports that exist."""
    options: list[Decorator] = [
        click.option("--format", "format", type=click.Choice(FORMATS), help="Default: terminal."),
        *(
            click.option(f"--{name}", f"as_{name}", is_flag=True, help=f"The same as --format {name}.")
            for name in FORMATS[1:]
        ),
        click.option("-o", "--output", metavar="FILE", callback=_output, help="Write to FILE instead of stdout."),
        click.option("--known", is_flag=True, help="List published figures that are wrong or not comparable."),
        click.option("--compare", metavar="OLD.json", help="Compare with an earlier report, row by row."),
        click.option("--merge", is_flag=True, help="One table of all FILES, the machines side by side."),
        click.argument("files", nargs=-1, metavar="[FILES]..."),
    ]

    return decorator(options)


def format_of(options: dict[str, Any], formats: tuple[str, ...] = FORMATS) -> str:
    """The requested format. Several, or one that is not available here, are a usage error."""
    asked = [name for name in FORMATS[1:] if options.get(f"as_{name}")]
    if options.get("format"):
        asked.append(options["format"])
    if len(set(asked)) > 1:
        raise click.UsageError(f"{' and '.join(sorted(set(asked)))} exclude each other.")
    chosen: str = asked[0] if asked else "terminal"
    if chosen not in formats:
        raise click.UsageError(f"--format {chosen} is not available here; choose {', '.join(formats)}.")
    return chosen


def on_files(options: dict[str, Any]) -> int | None:
    """Handle options that work on existing reports; the exit code. None where something must be measured."""
    files: tuple[str, ...] = options["files"]
    if options["known"] + options["merge"] + (options["compare"] is not None) > 1:
        raise click.UsageError("--known, --compare and --merge exclude each other.")
    if options["known"]:
        if files:
            raise click.UsageError("--known takes no files.")
        return _known(options)
    if options["merge"]:
        if not files:
            raise click.UsageError("--merge needs the files to merge.")
        return _merge(options, files)
    if options["compare"] is not None and files:
        if len(files) > 1:
            raise click.UsageError("--compare takes one new report (with none it measures).")
        return compare(read_report(options["compare"]), read_report(files[0]), options)
    if files:
        raise click.UsageError(f"'{files[0]}': files are only read with --compare OLD.json NEW.json or --merge.")
    return None


def read_report(name: str) -> BenchReport:
    """Read the report from a file, or from stdin for "-". Anything else is a usage error in one line."""
    from doctor.cli.sources import read_source
    from doctor.decode import Refused
    from doctor.reports.bench.json import parse

    _, content = read_source(name)
    try:
        if len(content) > SIZE:
            raise Refused(f"it is longer than {SIZE >> 20} MB")
        return parse(content)
    except Refused as error:
        raise click.UsageError(f"'{name}' cannot be used: {error}.") from None


def compare(old: BenchReport, new: BenchReport, options: dict[str, Any]) -> int:
    """Show what became faster or slower. Exit code 1 where a row is SLOWER, or had a time and has none any more."""
    from doctor.bench.compare import compare as compared
    from doctor.reports.bench import json, markdown, text

    format = format_of(options, COMPARED)
    result = compared(*_for(format, old, new))
    if format == "json":
        shown = json.render(result)
    elif format == "markdown":
        shown = markdown.render_comparison(result)
    else:
        shown = text.render_comparison(result, **_looks(options))
    output.emit(shown, options["output"])
    return FAULT if any(row.verdict == "SLOWER" or row.lost for row in result.rows) else 0


def text_of(report: BenchReport, options: dict[str, Any]) -> str:
    """Render the report in the requested format; formats meant for sharing are redacted."""
    format = format_of(options)
    (report,) = _for(format, report)
    if format == "terminal":
        from doctor.reports.bench import text

        return text.render(report, **_looks(options))
    shown: str = renderer_of(format).render(report)
    return shown


def _for(format: str, *reports: BenchReport) -> list[BenchReport]:
    """Reports as they may be shown in a format: what is for passing on is redacted, also of files, which anybody may
    have written."""
    if format == "terminal":
        return list(reports)
    from doctor.facts.own_names import names_of_this_machine
    from doctor.redaction.report import redact_bench

    return [redact_bench(report, names=names_of_this_machine()) for report in reports]


def renderer_of(format: str) -> Any:
    """The module of a format. Wrong usage, said before anything is measured, where it needs what is not installed."""
    from importlib import import_module

    try:
        return import_module(f"doctor.reports.bench.{'text' if format == 'terminal' else format}")
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        raise click.UsageError("--html needs jinja2: install torchdoctor[html].") from error


def _known(options: dict[str, Any]) -> int:
    from doctor.knowledge import published
    from doctor.reports.bench import json, markdown, text

    format = format_of(options, ("terminal", "json", "markdown"))
    if format == "json":
        shown = json.render(published.known())
    elif format == "markdown":
        shown = markdown.render_known()
    else:
        shown = text.render_known(width=output.width())
    output.emit(shown, options["output"])
    return 0


def _merge(options: dict[str, Any], files: tuple[str, ...]) -> int:
    from doctor.bench.compare import merge
    from doctor.reports.bench import csv, json, markdown, text

    format = format_of(options, MERGED)
    result = merge(_for(format, *map(read_report, files)))
    if format == "terminal":
        shown = text.render_merged(result, **_looks(options))
    elif format == "json":
        shown = json.render(result)
    else:
        shown = {"csv": csv.render_merged, "markdown": markdown.render_merged}[format](result)
    output.emit(shown, options["output"])
    return 0


def _looks(options: dict[str, Any]) -> dict[str, Any]:
    color = output.wants_color(options.get("color", "auto"), to_file=bool(options["output"]))
    return {"color": color, "width": output.width()}


class Live:
    """The table while it grows, on stderr: rows that are done, what is running, and the time that is left. Nothing
    where nobody watches."""

    def __init__(self, planned_s: float, *, quiet: bool = False) -> None:
        self._planned_s = planned_s  # seconds of measuring from which the remaining time is shown
        self._lock = threading.Lock()  # a thread reads the child's lines
        self._rows: list[Row] = []
        self._display: Any = None
        self._bar: Any = None
        if not quiet and output.somebody_types():
            self._start()

    def _start(self) -> None:
        from rich.console import Console, Group
        from rich.live import Live as Display
        from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
        from rich.text import Text

        planned_s = self._planned_s

        class Left(ProgressColumn):
            """What is left of the planned time; the shares come too seldom to tell."""

            def render(self, task: Task) -> Text:
                return Text(f"about {max(0.0, planned_s - (task.elapsed or 0.0)):.0f} s left")

        self._bar = Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn(), Left()
        )
        self._task = self._bar.add_task("starting", total=1.0)
        self._group = Group
        self._display = Display(self._shown(), console=Console(stderr=True), transient=True, refresh_per_second=4)

    def __enter__(self) -> Live:
        if self._display is not None:
            self._display.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._display is not None:
            self._display.stop()

    def __call__(self, what: str, share: float) -> None:
        """What is running, and which share of the planned time has passed (0 to 1)."""
        if self._bar is not None:
            from doctor.reports.text import safe

            with self._lock:
                self._bar.update(self._task, description=safe(what)[:60], completed=share)

    def rows(self, rows: tuple[Row, ...]) -> None:
        """All rows so far."""
        with self._lock:
            self._rows = list(rows)
            if self._display is not None:
                self._display.update(self._shown())

    def _shown(self) -> Any:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        from doctor.reports.bench import layout
        from doctor.reports.text import safe

        table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0))
        for head, width in (("workload", 8), ("device", 6), ("batch", 5), ("time", 8), ("95 %", 6), ("speed-up", 8)):
            table.add_column(head, no_wrap=True, min_width=width)
        for row in self._rows[-20:]:
            cells = (
                layout.name_of(row), row.device, str(row.batch), layout.shown_time(row),
                layout.spread_of(row.timing).partition(" (")[0] if row.timing else "",
                layout.times_of(row.speedup.ratio) if row.speedup else "",
            )  # fmt: skip
            table.add_row(*(Text(safe(cell)) for cell in cells))
        return self._group(table, self._bar) if self._rows else self._bar

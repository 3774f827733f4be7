"""What happens to a report at the end of a command: rendered, printed or written, and turned into an exit code."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.model.facts import StartFailure
from doctor.model.finding import ONLY_TOLD
from doctor.model.report import Report

if TYPE_CHECKING:
    from doctor.redaction.report import StandIn

# Nothing was examined, and no diagnosis says why: the user named something that is not a Python.
_NO_TARGET = ("not-found", "not-python")


def exit_code(report: Report, *, strict: bool = False) -> int:
    """0 no fault, 1 a fault (strict: or a warning, but for what is only told), 3 no verdict. What the user limited
    (--only, --no-probe, --device) is answered, and no verdict on the whole was asked for."""
    if wrong_target(report) is not None:
        return NO_VERDICT
    warns = any(f.severity == "warning" and f.id not in ONLY_TOLD for f in report.findings)
    if report.verdict == "faulty" or (strict and warns):
        return FAULT
    return NO_VERDICT if report.is_open else 0


def wrong_target(report: Report) -> str | None:
    """The sentence for a --python that names nothing, or no Python; None where there is a target."""
    failure = report.facts.interpreter.start_failure
    if not isinstance(failure, StartFailure) or failure.kind not in _NO_TARGET:
        return None
    return failure.message or f"{report.target.python} is not a Python that can be run."


def text_of(report: Report, format: str, options: dict[str, Any], *, headed: bool = False) -> str:
    """The report in a format, redacted where that format is for passing on. `headed`: the terminal shows its first line
    already."""
    if format == "terminal":
        from doctor.cli.nearby import nearby
        from doctor.reports import terminal

        return terminal.render(
            report if options.get("output") else replace(report, plan=nearby(report.plan, report)),
            color=wants_color(options.get("color", "auto"), to_file=bool(options.get("output"))),
            width=width(),
            verbose=bool(options.get("verbose")),
            quiet=bool(options.get("quiet")),
            errata=bool(options.get("errata")),
            headed=headed,
        )
    try:
        renderer = importlib.import_module(f"doctor.reports.{format}")
    except ModuleNotFoundError as error:
        if error.name != "jinja2":
            raise
        raise click.UsageError("--format html needs jinja2: install torchdoctor[html].") from error
    shown = redacted(report, options)
    if format == "github" and (file := os.environ.get("GITHUB_STEP_SUMMARY")):
        _add_to_summary(renderer, shown, file)
    text: str = renderer.render(shown)
    return text


def _add_to_summary(github: Any, report: Report, file: str) -> None:
    """Append the report to the job's step summary, within the space that other programs left."""
    try:
        taken = os.stat(file).st_size if os.path.exists(file) else 0
        with open(file, "a", encoding="utf-8", newline="\n") as summary:
            summary.write(github.job_summary(report, github.SUMMARY_BYTES - taken))
    except OSError as error:
        complain(f"torchdoctor: the summary of the job is not written: {error.strerror or error}")


def redacted(report: Report, options: dict[str, Any], *, of: str = "") -> Report:
    """The report for passing on: with stand-ins, unless --no-redact. How many is said on stderr (but of one machine
    `of` many only with --show-redacted)."""
    if options.get("no_redact"):
        return report
    from doctor.facts.own_names import names_of_this_machine
    from doctor.redaction.report import redaction

    done = redaction(report, names=names_of_this_machine() if report.facts.live else ())
    if options.get("show_redacted") or (not of and wrong_target(report) is None):
        tell_redacted(done.stand_ins, options, of=of)
    return done.report


def tell_redacted(stand_ins: tuple[StandIn, ...], options: dict[str, Any], *, of: str = "") -> None:
    """Report on stderr how much was replaced, and with --show-redacted what."""
    from doctor.redaction.report import counted

    if options.get("show_redacted"):
        for stand_in in stand_ins:
            complain(f"torchdoctor: {of}{stand_in.described(show=bool(sys.stderr and sys.stderr.isatty()))}")
    elif stand_ins and not options.get("quiet"):
        said = counted(stand_ins)
        complain(f"torchdoctor: redacted: {said} (--show-redacted lists them, --no-redact leaves them in)")


def emit(text: str, output: str | None = None) -> None:
    """Print to stdout, or write the file as a whole: a reader never sees half of it, a failure leaves the old one."""
    text = text if text.endswith("\n") else text + "\n"
    if output is None:
        sys.stdout.write(_encodable(text))
        sys.stdout.flush()
        return
    try:
        if os.path.exists(output) and not os.path.isfile(output):
            with open(output, "w", encoding="utf-8", newline="\n") as file:  # never replace a device or a pipe
                file.write(text)
        else:
            _replace(os.path.realpath(output), text)  # keep a link a link
    except OSError as error:
        raise click.UsageError(f"cannot write {output}: {error.strerror or error}") from error


def _replace(path: str, text: str) -> None:
    import tempfile  # costs more than reading a ticket

    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".torchdoctor-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


_ASCII = str.maketrans({"«": '"', "»": '"', "…": "...", "–": "-", "≥": ">=", "≤": "<=", "±": "+-", "×": "x"})


def _encodable(text: str) -> str:
    """The text, with ASCII for our own marks where stdout cannot encode them (the rest becomes «?», see main.py)."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_ASCII)
    return text


def _mode(output: str) -> int:
    """Permissions of the file that is replaced, or what the umask gives a new one (mkstemp's 0600 is too narrow)."""
    with contextlib.suppress(OSError):
        return os.stat(output).st_mode & 0o7777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def wants_color(choice: str, *, to_file: bool = False) -> bool:
    """--color, then NO_COLOR, then FORCE_COLOR, then whether stdout is a terminal that knows colours."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return not to_file and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Columns for text: of the terminal, between 60 and 100; 80 where there is none."""
    if not sys.stdout.isatty():
        return 80
    import shutil

    return min(100, max(60, shutil.get_terminal_size((80, 24)).columns))


def somebody_types() -> bool:
    """Whether a question on stderr would be read and answered, and a moving line seen. A notebook's cell gives its
    programs a terminal, but nobody types there, and what is drawn over stays."""
    if sys.stderr is None or not sys.stderr.isatty():
        return False
    from doctor.facts.kernels import running_python
    from doctor.facts.system import System

    return running_python(System.of_this_process()) is None


def complain(message: str) -> None:
    """One line on stderr, for hints and errors; never raises."""
    from doctor.reports.text import safe

    with contextlib.suppress(OSError):
        click.echo(safe(message), err=True)

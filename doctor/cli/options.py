"""The options that all commands share which look at a machine, their validation, and the Request made of them.

@click.command()
@machine_options()
def command(**options): ...
    request = request_from(**options)
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import click

from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.model.request import Request, Stated

FORMATS = ("terminal", "json", "markdown", "html", "junit", "github", "sarif", "openmetrics")
_DEVICE = re.compile(r"(cpu|cuda|mps|xpu)(:\d{1,3})?\Z")
_DATE = re.compile(r"\d{4}(-\d\d){0,2}\Z")

Evidence = tuple[tuple[str, bytes], ...]  # (name, content) of the files of one machine
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def completed_by(function: str) -> Callable[..., Any]:
    """What completes a parameter in a shell: a function of doctor/cli/completion.py, loaded only when a shell asks."""

    def complete(context: click.Context, parameter: click.Parameter, typed: str) -> Any:
        from doctor.cli import completion

        return getattr(completion, function)(context, parameter, typed)

    return complete


class Positive(click.FloatRange):
    """A number greater than 0. click's ranges accept nan; this does not."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; nan is a usage error."""
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is no number.", param, ctx)
        return number


def decorator(options: Sequence[Decorator]) -> Decorator:
    """Combine the options into one decorator, in their order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def machine_options(*, formats: Iterable[str] = FORMATS, probes: bool = True) -> Decorator:
    """All shared options. `formats`: what --format offers, the first being the default (one: no --format, no --json;
    none: no options for a file, either);
    `probes=False` for a command that never probes."""
    options: list[Decorator] = [
        click.option(
            "--python",
            metavar="PATH",
            callback=_python,
            help="The Python to examine: a program, an environment's folder, or kernel:NAME for a Jupyter kernel's.",
        ),
        click.option(
            "--from",
            "sources",
            multiple=True,
            metavar="FILE|DIR|-",
            help="Read pasted evidence, not this machine. Several files are one machine; a DIR is one machine a file.",
        ),
        click.option(
            "--as-of", metavar="DATE", callback=_date, help="Judge by what existed at that date (2024-05-31)."
        ),
        *_probe_options(probes),
        click.option(
            "--only", multiple=True, metavar="ID", callback=_ids, shell_complete=completed_by("ids"),
            help="Judge only this diagnosis (repeatable).",
        ),
        click.option(
            "--strict", is_flag=True, help="A warning, other than known errata, counts as a fault for the exit code."
        ),
        click.option(
            "--timeout",
            type=Positive(),
            metavar="SECONDS",
            help="Limit for each stage of a child process.",
        ),
        click.option(
            "--time-limit",
            type=Positive(),
            metavar="SECONDS",
            help="Limit for the whole examination of this machine.",
        ),
        *format_options(tuple(formats)),
        click.option("-v", "--verbose", is_flag=True, help="Also show what was skipped and where facts come from."),
        click.option("-q", "--quiet", is_flag=True, help="Only the verdict."),
        click.option(
            "--color",
            type=click.Choice(("auto", "always", "never")),
            default="auto",
            show_default=True,
            help="Colour in terminal output.",
        ),
    ]

    return decorator(options)


def _probe_options(probes: bool) -> list[Decorator]:
    if not probes:
        return []
    return [
        click.option("--no-probe", is_flag=True, help="Don't compute anything on the devices."),
        click.option("--device", multiple=True, metavar="DEVICE", callback=_devices,
                     shell_complete=completed_by("devices"),
                     help="Probe only this one: cpu, cuda, cuda:1, mps, xpu (repeatable)."),
    ]  # fmt: skip


def format_options(formats: tuple[str, ...]) -> list[Decorator]:
    """--format with these choices, --json, -o, and the options for redaction."""
    if not formats:
        return []
    choice = [
        click.option("--format", "format", type=click.Choice(formats), help=f"Default: {formats[0]}."),
        click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
    ]
    return [
        *(choice if len(formats) > 1 else []),
        click.option(
            "-o", "--output", metavar="FILE", callback=_output, help="Write there, atomically, not to stdout."
        ),
        click.option("--no-redact", is_flag=True, help="Leave names, paths and serial numbers in machine formats."),
        click.option(
            "--show-redacted",
            is_flag=True,
            help="List on stderr what was replaced; names only on a terminal, no secrets.",
        ),
    ]


def _stated(context: click.Context, parameter: click.Parameter, value: str | None) -> Stated | None:
    if value is None:
        return None
    from doctor.cli.sources import read_source
    from doctor.evidence.stated import parse

    name, content = read_source(value)
    try:
        return parse(content, os.path.basename(name))
    except ValueError as error:
        raise click.BadParameter(f"'{value}': {error}.") from None


facts_option = click.option(
    "--facts",
    "stated",
    metavar="FILE",
    callback=_stated,
    help="Judge facts that you state, each with a quote (docs/api.md); they overrule what --from says.",
)


def _demands(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        return ()
    from doctor.checks._required import demands

    try:
        return demands(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}.") from None


require_option = click.option(
    "--require",
    multiple=True,
    metavar="WHAT",
    callback=_demands,
    help="A fault where it does not hold: 'torch>=2.5', 'cuda>=1' (repeatable; torchdoctor help requirements).",
)


def _plugins(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if value:
        from doctor.plugins.installed import GROUP, installed

        known = [one.name for one in installed()]
        for name in value:
            if name not in known:
                there = f"installed: {', '.join(known)}" if known else f"none is installed beside torchdoctor ({GROUP})"
                raise click.BadParameter(f"there is no plugin '{name}'; {there}.")
    return value


plugin_option = click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="NAME",
    callback=_plugins,
    help="Ask only this installed plugin (repeatable). Default: all of them.",
)
no_plugins_option = click.option("--no-plugins", is_flag=True, help="Ask no plugin.")


def request_from(
    *,
    python: str | None = None,
    evidence: tuple[tuple[str, bytes], ...] = (),
    stated: Stated | None = None,
    as_of: str | None = None,
    no_probe: bool = False,
    device: tuple[str, ...] = (),
    only: tuple[str, ...] = (),
    require: tuple[str, ...] = (),
    plugins: tuple[str, ...] | None = (),
    timeout: float | None = None,
    time_limit: float | None = None,
    tool: str | None = None,
    shell: Literal["sh", "fish", "powershell", "cmd"] | None = None,
    verbose: bool = False,
    fixes: bool = True,
    **_: object,
) -> Request:
    """The request of one machine. Takes all options of a command (others than these are ignored); the contents of the
    --from files come as `evidence`: see `machines_of` and `read_all`. `fixes`: whether what to do is wanted, too."""
    from doctor.model.request import Request

    return Request(
        python=python, evidence=evidence, stated=stated, as_of=as_of, probe=not no_probe, devices=device, only=only,
        require=require, plugins=plugins, limit_s=timeout, run_limit_s=time_limit, every_file=verbose, fixes=fixes,
        tool=tool, shell=shell,
    )  # fmt: skip


@dataclass(frozen=True)
class Machines:
    """What --from names: the files of each machine. `each_alone`: a folder was given, so every file is one."""

    files: tuple[tuple[str, ...], ...] = ()
    each_alone: bool = False


def machines_of(sources: tuple[str, ...]) -> Machines:
    """The machines that --from names, unread. Wrong usage: a folder beside something else, an empty folder, stdin
    twice."""
    if sources.count("-") > 1:
        raise click.UsageError("--from - is given twice: stdin can be read only once.")
    if not any(os.path.isdir(s) for s in sources):
        return Machines((sources,) if sources else ())
    if len(sources) > 1:
        raise click.UsageError("--from takes either one folder (one machine a file) or files (all of one machine).")
    folder = sources[0]
    entries = [e for e in os.scandir(folder) if not e.name.startswith(".")]
    files = sorted(e.path for e in entries if e.is_file())
    if below := sum(e.is_dir() for e in entries):
        from doctor.cli.output import complain

        named = "folder" if below == 1 else "folders"
        complain(f"torchdoctor: {below} {named} in '{folder}' not read: only its files are.")
    if not files:
        raise click.UsageError(f"there are no files in '{folder}'.")
    return Machines(tuple((f,) for f in files), each_alone=True)


def read_all(files: Iterable[str]) -> Evidence:
    """The contents of the files of one machine, within the limits of cli/sources.py."""
    files = tuple(files)
    if not files:  # what reads texts takes its time to load, and the children don't run yet
        return ()
    from doctor.cli.sources import read_source

    return tuple(_evidence(*read_source(f, len(files))) for f in files)


def _evidence(name: str, content: bytes) -> tuple[str, bytes]:
    """Wrong usage: a report of a newer version, one that was cut short, a benchmark. Read as prose, it would be judged
    by the words of its findings."""
    from doctor.evidence.refusals import refusal

    if why := refusal(content):
        raise click.UsageError(f"cannot judge '{name}': {why}.")
    return name, content


def chosen_format(options: dict[str, Any]) -> str:
    """The name of the format asked for. Wrong usage: --json with another --format, --show-redacted where nothing is
    redacted."""
    asked: str | None = options.get("format")
    if options.get("as_json"):
        if asked not in (None, "json"):
            raise click.UsageError(f"--json and --format {asked} exclude each other.")
        asked = "json"
    if options.get("show_redacted") and (options.get("no_redact") or (asked or FORMATS[0]) == "terminal"):
        raise click.UsageError("--show-redacted is for a format that is redacted, such as --json.")
    return asked or FORMATS[0]


def _python(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """An empty value comes from an unset shell variable; do not silently examine another Python."""
    if value is not None and value.removeprefix("kernel:").strip() == "":
        raise click.BadParameter(f"'{value}' names no {'kernel' if value.strip() else 'Python'}.")
    return value


def _date(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """An ISO date. A year or a month stands for its last day."""
    if value is None:
        return None
    try:
        if not _DATE.match(value):
            raise ValueError
        date.fromisoformat(value + "-01-01"[: 10 - len(value)] if len(value) < 10 else value)
    except ValueError:
        raise click.BadParameter(f"'{value}' is not a date such as 2024-05-31, 2024-05 or 2024.") from None
    return value


def _devices(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for device in value:
        if not _DEVICE.match(device):
            raise click.BadParameter(f"'{device}' is not a device such as cpu, cuda, cuda:1, mps or xpu.")
    return value


def _ids(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if not value:
        return value
    from doctor.checks import all_checks

    known = [c.id for c in all_checks()]
    for id in value:
        if id not in known:
            raise click.BadParameter(unknown_id(id, known))
    return value


def unknown_id(id: str, known: Iterable[str]) -> str:
    """The sentence for an id that no check has, with the nearest one."""
    from difflib import get_close_matches

    near = get_close_matches(id, list(known), 1)
    return f"there is no diagnosis '{id}'." + (
        f" Did you mean {near[0]}?" if near else " See: torchdoctor explain --list"
    )


def _output(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written before the examination starts."""
    if value is None or value == "-":
        return None
    if not value:
        raise click.BadParameter("'' names no file.")
    folder = os.path.dirname(os.path.abspath(value))
    if not os.path.isdir(folder):
        raise click.BadParameter(f"there is no folder '{folder}'.")
    if os.path.isdir(value):
        raise click.BadParameter(f"'{value}' is a folder.")
    return value

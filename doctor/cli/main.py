"""The command `torchdoctor`: a lazy group, and what every command shares: exit codes, signals, closed pipes, bugs.

`--help` imports click and this file only. A command's module holds a click command named `command`, and is imported
when it is asked for.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import IO

import click

from doctor import __version__
from doctor.cli.codes import BUG, CLOSED_PIPE, INTERRUPTED, NO_VERDICT, USAGE

# New objects after which Python looks for those that nobody needs. A start makes many that stay: with each 700 of them,
# Python's default, a tenth of the time goes into looking.
COLLECTED_EVERY = 200_000

# name, module, summary for the list of commands
COMMANDS = (
    ("check", "doctor.cli.check", "Examine this machine and its torch, and name what is wrong."),
    ("fix", "doctor.cli.fix", "Say how to fix it, or do it: plan, script, --run, --undo."),
    ("install", "doctor.cli.install", "Choose the torch build for this machine, and install it."),
    ("probe", "doctor.cli.probe", "Prove each device with a short computation, and time it."),
    ("bench", "doctor.cli.bench", "Time well-known workloads, each proved right before it is timed."),
    ("fleet", "doctor.cli.fleet", "Check many GPUs and machines: which node, GPU or link is sick."),
    ("ticket", "doctor.cli.ticket", "Write the report that an issue needs, made to be read back."),
    ("triage", "doctor.cli.triage", "Draft the answer to an issue, as JSON; nothing is posted."),
    ("compare", "doctor.cli.compare", "Say why it works on one machine and not on another."),
    ("explain", "doctor.cli.explain", "Explain a diagnosis, an erratum, or a pasted error line."),
    ("errata", "doctor.cli.errata", "List the known defects of this torch, or of another."),
    ("knowledge", "doctor.cli.knowledge", "What the tables know of builds, drivers and GPUs."),
    ("schema", "doctor.cli.schema", "Print the JSON schema of reports."),
    ("mcp", "doctor.cli.mcp", "Serve check, judge, plan, compare and more to agents (MCP)."),
    ("completion", "doctor.cli.completion", "Print the script that completes commands in a shell."),
    ("help", "doctor.cli.help", "Help on a command, on exit codes, variables, or formats."),
)


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one only to run it (or to show its own help)."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the help."""
        return [name for name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now; None where there is none."""
        for name, module, _ in COMMANDS:
            if name == cmd_name:
                command: click.Command = importlib.import_module(module).command
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands in the help, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, _, summary in COMMANDS])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; a wrong name ends in exit code 2, with the nearest right one."""
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in self.list_commands(ctx):
            from difflib import get_close_matches

            near = get_close_matches(name, self.list_commands(ctx), 1)
            ctx.fail(f"No such command '{name}'." + (f" Did you mean '{near[0]}'?" if near else ""))
        return super().resolve_command(ctx, args)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="torchdoctor", message="%(prog)s %(version)s")
def cli() -> None:
    """Why can't torch use this machine as it should, and which commands fix it?

    \b
    torchdoctor check                      examine this machine
    torchdoctor check --from ticket.txt    read a pasted report instead
    torchdoctor fix --print-commands       only the commands that fix it
    """
    from doctor.cli.knowledge import use_updated_tables

    use_updated_tables()


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of `torchdoctor` and of `python -m doctor`."""
    code = run(sys.argv[1:] if argv is None else argv)
    gc.freeze()  # Python would look through all objects once more, which takes longer than all else at the end
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run a command line; its exit code. Prints what went wrong, never raises but for SystemExit."""
    gc.set_threshold(COLLECTED_EVERY)
    _open_what_is_closed()
    _replace_what_the_terminal_cannot_encode()
    with _ending_children():
        try:
            code = _invoke(list(argv))
            _flush()
            return code
        except click.ClickException as error:
            shown = io.StringIO()
            error.show(shown)
            _say(shown.getvalue().rstrip("\n"))  # it quotes what was typed
            return error.exit_code
        except (KeyboardInterrupt, EOFError, click.Abort):
            _say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            _discard_output()
            return CLOSED_PIPE
        except MemoryError:
            _say("torchdoctor: there is not enough memory here to look (ulimit -v, or a container's limit)")
            _discard_output()
            return NO_VERDICT
        except Exception as error:
            if problem := _problem_outside(error):
                _say(f"torchdoctor: {problem}")
                _discard_output()
                return USAGE
            return _report_bug(error, argv)


def _invoke(argv: list[str]) -> int:
    if complete := os.environ.get("_TORCHDOCTOR_COMPLETE"):
        from doctor.cli.completion import answer

        return answer(cli, complete)
    try:
        with cli.make_context("torchdoctor", argv) as context:
            code = cli.invoke(context)
    except click.exceptions.Exit as asked:
        return asked.exit_code
    return code if isinstance(code, int) else 0


def _report_bug(error: Exception, argv: Sequence[str]) -> int:
    """One line by default: most people can do nothing with a traceback but send it, and it says how to get it."""
    if os.environ.get("TORCHDOCTOR_DEBUG") or {"-v", "--verbose"} & set(argv):
        import traceback

        _say(traceback.format_exc().rstrip())
    where = error.__traceback__
    while where and where.tb_next:
        where = where.tb_next
    place = f" ({os.path.basename(where.tb_frame.f_code.co_filename)}:{where.tb_lineno})" if where else ""
    message = " ".join(str(error).split())[:300]
    _say(
        f"torchdoctor {__version__} failed: {type(error).__name__}: {message}{place}. That is a bug in torchdoctor, "
        "not in your machine; please report it with what the same command prints with TORCHDOCTOR_DEBUG=1."
    )
    return BUG


@contextlib.contextmanager
def _ending_children() -> Iterator[None]:
    """SIGTERM and SIGHUP end us by SystemExit, so that process.py's exit handler ends the children too."""

    def terminated(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {}
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        with contextlib.suppress(ValueError, OSError):  # not the main thread, as in some test runners
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP: leave that
                previous[number] = signal.signal(number, terminated)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _problem_outside(error: Exception) -> str | None:
    """What is wrong with the place where we were started: no error of ours. Both kinds of OSError name no file."""
    if not isinstance(error, OSError) or error.filename is not None:
        return None
    if error.errno == errno.ENOENT:  # of getcwd
        return "the current folder is not there any more"
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
        return f"the output cannot be written: {error.strerror}"
    return None


def _open_what_is_closed() -> None:
    """A service may start us without one of the three streams: nothing is read from it, and what it is told is lost."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def _replace_what_the_terminal_cannot_encode() -> None:
    """A character that the terminal cannot show becomes "?" instead of raising."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]


def _say(text: str) -> None:
    from doctor.reports.text import safe

    with contextlib.suppress(OSError):
        click.echo(safe(text, keep_lines=True), err=True)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _discard_output() -> None:
    """Nobody reads any more: point both streams away, so that Python's own flush at exit doesn't complain."""
    streams: tuple[IO[str] | None, ...] = (sys.stdout, sys.stderr)
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in streams:
            if stream is not None:
                os.dup2(nowhere, stream.fileno())

"""`fix --run`, `fix --undo` and `install --env`: what is shown and asked around doctor/apply."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click

from doctor.apply import ApplyError, consent
from doctor.cli import output
from doctor.cli.codes import FAULT, NO_VERDICT, USAGE
from doctor.fixes.sources import Sources
from doctor.model.fix import Plan
from doctor.model.report import Report

Examine = Callable[[str | None], Report]  # another Python than the first time: that of a new environment
CONSENTS = (*consent.NAMES, "later-changes", "foreign-snapshot")

_INDEX = "TORCHDOCTOR_PYTORCH_INDEX"


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--pytorch-index, --offline, --find-links: where packages come from."""
    for option in (
        click.option(
            "--find-links", multiple=True, metavar="DIR|URL", help="Also take wheels from there (repeatable)."
        ),
        click.option("--offline", is_flag=True, help="No index at all: only --find-links."),
        click.option(
            "--pytorch-index",
            metavar="URL",
            envvar=_INDEX,
            callback=_address,
            help="A mirror of https://download.pytorch.org/whl.",
        ),
    ):
        command = option(command)
    return command


def consent_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """--allow NAME and --yes."""
    allow = click.option(
        "--allow", multiple=True, type=click.Choice(CONSENTS), metavar="NAME",
        help=f"Consent that a message asks for by this name: {', '.join(CONSENTS)}.",
    )
    yes = click.option("-y", "--yes", is_flag=True, help="Don't ask.")
    return allow(yes(command))


def _address(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if not value:
        return None
    scheme, _, rest = value.partition("://")
    if scheme not in ("https", "http", "file") or not rest or not value.isprintable() or " " in value:
        raise click.BadParameter(f"'{value}' is not an address such as https://mirror.example/whl.")
    return value


def sources_from(options: dict[str, Any]) -> Sources:
    """The package sources that the options name. --offline with nothing to install from is a usage error."""
    links = tuple(_absolute(place) for place in options["find_links"])
    if options["offline"] and not links:
        raise click.UsageError("--offline needs --find-links DIR: there must be wheels somewhere.")
    return Sources(pytorch_index=options["pytorch_index"], find_links=links, offline=options["offline"])


def wheels_from(sources: Sources) -> tuple[str, ...] | None:
    """The names of the wheel files that alone can be installed; None where there is an index, or a page of wheels, of
    which it is not known what they have."""
    if not sources.offline or any("://" in place for place in sources.find_links):
        return None
    return tuple(name for place in sources.find_links for name in sorted(os.listdir(place)) if name.endswith(".whl"))


def _absolute(place: str) -> str:
    """The absolute path of a folder, so that the command can be run from anywhere."""
    if "://" in place and place.isprintable() and " " not in place:
        return place
    if not place:
        raise click.BadParameter("'' names no folder.", param_hint="--find-links")
    path = os.path.abspath(os.path.expanduser(place))
    if not os.path.isdir(path):
        raise click.BadParameter(f"there is no folder '{place}'.", param_hint="--find-links")
    return path


def run(report: Report, examine: Examine, options: dict[str, Any], must_be_gone: tuple[str, ...] = ()) -> int:
    """Show, ask, carry out, say how it ended; the exit code. `must_be_gone`: findings that would be a failure
    afterwards."""
    from doctor.apply import run as applying

    def show(plan: Plan) -> str:
        return rendered(report, plan, options)

    system = _system()
    selection = replace(applying.select(report.plan), must_be_gone=must_be_gone)
    _say_by_hand(selection, show)
    if not selection.steps:
        _tell("there is nothing that torchdoctor could run here.")
        return FAULT if any(f.severity == "fault" for f in report.findings) else 0
    fresh = applying.made_by(selection.steps[0], system.cwd)
    _tell(f"To be done in {fresh or report.target.python}:\n")
    chosen = (replace(fix, alternatives=()) for fix in selection.run.fixes)  # only these are asked about
    click.echo(show(replace(selection.run, fixes=tuple(chosen))), err=True)
    if not options["yes"] and not _can_ask():
        _tell("nothing was done: there is no terminal to ask on. Say --yes to agree in advance.")
        return USAGE
    try:
        _tell("asking the package index whether that can be done (nothing is changed yet)")
        prepared = applying.prepare(system, report, selection, options["allow"])
        _say_changes(prepared)
        if not options["yes"] and not click.confirm("Do this?", err=True):
            _tell("nothing was done.")
            return FAULT
        outcome = applying.carry_out(prepared, lambda: examine(prepared.fresh), _tell)
    except ApplyError as error:
        _tell(str(error))
        return FAULT
    if outcome.status == "cured":
        for remark in selection.remarks:
            _tell(f"Left to you: {remark}")
    return _ended(outcome, report, options, windows=system.is_windows)


def rendered(report: Report, plan: Plan, options: dict[str, Any]) -> str:
    """A plan as the terminal shows it, without credentials."""
    from doctor.apply.redacted import hide
    from doctor.cli.nearby import nearby
    from doctor.reports import terminal

    plan = plan if options.get("output") else nearby(plan, report)
    color = output.wants_color(options["color"], to_file=bool(options.get("output")))
    windows = report.facts.host.system == "windows"
    return hide(terminal.render_plan(plan, color=color, width=output.width(), windows=windows))


def has_program(system: Any, name: str) -> bool:
    """Whether the program is installed where apply/ looks for it."""
    from doctor.apply.commands import program_of

    try:
        return bool(program_of(system, (name,)))
    except ApplyError:
        return False


def _system() -> Any:
    from doctor.facts.system import System

    return System.of_this_process()


def _can_ask() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and output.somebody_types()


def _say_by_hand(selection: Any, show: Callable[[Any], str]) -> None:
    if selection.by_hand.fixes or selection.by_hand.unfixed:
        _tell("Left to you (torchdoctor does not run this):\n")
        click.echo(show(selection.by_hand), err=True)


def _say_changes(prepared: Any) -> None:
    if prepared.half_made:
        _tell(f"! {prepared.fresh} was left half-made by an interrupted run, and is removed first")
    for change in sorted(prepared.changes, key=lambda c: c.name):
        if change.before != change.after:
            _tell(f"  {change.name}: {change.before or 'not there'} -> {change.after or 'removed'}")
        else:
            _tell(f"  {change.name}: {change.after}, installed anew")
    if prepared.diff:
        _tell(prepared.diff)
    for conflict in prepared.conflicts:
        _tell(f"! {conflict}, which this plan does not give it")
    for said in prepared.unresolved:
        _tell(f"- not known in advance: {said}")


def _ended(outcome: Any, before: Report, options: dict[str, Any], *, windows: bool) -> int:
    from doctor.apply.run import undo_command

    if outcome.after is not None and outcome.status == "cured":
        if options.get("as_json") or options.get("format") == "json":
            output.emit(output.text_of(outcome.after, "json", options), options["output"])
        _tell(_cured(outcome.after))
        remaining = [f.id for f in outcome.after.findings if f.severity == "fault" and f.root]
        if remaining:
            _tell(f"What remains is left to you: {', '.join(remaining)}.")
        if outcome.snapshot:
            _tell(f"To undo it: {undo_command(before, windows=windows)}")
        return 0 if not remaining else FAULT
    if outcome.status == "rolled-back":
        _tell(f"{outcome.reason.rstrip('.')}. {_as_before(outcome.left, 'All')}")
    else:
        _tell(f"{outcome.reason.rstrip('.')}. The environment could NOT be put back as it was:")
        for problem in (*outcome.problems, *outcome.left):
            _tell(f"  {problem}")
        if outcome.snapshot:
            _tell(f"The old content is in {outcome.snapshot}; try again: {undo_command(before, windows=windows)}")
    if outcome.interrupted is not None and not isinstance(outcome.interrupted, Exception):
        raise outcome.interrupted  # Ctrl-C, a signal: main.py gives the exit code
    return FAULT


def _cured(after: Report) -> str:
    """What is proven. Where the user limited the examination, only the fix itself is."""
    if after.verdict == "unknown" and after.limits:
        return f"cured; the rest of the environment was not judged ({', '.join(after.limits)})."
    return f"cured; the environment is {after.verdict}."


def _as_before(left: tuple[str, ...], all: str) -> str:
    """What the comparison of the whole environment says."""
    if not left:
        return f"{all} is as it was before."
    lines = "".join(f"\n  {one}" for one in left)
    return f"What the run changed is as it was before. These differ, and were left alone:{lines}"


def undo(id: str, options: dict[str, Any]) -> int:
    """`--undo [SNAPSHOT]`, or `--undo list`. Where there is no snapshot to undo, what an interrupted run left of a new
    environment is removed."""
    from doctor.apply import fresh
    from doctor.apply import undo as going_back
    from doctor.apply.place import store_at, store_of
    from doctor.apply.seal import seal_of
    from doctor.facts.target import find_target

    system, named = _system(), options["python"]
    left = [one] if named and (one := fresh.half_made(system, named)) else []
    store = store_at(named) if named else None
    found = None if left or store else find_target(system, named)
    python = found.python if found else None
    store = store or (store_of(system, python) if python else "")
    if found and found.failure and named and not os.path.isdir(store):  # neither a Python nor what is left of one
        _tell(f"{found.failure.message}.")
        return NO_VERDICT
    seal = seal_of(system)
    saved = going_back.saved_in(store, seal) if store else ()
    left = left or ([] if named else list(fresh.all_half_made(system)))
    if id == "list":
        return _list(saved, left)
    if left and id == "newest" and all(one.state == "undone" for one in saved):
        return _remove_half_made(left[-1])
    if not store:
        raise click.UsageError("there is no environment to look at; name it with --python.")
    try:
        done = going_back.undo(store, None if id == "newest" else id, seal=seal, allow=options["allow"])
    except ApplyError as error:
        _tell(str(error))
        return FAULT
    if done.problems:
        _tell("The environment could NOT be put back as it was:")
        for problem in (*done.problems, *done.left):
            _tell(f"  {problem}")
        return FAULT
    how = "nothing had been changed." if done.untouched else f"undone. {_as_before(done.left, 'All')}"
    _tell(f"{done.id} of {python or named}: {how}")
    return 0


def _remove_half_made(left: Any) -> int:
    from doctor.apply import fresh

    try:
        fresh.remove(left)
    except ApplyError as error:
        _tell(str(error))
        return FAULT
    _tell(f"{left.folder}, which the run of {left.at} had left half-made, is removed.")
    return 0


def _list(saved: Any, left: Any) -> int:
    from doctor.reports.text import safe

    for one in saved:
        whose = "" if one.genuine else "  (not made by this user here)"
        output.emit(f"{one.id}  {one.state:<11}  {one.size_bytes / 1e6:7.1f} MB  {safe(one.title)}{whose}\n")
    for one in left:
        _tell(f"half-made by an interrupted run ({one.at}): {one.folder}")
    if not saved and not left:
        _tell("there are no snapshots of this environment.")
    return 0


def is_half_made(folder: str) -> bool:
    """Whether the folder was left by an interrupted run."""
    from doctor.apply import fresh

    return fresh.half_made(_system(), folder) is not None


def _tell(text: str) -> None:
    from doctor.apply.redacted import hide
    from doctor.reports.text import safe

    click.echo(hide(safe(text.rstrip("\n"), keep_lines=True)), err=True)

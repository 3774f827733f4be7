"""The order of things: choose what can be run, resolve, snapshot, run, examine again; keep the cure, or go back.

select -> prepare (nothing is changed until here) -> carry_out. The caller shows and asks between them.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Literal

from doctor.apply import ApplyError, commands, consent, edit, project
from doctor.apply.fresh import HalfMade, Making, half_made, making, remove_folder, store_for, why_not_ours
from doctor.apply.installed import Installed, conflicts, freeze, installed_in
from doctor.apply.journal import Journal
from doctor.apply.judgement import judgement, uncovered
from doctor.apply.lock import held
from doctor.apply.place import Place, place_of
from doctor.apply.redacted import hide, hide_all
from doctor.apply.resolve import removed_by, resolve
from doctor.apply.seal import Seal, seal_of
from doctor.apply.snapshot import Snapshot, described, record_delta, take
from doctor.apply.undo import FOREIGN, discard, go_back, interrupted, next_id, prune, real_store
from doctor.fixes.quoting import line
from doctor.fixes.tools import Change, Resolution, folder_made_by, normalised, pip
from doctor.model.fix import Plan, Step
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.model.report import Report

Tell = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """What is run, and what the user must do: whole fixes, or single steps of fixes that are run."""

    run: Plan
    by_hand: Plan
    remarks: tuple[str, ...] = ()
    must_be_gone: tuple[str, ...] = ()  # findings that must be gone afterwards, whatever the fix was for

    @property
    def steps(self) -> tuple[Step, ...]:
        return tuple(step for fix in self.run.fixes for step in fix.steps if _runs(step))

    @property
    def targets(self) -> frozenset[str]:
        cured = (id for fix in self.run.fixes for id in (fix.finding, *fix.also_cures))
        return frozenset((*cured, *self.must_be_gone))


def select(plan: Plan) -> Selection:
    """A fix is run where no step of it needs root, a reboot or the system, nor hands of the user's before a command;
    the others are left to the user as a whole."""
    run, by_hand, remarks = [], [], []
    for fix in plan.fixes:
        if fix.action == "none":
            continue
        outside = any(step.needs_root or step.needs_reboot or step.where == "system" for step in fix.steps)
        if outside or not any(map(_runs, fix.steps)) or _waits_for_hands(fix.steps):
            by_hand.append(fix)
            continue
        run.append(fix)
        first = next(place for place, step in enumerate(fix.steps) if _runs(step))
        remarks += [step.shell or step.text for step in fix.steps[first:] if not _runs(step)]
    return Selection(
        run=Plan(fixes=tuple(run)), by_hand=Plan(fixes=tuple(by_hand), unfixed=plan.unfixed), remarks=tuple(remarks)
    )


def _runs(step: Step) -> bool:
    """Whether a step is carried out: a command, or an edit of a project's file."""
    return bool(step.argv or step.edit)


def _waits_for_hands(steps: tuple[Step, ...]) -> bool:
    """Whether the environment must be changed by hand before a command changes it."""
    last = max(place for place, step in enumerate(steps) if _runs(step))
    return any(not _runs(step) and not step.shell and step.where == "environment" for step in steps[:last])


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A plan that resolves. `fresh`: the folder of an environment that its first step makes."""

    system: System
    report: Report
    selection: Selection
    steps: tuple[Step, ...]
    place: Place
    environ: dict[str, str]
    installed: dict[str, Installed]
    changes: tuple[Change, ...] = ()
    conflicts: tuple[str, ...] = ()
    diff: str = ""
    fresh: str | None = None
    half_made: bool = False  # left by an interrupted run: remove it first
    unresolved: tuple[str, ...] = ()  # what could not be asked in advance


def prepare(system: System, report: Report, selection: Selection, allow: Iterable[str] = ()) -> Prepared:
    """Check everything that can be known in advance. Raises ApplyError, with the next step, before anything changes."""
    interpreter = report.facts.interpreter
    steps = selection.steps
    edits = any(map(project.is_of_project, steps))
    place = place_of(system, interpreter, edits_project=edits)
    for step in steps:
        if step.argv:
            commands.program_of(system, step.argv)  # names the missing program
    fresh = made_by(steps[0], system.cwd)
    environ = commands.environ_for(system, store_for(system, fresh) if fresh else place.store, place.prefix)
    installed = {} if fresh else installed_in(place.sites)
    prepared = Prepared(
        system=system, report=report, selection=selection, steps=steps, place=place, environ=environ,
        installed=installed, fresh=fresh,
    )  # fmt: skip
    if fresh:
        if left_behind := half_made(system, fresh):
            _refuse_foreign(left_behind)
            return replace(prepared, half_made=True)
        if os.path.lexists(fresh):
            raise ApplyError(f"nothing was changed: {fresh} is there already. Remove it, or name another folder.")
        return prepared
    if lacking := consent.missing(report.facts, place.prefix, allow):
        raise ApplyError(lacking)
    _refuse_unwritable(place)
    if left := interrupted(real_store(place.store), seal_of(system)):
        raise ApplyError(
            f"an earlier run ({left.id}) was interrupted in the middle: put its environment back first with "
            f"{undo_command(report, windows=system.is_windows)}"
        )
    return _resolved(prepared)


def _refuse_foreign(left: HalfMade) -> None:
    if reason := why_not_ours(left):
        raise ApplyError(
            f"nothing was changed: an interrupted run was making {left.folder}, but {reason}. Remove it yourself, or "
            "name another folder."
        )


def undo_command(report: Report, *, windows: bool = False) -> str:
    """The line that undoes the newest run in the report's environment."""
    named = ("--python", report.target.python) if report.target.python else ()
    return line(("torchdoctor", "fix", "--undo", *named), windows=windows)


def made_by(step: Step, cwd: str) -> str | None:
    """The folder of the environment that a step makes; None where it makes none."""
    folder = folder_made_by(step.argv) if step.argv else None
    return None if folder is None else os.path.join(cwd, folder)


def _refuse_unwritable(place: Place) -> None:
    """Nor is a project's file edited through a link: the snapshot holds the files of one folder."""
    for file in place.files:
        if os.path.islink(file):
            raise ApplyError(
                f"nothing was changed: {file} is a link to {os.path.realpath(file)}, and a file is not edited through "
                "a link. Run this in the project that it belongs to, or use --tool pip."
            )
    scripts = (os.path.join(root.path, name) for root in place.roots for name in ("bin", "Scripts"))
    for folder in (place.prefix, *place.sites, *scripts):
        if os.path.isdir(folder) and not os.access(folder, os.W_OK):
            raise ApplyError(
                f"nothing was changed: {folder} may not be written (read-only, or another user's). Use an "
                "environment of your own: python -m venv .venv"
            )


def _resolved(prepared: Prepared) -> Prepared:
    """Ask the tools whether the steps can succeed, given the removals that come first."""
    versions = {name: one.version for name, one in prepared.installed.items()}
    removed: list[str] = []
    changes: dict[str, Change] = {}
    unresolved = []
    gets_pip = False
    diff, in_project = "", [step for step in prepared.steps if project.is_of_project(step)]
    if in_project:
        preview = project.preview(prepared.system, in_project, prepared.place.files, dict(prepared.environ))
        _refuse_unresolved(preview.resolution)
        diff = preview.diff
    for step in prepared.steps:
        argv = step.argv or ()
        if step in in_project:
            continue
        program = commands.program_of(prepared.system, argv)
        if gets_pip and pip.runs(argv):  # there is none to ask, or a damaged one
            answer = Resolution(ok=True, known=False, message="the environment has no pip yet")
        else:
            answer = resolve(prepared.system, program, versions, removed, dict(prepared.environ))
        gets_pip |= pip.brings(argv)
        _refuse_unresolved(answer)
        removed += removed_by(argv)
        changes |= {change.name: _joined(changes.get(change.name), change) for change in answer.changes}
        if not answer.known:
            unresolved.append(hide(f"{line(argv, windows=False)}: {answer.message or 'this tool has no dry run'}"))
    after = {c.name: c.after for c in changes.values() if c.after}
    broken = conflicts(prepared.installed, after, prepared.report.facts.interpreter.version)
    return replace(prepared, changes=tuple(changes.values()), conflicts=broken, diff=diff, unresolved=tuple(unresolved))


def _joined(earlier: Change | None, later: Change) -> Change:
    return later if earlier is None else replace(later, before=earlier.before)


def _refuse_unresolved(answer: Resolution) -> None:
    if not answer.ok:
        raise ApplyError(f"nothing was changed: {_why_unresolved(answer)}")


def _why_unresolved(answer: Resolution) -> str:
    if answer.unreachable:
        return (
            f"the package index could not be reached ({answer.message}). Check the network and the proxy; for an index "
            "of your own use --pytorch-index URL, without a network --offline --find-links DIR."
        )
    return f"the plan does not resolve.\n{answer.message}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How it ended. `after`: the report of the second examination, if there was one."""

    status: Literal["cured", "rolled-back", "broken"]
    reason: str
    snapshot: str | None = None
    after: Report | None = None
    problems: tuple[str, ...] = ()
    left: tuple[str, ...] = ()  # after a rollback: other paths that differ from before
    interrupted: BaseException | None = None  # Ctrl-C or a signal, to be raised again by the caller


def carry_out(prepared: Prepared, examine: Callable[[], Report], tell: Tell) -> Outcome:
    """Snapshot, run, examine again. Whatever goes wrong, the environment is put back. Raises ApplyError where nothing
    was changed yet."""
    if prepared.fresh:
        return _carry_out_fresh(prepared, examine, tell)
    seal = seal_of(prepared.system, make=True)
    if not seal.stored:
        tell(f"the user's state folder cannot be written: to undo this later, --allow {FOREIGN} will be needed")
    store = real_store(prepared.place.store)
    with held(store) as lock:
        journal, snapshot = _snapshot(prepared, store, seal)
        tell(f"snapshot: {snapshot.folder}")
        try:
            reason = _run_steps(prepared, journal, tell, lock)
            after = None
            if reason is None:
                tell("examining the environment again")
                after = examine()
                reason = judgement(prepared.selection.targets, prepared.report, after)
                if reason is None and (hidden := uncovered(prepared.report, after)):
                    tell(f"could not be seen before, and is none of this change's: {', '.join(hidden)}")
            if reason is None:
                journal.write("finished", list=record_delta(snapshot).digest)
                prune(store, seal)
                return Outcome(status="cured", reason="", snapshot=snapshot.folder, after=after)
            caught: BaseException | None = None
        except BaseException as error:
            reason, caught, after = _described(error), error, None
        return _rolled_back(journal, snapshot, seal, reason, after, caught, tell)


def _snapshot(prepared: Prepared, store: str, seal: Seal) -> tuple[Journal, Snapshot]:
    """Take the snapshot. Raises ApplyError, with nothing changed, if that fails."""
    folder = os.path.join(store, next_id(store, datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")))
    touched = {change.name for change in prepared.changes} | {
        normalised(name) for step in prepared.steps for name in removed_by(step.argv or ())
    }
    try:
        os.mkdir(folder)
        journal = Journal(folder, seal)

        def begin(snapshot: Snapshot) -> None:
            journal.write(
                "begun",
                format=2,
                folder=folder,
                title="; ".join(fix.title for fix in prepared.selection.run.fixes),
                prefix=prepared.place.prefix,
                commands=[hide_all(_said(step)) for step in prepared.steps],
                freeze=freeze(prepared.installed),
                **described(snapshot),
            )

        snapshot = take(prepared.place, folder, touched, begin)
        journal.write("ready", list=snapshot.digest, count=len(snapshot.entries))
    except BaseException as error:
        discard(folder, seal)
        if isinstance(error, OSError):
            raise ApplyError(f"nothing was changed: the snapshot failed ({_described(error)})") from error
        raise
    return journal, snapshot


def _run_steps(prepared: Prepared, journal: Journal, tell: Tell, lock: int) -> str | None:
    """Run all steps; why one failed, or None."""
    count = len(prepared.steps)
    for number, step in enumerate(prepared.steps, 1):
        journal.write("step", number=number, argv=hide_all(_said(step)))
        if failure := _run_step(prepared, step, f"[{number}/{count}]", tell, (lock,)):
            return failure
        journal.write("step-ended", number=number)
    return None


def _said(step: Step) -> tuple[str, ...]:
    """The step for the journal: its command, or which file it edits."""
    return ("edit", step.edit.file) if step.edit else step.argv or ()


def _run_step(prepared: Prepared, step: Step, label: str, tell: Tell, pass_fds: tuple[int, ...]) -> str | None:
    if step.edit:
        tell(f"{label} edit {step.edit.file}")
        edit.carry_out(step.edit, step.edit.file)
        return None
    argv = step.argv or ()
    tell(f"{label} {hide(line(argv, windows=prepared.system.is_windows))}")
    started = time.monotonic()
    argv = commands.program_of(prepared.system, argv)
    result, tail = commands.run(prepared.system, argv, prepared.environ, lambda text: tell(f"      {text}"), pass_fds)
    if result.ok:
        tell(f"{label} done in {time.monotonic() - started:.0f} s")
        return None
    last = tail.strip().splitlines()
    return f"{step.text}: {result.said.partition(':')[0]}" + (f": {last[-1].strip()}" if last else "")


def _described(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, SystemExit):
        return "ended by a signal"
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    return f"{type(error).__name__}: {error}"


def _rolled_back(
    journal: Journal, snapshot: Snapshot, seal: Seal, reason: str, after: Report | None,
    caught: BaseException | None, tell: Tell,
) -> Outcome:  # fmt: skip
    tell = _unless_closed(tell)
    with _undisturbed(tell):
        tell(f"{reason}; putting the environment back")
        undone = go_back(journal, snapshot, seal)
    return Outcome(
        status="broken" if undone.problems else "rolled-back",
        reason=reason,
        snapshot=snapshot.folder if undone.problems else None,
        after=after,
        problems=undone.problems,
        left=undone.left,
        interrupted=caught,
    )


def _unless_closed(tell: Tell) -> Tell:
    """Rolling back must not fail because the terminal or the pipe is closed."""

    def say(text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            tell(text)

    return say


@contextlib.contextmanager
def _undisturbed(tell: Tell) -> Iterator[None]:
    """Ctrl-C and SIGTERM must not leave a half-changed environment: while the block runs, they are only noted."""

    def wait(*_: object) -> None:
        tell("the environment is being put back; please wait")

    previous = {}
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        with contextlib.suppress(ValueError, OSError):  # not the main thread
            if number is not None:
                previous[number] = signal.signal(number, wait)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


# ---- a new environment


def _carry_out_fresh(prepared: Prepared, examine: Callable[[], Report], tell: Tell) -> Outcome:
    """The first step makes the environment; whatever goes wrong after that, its folder goes again."""
    with making(prepared.system, prepared.fresh or "", tell) as one:
        one.begin(by_us=(prepared.steps[0].argv or ())[1:2] != ("create",))
        caught: BaseException | None = None
        after = None
        try:
            reason = _run_fresh(prepared, one, tell)
            if reason is None:
                tell("examining the new environment")
                after = examine()
                reason = judgement(prepared.selection.targets, prepared.report, after, fresh=True)
            if reason is None:
                one.keep()
                return Outcome(status="cured", reason="", after=after)
        except BaseException as error:
            reason, caught = _described(error), error
        tell = _unless_closed(tell)
        with _undisturbed(tell):
            tell(f"{reason}; removing {one.folder}")
            remove_folder(one.folder, one.journal)
        problems = (f"{one.folder} cannot be removed",) if os.path.lexists(one.folder) else ()
        return Outcome(
            status="broken" if problems else "rolled-back",
            reason=reason,
            after=after,
            problems=problems,
            interrupted=caught,
        )


def _run_fresh(prepared: Prepared, one: Making, tell: Tell) -> str | None:
    count = len(prepared.steps)
    for number, step in enumerate(prepared.steps, 1):
        if number > 1:
            program = commands.program_of(prepared.system, step.argv or ())
            answer = resolve(prepared.system, program, {}, (), dict(prepared.environ))
            if not answer.ok:
                return _why_unresolved(answer)
        one.note("step", number=number, argv=hide_all(step.argv or ()))
        if failure := _run_step(prepared, step, f"[{number}/{count}]", tell, one.fds):
            return failure
        one.note("step-ended", number=number)
        if number == 1:
            one.mark()
    return None

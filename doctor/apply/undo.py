"""Back to a snapshot: after a step that failed, after kill -9, or because the user wants it. Needs no network, and no
Python that runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from dataclasses import dataclass

from doctor.apply import ApplyError
from doctor.apply.journal import Journal, State
from doctor.apply.lock import held
from doctor.apply.place import PIPX, PROJECT_FILES, STORE, UV_TOOL, is_within
from doctor.apply.snapshot import Snapshot, changed_since, load, load_delta, restore, size_of

KEPT = 3  # snapshots of an environment
_GONE = "removed-"
_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?\Z")


@dataclass(frozen=True)
class Saved:
    """A snapshot in a store."""

    id: str
    folder: str
    state: State
    title: str
    size_bytes: int


@dataclass(frozen=True)
class Undone:
    """How going back ended. `problems` is empty when the environment is what it was."""

    id: str
    problems: tuple[str, ...]
    untouched: bool = False  # the run had not come to its first step


def saved_in(store: str) -> tuple[Saved, ...]:
    """The snapshots of a store, oldest first."""
    with contextlib.suppress(OSError):
        names = sorted((name for name in os.listdir(store) if _ID.match(name)), key=_order)
        return tuple(_saved(os.path.join(store, name)) for name in names)
    return ()


def _order(id: str) -> tuple[str, int]:
    stamp, _, number = id.partition("-")
    return stamp, int(number or 0)


def next_id(store: str, stamp: str) -> str:
    """The id of a new snapshot: its time, but never before that of an older one, for a clock may have been set back."""
    saved = saved_in(store)
    if not saved or _order(stamp) > _order(saved[-1].id):
        return stamp
    newest, number = _order(saved[-1].id)
    return f"{newest}-{number + 1}"


def _saved(folder: str) -> Saved:
    journal = Journal(folder)
    return Saved(
        os.path.basename(folder), folder, journal.state, str(journal.last("begun").get("title", "")), size_of(folder)
    )


def interrupted(store: str) -> Saved | None:
    """The run that was killed in the middle, if there is one."""
    return next((s for s in reversed(saved_in(store)) if s.state == "interrupted"), None)


def undo(store: str, id: str | None = None, *, later_changes: bool = False) -> Undone:
    """Put the environment back to what it was before the newest run, or the run `id`.

    Raises ApplyError: there is no such snapshot; another run is at work; the environment was changed since (unless
    `later_changes`: then those go, too).
    """
    if not os.path.isdir(store):
        raise ApplyError("there is nothing to undo: torchdoctor has changed nothing in this environment.")
    with held(store):
        saved = _chosen(store, id)
        journal = Journal(saved.folder)
        if journal.state == "incomplete":  # killed before the first step: nothing was changed
            discard(saved.folder)
            return Undone(saved.id, (), untouched=True)
        _refuse_older(store, saved, later_changes)
        snapshot = snapshot_of(journal)
        delta = load_delta(snapshot) if journal.state == "applied" and not later_changes else None
        moved = changed_since(snapshot, delta) if delta is not None and not journal.last("undoing") else []
        if moved:
            shown = ", ".join(moved[:3]) + (f" and {len(moved) - 3} more" if len(moved) > 3 else "")
            raise ApplyError(
                f"the environment was changed after that run ({shown}), so nothing was undone. To put all back to what "
                "it was before that run, with the loss of what came later: --allow later-changes"
            )
        return go_back(journal, snapshot, partly=delta is not None)


def _chosen(store: str, id: str | None) -> Saved:
    saved = [s for s in saved_in(store) if s.state != "undone"]
    if id is not None:
        saved = [s for s in saved if s.id == id]
        if not saved:
            raise ApplyError(f"there is no snapshot {id} of this environment; see: torchdoctor fix --undo list")
    if not saved:
        raise ApplyError("there is nothing to undo: no snapshot of this environment is left.")
    return saved[-1]


def _refuse_older(store: str, saved: Saved, later_changes: bool) -> None:
    newer = [s.id for s in saved_in(store) if _order(s.id) > _order(saved.id) and s.state in ("applied", "interrupted")]
    if newer and not later_changes:
        raise ApplyError(
            f"{newer[0]} is newer: undo that first (torchdoctor fix --undo undoes the newest), or say "
            "--allow later-changes"
        )


def _is_kept(file: str, prefix: str) -> bool:
    """Whether it is a file that snapshots hold besides the environment's folders: a project's, wherever that is, or
    what pipx or uv keeps in the environment itself."""
    folder, name = os.path.split(file)
    if name in (PIPX, UV_TOOL):
        return os.path.realpath(folder) == prefix
    return name in PROJECT_FILES and os.path.isabs(file)


def snapshot_of(journal: Journal) -> Snapshot:
    """The snapshot that a journal belongs to. Raises ApplyError where it cannot be read, is of an environment that was
    moved since, or would write elsewhere than in its environment: somebody else's work."""
    said = journal.last("begun")
    try:
        prefix, roots, leave, files = str(said["prefix"]), said["roots"], said["leave"], said["files"]
    except KeyError as error:
        raise ApplyError(f"the journal of {journal.folder} cannot be read") from error
    if not all(isinstance(one, list) and all(isinstance(w, str) for w in one) for one in (roots, leave, files)):
        raise ApplyError(f"the journal of {journal.folder} cannot be read")
    folder, name = os.path.split(os.path.dirname(journal.folder))
    if name == STORE:
        here, there = os.path.realpath(folder), os.path.realpath(prefix)
        if here != there:
            raise ApplyError(
                f"nothing was changed: this environment was {prefix} when that run was made, and is {folder} now. Move "
                "it back to undo the run, or make a new one."
            )
        foreign = [root for root in roots if not is_within(os.path.realpath(root), here)]
        foreign += [file for file in files if not _is_kept(file, here)]
        if foreign:
            raise ApplyError(
                f"nothing was changed: the journal of {journal.folder} names {foreign[0]}, which is foreign"
            )
    return load(journal.folder, roots, leave, files)


def go_back(journal: Journal, snapshot: Snapshot, *, partly: bool = False) -> Undone:
    """Restore, and verify that all is what it was. `partly`: only what that run changed. The lock is held by the
    caller."""
    delta = load_delta(snapshot) if partly else None
    journal.note("undoing" if partly else "restoring")
    problems = tuple(restore(snapshot, delta))
    if not problems:
        journal.note("restored")
        discard(snapshot.folder)
    return Undone(os.path.basename(snapshot.folder), problems)


def discard(folder: str) -> None:
    """Remove a snapshot. Renamed first, for half of one must not be taken for a whole one."""
    store, id = os.path.split(folder)
    gone = os.path.join(store, _GONE + id)
    with contextlib.suppress(OSError):
        os.rename(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def prune(store: str) -> tuple[Saved, ...]:
    """Remove all but the newest KEPT snapshots, and what is left of undone ones; those that are kept."""
    saved = saved_in(store)
    useful = [s for s in saved if s.state in ("applied", "interrupted")]
    keep = useful[-KEPT:]
    for one in saved:
        if one not in keep and one.state != "interrupted":
            discard(one.folder)
    for name in os.listdir(store):
        if name.startswith(_GONE):
            shutil.rmtree(os.path.join(store, name), ignore_errors=True)
    return tuple(keep)

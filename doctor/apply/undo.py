"""Back to a snapshot: after a step that failed, after kill -9, or because the user wants it. Needs no network, and no
Python that runs.

The store lies in the environment, which may come from anywhere: nothing in it is believed that the user's seal does not
vouch for (seal.py). With the consent FOREIGN a snapshot without it is put back all the same, in the environment alone.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Collection
from dataclasses import replace

from doctor.apply import ApplyError
from doctor.apply.journal import NAME, Journal, State
from doctor.apply.lock import held
from doctor.apply.place import PROJECT_FILES, STORE
from doctor.apply.restore import restore, settle_roots
from doctor.apply.seal import Seal
from doctor.apply.snapshot import Delta, Snapshot, changed_since, load, load_delta, size_of
from doctor.apply.tree import erase
from doctor.model.values import dataclass

KEPT = 3  # snapshots of an environment
LATER, FOREIGN = "later-changes", "foreign-snapshot"  # consents
_GONE = "removed-"
_ID = re.compile(r"\d{8}T\d{6}Z(-\d+)?\Z")


@dataclass(frozen=True)
class Saved:
    """A snapshot in a store. `genuine`: the user's seal is on its journal."""

    id: str
    folder: str
    state: State
    title: str
    size_bytes: int
    genuine: bool = True


@dataclass(frozen=True)
class Undone:
    """How going back ended. `problems`: what should be as it was and is not; `left`: other paths that are not as they
    were, for they are not the run's. Both empty: all is as it was, by a comparison of the whole environment."""

    id: str
    problems: tuple[str, ...]
    left: tuple[str, ...] = ()
    untouched: bool = False  # the run had not reached its first step


def real_store(store: str) -> str:
    """The store by its real path. Raises ApplyError where it is a link: nobody knows where that leads."""
    above, name = os.path.split(os.path.abspath(store))
    real = os.path.join(os.path.realpath(above), name)
    if os.path.islink(real):
        raise ApplyError(f"nothing was changed: {store} is a link. torchdoctor keeps its snapshots in a folder there.")
    return real


def saved_in(store: str, seal: Seal | None = None) -> tuple[Saved, ...]:
    """The snapshots of a store, oldest first."""
    with contextlib.suppress(OSError):
        names = sorted((name for name in os.listdir(store) if _ID.match(name)), key=_order)
        folders = [os.path.join(store, name) for name in names]
        return tuple(_saved(folder, seal) for folder in folders if not os.path.islink(folder))
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


def _saved(folder: str, seal: Seal | None) -> Saved:
    journal = Journal(folder, seal)
    title = str(journal.last("begun").get("title", ""))
    return Saved(os.path.basename(folder), folder, journal.state, title, size_of(folder), _is_genuine(journal))


def _is_genuine(journal: Journal) -> bool:
    """Whether the user's seal is on it. One that holds no whole line (its first was cut short) says nothing that could
    be false."""
    return journal.genuine or not journal.lines


def interrupted(store: str, seal: Seal) -> Saved | None:
    """The run that was killed before it finished, if any."""
    return next((s for s in reversed(saved_in(store, seal)) if s.state == "interrupted"), None)


def undo(store: str, id: str | None = None, *, seal: Seal, allow: Collection[str] = ()) -> Undone:
    """Put the environment back to what it was before the newest run, or the run `id`.

    `allow`: LATER, what was changed since goes, too; FOREIGN, a snapshot without the user's seal is believed. Raises
    ApplyError: there is no such snapshot; another run is at work; it needs one of these consents.
    """
    if not os.path.isdir(store):
        raise ApplyError("there is nothing to undo: torchdoctor has changed nothing in this environment.")
    store = real_store(store)
    with held(store):
        _sweep(store, seal)
        saved = _chosen(store, id, seal)
        if not saved.genuine and FOREIGN not in allow:
            raise ApplyError(
                f"nothing was changed: the snapshot {saved.folder} was not made by this user on this machine, or its "
                "record was altered. An environment that came from elsewhere may hold one that does harm. Remove that "
                f"folder to forget it; if you know where it comes from: --allow {FOREIGN}"
            )
        journal = Journal(saved.folder, seal)
        if journal.state == "incomplete":  # killed before the first step: nothing was changed
            discard(saved.folder, seal)
            return Undone(saved.id, (), untouched=True)
        later_changes = LATER in allow
        _refuse_older(store, saved, later_changes)
        snapshot = snapshot_of(journal)
        partly = journal.state == "applied" and not later_changes
        delta = load_delta(snapshot, _digest_in(journal, "finished")) if partly else None
        left: tuple[str, ...] = ()
        if not saved.genuine:
            snapshot, delta, left = _confined(snapshot, delta)
        moved = changed_since(snapshot, delta) if delta is not None and not journal.last("undoing") else []
        if moved:
            shown = ", ".join(moved[:3]) + (f" and {len(moved) - 3} more" if len(moved) > 3 else "")
            raise ApplyError(
                f"the environment was changed after that run ({shown}), so nothing was undone. To put all back to what "
                f"it was before that run, with the loss of what came later: --allow {LATER}"
            )
        undone = go_back(journal, snapshot, seal, delta)
        return replace(undone, left=(*undone.left, *left))


def _digest_in(journal: Journal, event: str) -> str | None:
    """The digest of a list, as recorded in the journal."""
    digest = journal.last(event).get("list")
    return digest if isinstance(digest, str) else None


def _chosen(store: str, id: str | None, seal: Seal) -> Saved:
    saved = [s for s in saved_in(store, seal) if s.state != "undone" or not s.genuine]
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


def snapshot_of(journal: Journal) -> Snapshot:
    """The snapshot that a journal belongs to. Raises ApplyError where it cannot be read, is of an environment that was
    moved since, or would write where no run of ours writes: beside the environment's folder that is where its links
    lead to, and the files of the one project that the run edited."""
    said = journal.last("begun")
    prefix = said.get("prefix")
    if not isinstance(prefix, str):
        raise ApplyError(f"the journal of {journal.folder} cannot be read")
    snapshot = load(journal.folder, said, _digest_in(journal, "ready"))
    folder, name = os.path.split(os.path.dirname(journal.folder))
    here = os.path.realpath(folder)
    if name == STORE and here != os.path.realpath(prefix):
        raise ApplyError(
            f"nothing was changed: this environment was {prefix} when that run was made, and is {folder} now. Move it "
            "back to undo the run, or make a new one."
        )
    id = os.path.basename(journal.folder)
    foreign = [root.home for root in snapshot.roots if root.home not in ("", os.path.join(root.path, STORE, id))]
    foreign += [f for f in snapshot.files if not os.path.isabs(f) or os.path.basename(f) not in PROJECT_FILES]
    if len({os.path.dirname(file) for file in snapshot.files}) > 1:
        foreign += snapshot.files
    if name == STORE and snapshot.roots[:1] != tuple(root for root in snapshot.roots if root.path == here):
        foreign += [root.path for root in snapshot.roots]
    if said.get("folder") != journal.folder:
        foreign += [str(said.get("folder"))]
    if foreign:
        raise ApplyError(f"nothing was changed: the journal of {journal.folder} names {foreign[0]}, which is foreign")
    return snapshot


def _confined(snapshot: Snapshot, delta: Delta | None) -> tuple[Snapshot, Delta | None, tuple[str, ...]]:
    """Of a snapshot without the seal the environment alone, and what was left alone. Raises ApplyError where it was
    made of more folders."""
    if len(snapshot.roots) != 1 or os.path.basename(os.path.dirname(snapshot.folder)) != STORE:
        far = (*(root.path for root in snapshot.roots[1:]), snapshot.folder)[0]
        raise ApplyError(f"nothing was changed: {snapshot.folder} names {far}, which is outside of the environment")
    left = tuple(f"{file}, a project's, was left alone" for file in snapshot.files)
    inside = {key: entry for key, entry in snapshot.entries.items() if key[0] == 0}
    if delta is not None:
        after = {key: entry for key, entry in delta.after.items() if key[0] == 0}
        delta = replace(delta, after=after, gone=frozenset(key for key in delta.gone if key[0] == 0))
    return replace(snapshot, entries=inside, files=()), delta, left


def go_back(journal: Journal, snapshot: Snapshot, seal: Seal, delta: Delta | None = None) -> Undone:
    """Restore, and compare everything with what it was. With a delta: only what that run changed. The lock is held by
    the caller."""
    journal.note("restoring" if delta is None else "undoing")
    restored = restore(snapshot, delta)
    if not restored.problems:
        journal.note("restored")
        discard(snapshot.folder, seal)
        settle_roots(snapshot)
    return Undone(os.path.basename(snapshot.folder), restored.problems, restored.left)


def discard(folder: str, seal: Seal) -> None:
    """Remove a snapshot. Renamed first, for half of one must not be taken for a whole one."""
    store, id = os.path.split(folder)
    gone = os.path.join(store, _GONE + id)
    with contextlib.suppress(OSError):
        os.rename(folder, gone)
    _remove(gone, seal)


def _remove(gone: str, seal: Seal) -> None:
    """What it keeps on other file systems goes first: its journal is the only one to know of that."""
    journal = Journal(gone, seal)
    id = os.path.basename(gone)[len(_GONE) :]
    for root in journal.last("begun").get("roots", ()) if journal.genuine else ():
        if isinstance(root, list) and len(root) == 4 and root[3] == os.path.join(str(root[0]), STORE, id):
            erase(root[3])
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(root[3]))
    if os.path.islink(gone):
        return
    for name in os.listdir(gone) if os.path.isdir(gone) else ():
        if name != NAME:
            erase(os.path.join(gone, name))
    erase(gone)


def _sweep(store: str, seal: Seal) -> None:
    """Remove what is left of snapshots that are of no more use: a kill came between going back and their end."""
    for one in saved_in(store, seal):
        if one.genuine and one.state == "undone":
            snapshot = None
            with contextlib.suppress(ApplyError):
                snapshot = snapshot_of(Journal(one.folder, seal))
            far = snapshot is not None and any(os.path.isdir(root.home) for root in snapshot.roots if root.home)
            discard(one.folder, seal)
            if snapshot is not None and far:
                settle_roots(snapshot)
    for name in os.listdir(store):
        if name.startswith(_GONE) and _ID.match(name[len(_GONE) :]):
            _remove(os.path.join(store, name), seal)


def prune(store: str, seal: Seal) -> tuple[Saved, ...]:
    """Remove all but the newest KEPT snapshots, and what is left of undone ones; those that are kept. One without the
    seal is none of ours."""
    _sweep(store, seal)
    saved = [one for one in saved_in(store, seal) if one.genuine]
    useful = [s for s in saved if s.state in ("applied", "interrupted")]
    keep = useful[-KEPT:]
    for one in saved:
        if one not in keep and one.state != "interrupted":
            discard(one.folder, seal)
    return tuple(keep)

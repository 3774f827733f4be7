"""Environments in the making: a run that is killed in the middle must not leave a folder that nobody knows of.

The journal lies in the user's state folder, for the new folder must be empty when its tool begins. A folder is removed
only when it is known to be ours: by a mark with the journal's random word, which is put into it as soon as it is an
environment; before that by its inode. In both cases nothing in it may be younger than the work may have lasted: the
user may have gone on with what was left.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING

from doctor.apply import ApplyError
from doctor.apply.journal import NAME, Journal
from doctor.apply.lock import held
from doctor.apply.place import STORE, state_folder
from doctor.apply.tree import erase, walk
from doctor.facts.system import read_regular
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System

MARK = os.path.join(STORE, "making")  # in the new environment
MAKING_LIMIT_S = 600.0  # making an environment without packages takes less
INSTALLING_LIMIT_S = 6 * 3600.0  # a step that fills it is through by then
# What venv, virtualenv and uv create in an environment; anything else was put there by somebody.
_PARTS = frozenset((
    "bin", "Scripts", "lib", "Lib", "lib64", "include", "Include", "share", "etc", "man", "pyvenv.cfg", STORE,
    ".gitignore", ".lock", "CACHEDIR.TAG",
))  # fmt: skip


@dataclass(frozen=True)
class HalfMade:
    """A folder that an unfinished run was making."""

    folder: str
    store: str
    at: str

    @property
    def journal(self) -> Journal:
        return Journal(self.store)


def store_for(system: System, folder: str) -> str:
    """Where the journal of an environment in the making lies."""
    key = hashlib.sha256(_real(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return os.path.join(state_folder(system), "new", key)


def _real(folder: str) -> str:
    """The folder's own name in the real path of its parent: a link of that name is no folder of ours."""
    parent, name = os.path.split(os.path.abspath(folder))
    return os.path.join(os.path.realpath(parent), name)


def half_made(system: System, path: str) -> HalfMade | None:
    """What an unfinished run left at a path: an environment's folder, or the Python in it."""
    above = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    for folder in (os.path.abspath(path), above):
        found = _read(store_for(system, folder))
        if found and found.folder == _real(folder):
            return found
    return None


def all_half_made(system: System) -> tuple[HalfMade, ...]:
    """All of this user, oldest first."""
    stores = os.path.join(state_folder(system), "new")
    with contextlib.suppress(OSError):
        found = (_read(os.path.join(stores, name)) for name in os.listdir(stores))
        own = (one for one in found if one and one.store == store_for(system, one.folder))
        return tuple(sorted(own, key=lambda one: one.at))
    return ()


def _read(store: str) -> HalfMade | None:
    journal = Journal(store)
    begun = journal.last("begun")
    folder = begun.get("folder")
    if not isinstance(folder, str) or not os.path.isabs(folder) or journal.last("finished"):
        return None
    return HalfMade(folder, store, str(begun.get("at", ""))) if os.path.lexists(folder) else None


def why_not_ours(half: HalfMade) -> str | None:
    """Why the folder must not be removed; None where it is the run's."""
    journal = half.journal
    try:
        said = os.lstat(half.folder)
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if not stat.S_ISDIR(said.st_mode) or _real(half.folder) != half.folder:
        return "it is no folder, or another one now"
    if hasattr(os, "geteuid") and said.st_uid != os.geteuid():
        return "it belongs to another user"
    if not os.listdir(half.folder):
        return None
    word, limit = journal.last("begun").get("word"), INSTALLING_LIMIT_S
    if _marked(half.folder) != word or not word:
        made, limit = journal.last("made"), MAKING_LIMIT_S
        if journal.last("marked") or (said.st_dev, said.st_ino) != (made.get("device"), made.get("inode")):
            return "it is not the folder that the interrupted run made"
    if _newest(half.folder) > _seconds(str(journal.lines[-1].get("at"))) + limit:
        return "something in it is younger than the interrupted run"
    own = sorted(set(os.listdir(half.folder)) - _PARTS)
    conda = os.path.isdir(os.path.join(half.folder, "conda-meta"))
    return f"{own[0]} in it was put there by somebody else" if own and not conda else None


def _marked(folder: str) -> str | None:
    try:
        return read_regular(os.path.join(folder, MARK), 100).decode("ascii", "replace").strip()
    except OSError:
        return None


def _newest(folder: str) -> float:
    """When something below a folder was last made or changed."""
    return max((entry.stat(follow_symlinks=False).st_ctime for entry in walk(folder)), default=0.0)


def _seconds(at: str) -> float:
    try:
        return datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def remove(half: HalfMade) -> None:
    """Remove what an interrupted run left. Raises ApplyError: it is not known to be ours, that run lives, or it cannot
    be removed."""
    with held(half.store):
        _remove(half)
        erase(half.store)


def _remove(half: HalfMade) -> None:
    """The same, under the lock, whose file stays."""
    if os.path.lexists(half.folder):
        if reason := why_not_ours(half):
            raise ApplyError(
                f"{half.folder} was left alone: {reason}. Remove it yourself if you don't need it; the record of the "
                f"interrupted run is {os.path.join(half.store, NAME)}"
            )
        remove_folder(half.folder, half.journal)
        if os.path.lexists(half.folder):
            raise ApplyError(f"{half.folder} cannot be removed")
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(half.store, NAME))


def remove_folder(folder: str, journal: Journal | None) -> None:
    """Remove an environment that is no more wanted, and the folders above it that the run made for it and that are
    empty again."""
    erase(folder)
    above = journal.last("begun").get("above") if journal else None
    for place in above if isinstance(above, list) else ():
        if isinstance(place, str) and folder.startswith(place + os.sep):
            with contextlib.suppress(OSError):
                os.rmdir(place)


def _missing_above(folder: str) -> list[str]:
    """The folders above that are not there yet, the deepest first."""
    missing, place = [], os.path.dirname(folder)
    while not os.path.lexists(place) and os.path.dirname(place) != place:
        missing.append(place)
        place = os.path.dirname(place)
    return missing


# ---- the run that makes one


@dataclass(frozen=True)
class Making:
    """A run that makes `folder`. `fds`: what its tools inherit. Without a journal where none can be kept."""

    folder: str
    journal: Journal | None = None
    word: str = ""
    fds: tuple[int, ...] = ()

    def begin(self, *, by_us: bool) -> None:
        """Make the folder, so that it is known by its inode (`by_us`; conda wants to make it itself). Raises
        ApplyError; nothing was made then."""
        try:
            above = _missing_above(self.folder)
            if self.journal:
                self.journal.write("begun", format=1, folder=self.folder, word=self.word, above=above)
            os.makedirs(os.path.dirname(self.folder), exist_ok=True)
            if by_us:
                os.mkdir(self.folder)  # fails if another process was faster
                said = os.lstat(self.folder)
                self.note("made", device=said.st_dev, inode=said.st_ino)
        except OSError as error:
            self.note("finished")
            where = f": {error.filename}" if error.filename not in (None, self.folder) else ""
            raise ApplyError(f"nothing was changed: {self.folder} cannot be made ({error.strerror}{where})") from error

    def note(self, event: str, **values: object) -> None:
        if self.journal:
            self.journal.note(event, **values)

    def mark(self) -> None:
        """The folder is an environment now: from here on it is known by its mark."""
        if self.journal is None or not os.path.isdir(self.folder):
            return
        with contextlib.suppress(OSError):
            os.makedirs(os.path.join(self.folder, STORE), exist_ok=True)
            with open(os.path.join(self.folder, MARK), "w", encoding="ascii") as file:
                file.write(self.word)
            self.note("marked")

    def keep(self) -> None:
        """It is whole, and the user's."""
        self.note("finished")
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(self.folder, MARK))
            os.rmdir(os.path.join(self.folder, STORE))


@contextlib.contextmanager
def making(system: System, folder: str, tell: Callable[[str], None]) -> Iterator[Making]:
    """Hold the lock and keep the journal while an environment is made; what an interrupted run left there goes first.
    Raises ApplyError; nothing was made then."""
    store = store_for(system, folder)
    try:
        os.makedirs(store, mode=0o700, exist_ok=True)
    except OSError as error:
        tell(f"{store} cannot be written ({error.strerror}): if this is killed in the middle, {folder} stays behind")
        yield Making(folder)
        return
    with held(store) as lock:
        if half := _read(store):
            tell(f"removing {folder}, which an interrupted run ({half.at}) left")
            _remove(half)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(store, NAME))  # of a run that finished, or whose folder is gone
        if os.path.lexists(folder):
            raise ApplyError(f"nothing was changed: {folder} is there already. Remove it, or name another folder.")
        one = Making(_real(folder), Journal(store), secrets.token_hex(16), (lock,))
        try:
            yield one
        finally:
            if _read(store) is None:
                erase(store)

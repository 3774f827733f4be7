"""What is on the disk: every file, link and folder of a place, with all that can be told without reading content.

An environment is listed as a whole. Links in it are not followed: what lies behind one that leads out of it is another
root, found by `survey`.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import field, replace
from itertools import islice

from doctor.apply import ApplyError
from doctor.apply.place import SCHEME, STORE, Place, Root, is_within
from doctor.facts.system import read_regular
from doctor.fixes.tools import normalised
from doctor.model.values import dataclass

KINDS = ("f", "l", "d", "o", "n")
BESIDE_LIMIT = 100_000  # entries of one folder of the user's that are compared
RECORD_BYTES, RECORD_ROWS = 8 << 20, 200_000  # of a RECORD: torch's has 2 MB and 15,000 rows
LINKS_HAVE_TIMES = os.utime in os.supports_follow_symlinks  # that can be set
LINKED_LIMIT = 500_000  # entries behind links that leave the environment
ENTRIES_LIMIT = 500_000  # of all that is listed: about 600 bytes of memory each
HAS_CTIME = sys.platform != "win32"  # there, st_ctime is the creation time

# (place in roots, path below it with /; "" is the root itself), or (-1, absolute path) for a single file
Key = tuple[int, str]
Xattrs = tuple[tuple[str, str], ...]  # (name, value in hexadecimal), sorted


@dataclasses.dataclass(frozen=True, slots=True)  # an environment has 100,000 of them
class Entry:
    """One thing on the disk. `kind`: f(ile), l(ink), d(irectory), o(ther: a socket, a device), n(othing, for a single
    file that is not there). Sizes in bytes, times in ns."""

    kind: str
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    uid: int = 0
    gid: int = 0
    target: str | None = None  # of a link
    behind: tuple[int, int] | None = None  # size and mtime_ns of the file that a link out of its root leads to
    xattrs: Xattrs = ()
    number: int | None = None  # the name of its kept content, the same for all hard links to it
    linked: bool = False  # the content is kept as a hard link
    digest: str | None = None  # sha256 of the copy that is kept, besides or instead
    ctime_ns: int = 0  # of a file of one name, or of one that is kept as a link, once it was linked; 0: not known

    def same_as(self, other: Entry | None, *, times: bool = True) -> bool:
        """Whether the other is the same, as far as can be told without reading. Not by inodes: on some file systems
        they change. `times`: also the time of change of a folder, which tells only who was in it, and of a link."""
        if other is None or self.kind != other.kind:
            return False
        if self.kind == "n":
            return True
        if (self.uid, self.gid, self.xattrs) != (other.uid, other.gid, other.xattrs):
            return False
        if self.kind == "l":
            timed = times and LINKS_HAVE_TIMES
            return self.target == other.target and (self.mtime_ns == other.mtime_ns or not timed)
        if self.kind == "o":
            return self.mode == other.mode
        if self.mode != other.mode or (self.kind == "f" and self.size != other.size):
            return False
        return self.mtime_ns == other.mtime_ns or (self.kind == "d" and not times)


Listing = dict[Key, Entry]


@dataclass(frozen=True)
class Scan:
    """A listing, the folders that could not be read, and the (root, name) of the user's folders that hold too much."""

    entries: Listing
    unreadable: tuple[str, ...] = ()
    unlisted: frozenset[Key] = frozenset()


class TooMany(Exception):
    """More entries than the limit."""


def scan(
    roots: Iterable[Root],
    files: Iterable[str],
    leave: Iterable[str],
    unlisted: Iterable[Key] = (),
    limit: int | None = None,
) -> Scan:
    """Everything in the roots, and the single files. Sorted: a folder comes before what is in it. Raises TooMany."""
    walk = _Walk(frozenset(leave), set(unlisted), limit)
    for number, root in enumerate(roots):
        walk.root(number, root)
    for file in files:
        walk.found[-1, file] = entry_of(file) or Entry("n")
    return Scan({key: walk.found[key] for key in sorted(walk.found)}, tuple(walk.unreadable), frozenset(walk.unlisted))


@dataclass
class _Walk:
    leave: frozenset[str]
    unlisted: set[Key]
    limit: int | None
    found: Listing = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def root(self, number: int, root: Root) -> None:
        entry = entry_of(root.path)
        if entry is None:
            return
        self.found[number, ""] = entry
        if root.owned is None:
            self.below(number, root, "")
            return
        for path in root.owned:
            place = os.path.join(root.path, *path.split("/"))
            if os.path.realpath(os.path.dirname(place)) == os.path.dirname(place):
                self.one(number, root, path)
        for name in self.names(root.path):
            if name in self.leave or root.owns(name) or (number, name) in self.unlisted:
                continue
            if root.whole or name in SCHEME:
                self.beside(number, root, name)

    def names(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []
        except OSError:
            self.unreadable.append(folder)
            return []

    def one(self, number: int, root: Root, path: str) -> None:
        if self.note(number, root, path):
            self.below(number, root, path)

    def note(self, number: int, root: Root, path: str) -> bool:
        """Whether it is a folder."""
        entry = entry_of(os.path.join(root.path, *path.split("/")), root.path)
        if entry is not None:
            self.found[number, path] = entry
            if self.limit is not None and len(self.found) > self.limit:
                raise TooMany
        return entry is not None and entry.kind == "d"

    def below(self, number: int, root: Root, path: str) -> None:
        """All of a folder. Without recursion: folders may be nested deeper than Python's calls."""
        folders = [path]
        while folders:
            folder = folders.pop()
            for name in self.names(os.path.join(root.path, *folder.split("/")) if folder else root.path):
                inner = f"{folder}/{name}" if folder else name
                if (folder or name not in self.leave) and self.note(number, root, inner):
                    folders.append(inner)

    def beside(self, number: int, root: Root, top: str) -> None:
        """What is not the tools', up to a limit."""
        seen: Listing = {}
        folders = [top]
        first = entry_of(os.path.join(root.path, top), root.path)
        if first is None:
            return
        seen[number, top] = first
        while folders if first.kind == "d" else ():
            folder = folders.pop()
            with contextlib.suppress(OSError):
                for name in os.listdir(os.path.join(root.path, *folder.split("/"))):
                    path = f"{folder}/{name}"
                    entry = None if root.owns(path) else entry_of(os.path.join(root.path, *path.split("/")), root.path)
                    if entry is not None:
                        seen[number, path] = entry
                        if entry.kind == "d":
                            folders.append(path)
            if len(seen) > BESIDE_LIMIT:
                self.unlisted.add((number, top))
                return
        self.found.update(seen)


def entry_of(path: str, root: str | None = None) -> Entry | None:
    """What is at a path; None where nothing is, or it cannot be seen. `root`: links out of it are looked behind."""
    try:
        said = os.lstat(path)
    except OSError:
        return None
    mode, xattrs = stat.S_IMODE(said.st_mode), _xattrs(path)
    plain = Entry("o", mode, 0, said.st_mtime_ns, said.st_ino, said.st_uid, said.st_gid, xattrs=xattrs)
    if stat.S_ISDIR(said.st_mode):
        return replace(plain, kind="d")
    if stat.S_ISREG(said.st_mode):
        told = HAS_CTIME and said.st_nlink == 1  # adding or removing a name changes it
        ctime_ns = said.st_ctime_ns if told else 0
        return replace(plain, kind="f", size=said.st_size, ctime_ns=ctime_ns)
    if stat.S_ISLNK(said.st_mode):
        try:
            return replace(plain, kind="l", target=os.readlink(path), behind=_behind(path, root) if root else None)
        except OSError:
            return None
    return plain


def _behind(path: str, root: str) -> tuple[int, int] | None:
    """Of the regular file outside of the root that a link leads to: whether somebody wrote through the link."""
    with contextlib.suppress(OSError):
        said = os.stat(path)
        if stat.S_ISREG(said.st_mode) and not is_within(os.path.realpath(path), root):
            return said.st_size, said.st_mtime_ns
    return None


def _xattrs(path: str) -> Xattrs:
    """Extended attributes, access lists among them. Python knows them on Linux only; elsewhere they come back with the
    file itself, which is kept as a hard link."""
    if not hasattr(os, "listxattr"):
        return ()
    try:
        names = os.listxattr(path, follow_symlinks=False)
    except OSError:
        return ()
    said = []
    for name in sorted(names):
        with contextlib.suppress(OSError):
            said.append((name, os.getxattr(path, name, follow_symlinks=False).hex()))
    return tuple(said)


# ---- where links lead

_TOO_MANY = (
    "nothing was changed: {} holds more than {} files, too many for a snapshot. Move what belongs to no package out of "
    "the environment, or make a new one."
)


def survey(place: Place) -> tuple[tuple[Root, ...], Scan]:
    """The roots of a place with those that its links lead to, and what is there. Raises ApplyError where a link leads
    to a place that no snapshot can hold, or a folder cannot be read."""
    if place.away:
        raise ApplyError(
            f"nothing was changed: {place.away} is behind a link, at {os.path.realpath(place.away)}. Tools find the "
            "scripts and data of packages by their place beside that folder, which is outside of the environment then. "
            "Put a folder in place of the link, or make a new environment."
        )
    roots = list(place.roots)
    while True:
        try:
            seen = scan(roots, _real_files(place.files), place.leave, limit=ENTRIES_LIMIT + LINKED_LIMIT)
        except TooMany:
            raise ApplyError(_TOO_MANY.format(place.prefix, ENTRIES_LIMIT)) from None
        more = _led_to(roots, seen.entries, len(place.roots))
        if more is None:
            break
        roots = more
    if seen.unreadable:
        raise ApplyError(
            f"nothing was changed: {seen.unreadable[0]} cannot be read, so what a tool changes there could not be put "
            "back."
        )
    behind = sum(1 for key in seen.entries if key[0] >= len(place.roots))
    if len(seen.entries) - behind > ENTRIES_LIMIT:
        raise ApplyError(_TOO_MANY.format(place.prefix, ENTRIES_LIMIT))
    if behind > LINKED_LIMIT:
        far = ", ".join(root.path for root in roots[len(place.roots) :])
        raise ApplyError(
            f"nothing was changed: links of the environment lead to {far}, where more than {LINKED_LIMIT} files lie: "
            "too many for a snapshot. Remove the links, or make a new environment."
        )
    return tuple(roots), seen


def _real_files(files: Iterable[str]) -> list[str]:
    return [os.path.join(os.path.realpath(os.path.dirname(file)), os.path.basename(file)) for file in files]


def _led_to(roots: list[Root], entries: Listing, first: int) -> list[Root] | None:
    """The roots, with those that links among what the tools own lead to; None where they lead nowhere new. The `first`
    roots are the place's own."""
    more = list(roots)
    for (number, path), entry in entries.items():
        if entry.kind != "l" or number < 0 or not roots[number].owns(path):
            continue
        link = os.path.join(roots[number].path, *path.split("/"))
        real = os.path.realpath(link)
        if not os.path.isdir(real):
            continue
        held = next((place for place, root in enumerate(more) if is_within(real, root.path)), None)
        if held is not None:
            inner = os.path.relpath(real, more[held].path).replace(os.sep, "/")
            if inner != "." and not more[held].owns(inner) and inner.split("/")[0] != STORE:
                more[held] = replace(more[held], owned=(*(more[held].owned or ()), inner))
            continue
        if any(is_within(root.path, real) for root in more[:first]):
            raise ApplyError(
                f"nothing was changed: {link} is a link to {real}, which holds the environment itself: no snapshot can "
                "hold that. Remove the link, or make a new environment."
            )
        more = [*more[:first], *(root for root in more[first:] if not is_within(root.path, real)), Root(real)]
    return more if more != roots else None


# ---- what distributions claim


def claims(roots: tuple[Root, ...], entries: Listing) -> tuple[dict[Key, frozenset[str]], dict[str, frozenset[str]]]:
    """The distributions whose RECORD names a thing: by key where it is listed, else by its path, if there is a file."""
    known: dict[Key, frozenset[str]] = {}
    elsewhere: dict[str, frozenset[str]] = {}
    keys = {path_of(roots, key): key for key in entries if key[0] >= 0}
    reals: dict[str, str] = {}
    for key in list(entries):
        if not key[1].endswith(".dist-info/RECORD") or key[0] < 0:
            continue
        record = path_of(roots, key)
        info = os.path.dirname(record)
        name = normalised(os.path.basename(info)[: -len(".dist-info")].rpartition("-")[0])
        for named in recorded(record):
            path = os.path.normpath(os.path.join(os.path.dirname(info), named))
            found = keys.get(path)
            if found is None:  # behind a link, or missing
                folder, last = os.path.split(path)
                if folder not in reals:
                    reals[folder] = os.path.realpath(folder)
                path = os.path.join(reals[folder], last)
                found = keys.get(path)
            if found is not None:
                known[found] = known.get(found, frozenset()) | {name}
            elif os.path.lexists(path):
                elsewhere[path] = elsewhere.get(path, frozenset()) | {name}
    return known, elsewhere


def path_of(roots: tuple[Root, ...], key: Key) -> str:
    """The absolute path of a key."""
    if key[0] < 0:
        return key[1]
    root = roots[key[0]].path
    return os.path.join(root, *key[1].split("/")) if key[1] else root


def recorded(record: str) -> list[str]:
    """The paths that a RECORD file names, up to RECORD_ROWS."""
    return [path for path, _ in record_rows(record)]


def record_rows(record: str) -> list[tuple[str, str]]:
    """The rows of a RECORD file, up to RECORD_ROWS: (path, hash as `sha256=…` or "")."""
    try:
        text = read_regular(record, RECORD_BYTES).decode("utf-8", "surrogateescape")
        rows = csv.reader(io.StringIO(text, newline=""))
        return [(row[0], row[1] if len(row) > 1 else "") for row in islice(rows, RECORD_ROWS) if row]
    except (OSError, csv.Error):
        return []


def tops(entries: Listing, keys: Iterable[Key]) -> Iterator[Key]:
    """Of some keys those that are not below another of them: a new folder is one thing, whatever is in it."""
    chosen = set(keys)
    for key in sorted(chosen):
        parts = key[1].split("/")
        if key[0] < 0 or not any((key[0], "/".join(parts[:n])) in chosen for n in range(1, len(parts))):
            yield key

"""What an environment held: a list of every file, and the files themselves, linked or copied, so that they can be put
back.

Everything below the place's roots is recorded. A file is hard-linked, which costs neither time nor space; installers
unlink and create, so the linked content outlives them. Copied is what could be written in place all the same: the
small files of the distributions that will change, and files that no distribution or several lay claim to. A link that
was written through nevertheless is noticed (size, time) and named.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from doctor.apply import ApplyError
from doctor.apply.place import Place, is_within

LIST, AFTER, CONTENT = "files.jsonl", "after.jsonl", "content"
COPIED_BYTES = 256 << 10  # a touched file up to this size is copied
MARGIN_BYTES = 64 << 20  # of free disk that a snapshot leaves
KINDS = ("f", "l", "d", "n")
_HALF_DONE = ".torchdoctor-new"  # what putting back makes before it takes its place
_FOLDER_SIZE = 1000  # files in one folder of content

Key = tuple[int, str]  # (place in roots, path below it with /); (-1, absolute path) for a single file


@dataclass(frozen=True)
class Entry:
    """One thing on the disk. `kind`: f(ile), l(ink), d(irectory), n(othing, for a single file that is not there)."""

    kind: str
    mode: int = 0
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    target: str | None = None  # of a link
    number: int | None = None  # the name of its kept content
    digest: str | None = None  # sha256 of a copy

    def same_as(self, other: Entry | None) -> bool:
        """Whether the content is the same, as far as size and time of change tell."""
        if other is None or self.kind != other.kind:
            return False
        if self.kind == "f":
            return (self.size, self.mtime_ns, self.mode) == (other.size, other.mtime_ns, other.mode)
        return self.target == other.target if self.kind == "l" else True


Listing = dict[Key, Entry]


@dataclass
class Snapshot:
    """A listing and the folder that keeps the content."""

    folder: str
    roots: tuple[str, ...]
    leave: tuple[str, ...]
    files: tuple[str, ...]
    entries: Listing = field(default_factory=dict)

    def path(self, key: Key) -> str:
        return os.path.join(self.roots[key[0]], *key[1].split("/")) if key[0] >= 0 else key[1]

    def kept(self, entry: Entry) -> str:
        assert entry.number is not None
        return os.path.join(self.folder, CONTENT, str(entry.number // _FOLDER_SIZE), str(entry.number))

    def scan(self) -> Listing:
        """What is there now."""
        return scan(self.roots, self.files, self.leave)


def scan(roots: Iterable[str], files: Iterable[str], leave: Iterable[str]) -> Listing:
    """Everything below the roots, and the single files. Links are not followed."""
    found: Listing = {}
    for place, root in enumerate(roots):
        for path, entry in _walk(root, "", frozenset(leave)):
            found[place, path] = entry
    for file in files:
        found[-1, file] = _entry(file) or Entry("n")
    return found


def _walk(folder: str, below: str, leave: frozenset[str]) -> Iterator[tuple[str, Entry]]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        if name in leave:
            continue
        path = os.path.join(folder, name)
        entry = _entry(path)
        if entry is None:
            continue
        inner = f"{below}{name}"
        yield inner, entry
        if entry.kind == "d":
            yield from _walk(path, inner + "/", frozenset())


def _entry(path: str) -> Entry | None:
    try:
        said = os.lstat(path)
    except OSError:
        return None
    mode = stat.S_IMODE(said.st_mode)
    if stat.S_ISDIR(said.st_mode):
        return Entry("d", mode)
    if stat.S_ISLNK(said.st_mode):
        return Entry("l", mode, target=os.readlink(path))
    if stat.S_ISREG(said.st_mode):
        return Entry("f", mode, said.st_size, said.st_mtime_ns, said.st_ino)
    return None  # sockets and the like are nobody's content


# ---- taking


def take(place: Place, folder: str, touched: Iterable[str]) -> Snapshot:
    """Record the place in `folder`, which exists. `touched`: names of distributions that will change, for the choice
    between link and copy. Raises ApplyError where the disk has no room, OSError where it fails."""
    snapshot = Snapshot(folder=folder, roots=place.roots, leave=place.leave, files=place.files)
    listing = snapshot.scan()
    risky = _at_risk(place, listing, frozenset(touched))
    needed = sum(listing[key].size for key in risky)
    free = shutil.disk_usage(folder).free
    if free < needed + MARGIN_BYTES:
        raise ApplyError(
            f"a snapshot needs {_megabytes(needed + MARGIN_BYTES)} of disk in {folder}, and {_megabytes(free)} are "
            "free: nothing was changed. Free some space and run it again."
        )
    for number, (key, entry) in enumerate(listing.items()):
        if entry.kind == "f":
            entry = _keep(snapshot, key, replace(entry, number=number), copied=key in risky)
        snapshot.entries[key] = entry
    _write_list(os.path.join(folder, LIST), snapshot.entries)
    return snapshot


def _keep(snapshot: Snapshot, key: Key, entry: Entry, *, copied: bool) -> Entry:
    source, kept = snapshot.path(key), snapshot.kept(entry)
    if not os.path.isdir(os.path.dirname(kept)):
        os.makedirs(os.path.dirname(kept))
    if not copied:
        with contextlib.suppress(OSError):  # another file system, too many links, a file system without them
            os.link(source, kept)
            return entry
    digest = _copy(source, kept)
    os.utime(kept, ns=(entry.mtime_ns, entry.mtime_ns))
    os.chmod(kept, entry.mode)
    return replace(entry, digest=digest)


def _copy(source: str, target: str) -> str:
    """Copy the content; its sha256."""
    digest = hashlib.sha256()
    with open(source, "rb") as read, open(target, "xb") as write:
        while block := read.read(1 << 20):
            digest.update(block)
            write.write(block)
    return digest.hexdigest()


def _at_risk(place: Place, listing: Listing, touched: frozenset[str]) -> set[Key]:
    """The files to copy."""
    risky = {key for key, entry in listing.items() if key[0] == -1 and entry.kind == "f"}
    if not place.by_record:
        return risky
    owners = _owners(place, listing)
    for key, entry in listing.items():
        if entry.kind != "f" or key[0] == -1 or "__pycache__" in key[1]:  # Python replaces its caches as a whole
            continue
        names = owners.get(key, frozenset())
        if len(names) != 1 or (names & touched and entry.size <= COPIED_BYTES):
            risky.add(key)
    return risky


def _owners(place: Place, listing: Listing) -> dict[Key, frozenset[str]]:
    """The distributions whose RECORD names a file."""
    owners: dict[Key, frozenset[str]] = {}
    by_path = {os.path.join(place.roots[key[0]], *key[1].split("/")): key for key in listing if key[0] >= 0}
    for (root, path), _ in listing.items():
        if not path.endswith(".dist-info/RECORD") or root < 0:
            continue
        info = path.rsplit("/", 2)[-2]
        name = normalised(info[: -len(".dist-info")].rpartition("-")[0])
        site = os.path.dirname(os.path.dirname(os.path.join(place.roots[root], *path.split("/"))))
        for named in recorded(os.path.join(site, info, "RECORD")):
            key = by_path.get(os.path.normpath(os.path.join(site, named)))
            if key is not None:
                owners[key] = owners.get(key, frozenset()) | {name}
    return owners


def recorded(record: str) -> list[str]:
    """The paths that a RECORD file names."""
    try:
        with open(record, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return [row[0] for row in csv.reader(file) if row]
    except (OSError, csv.Error):
        return []


def normalised(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    import re

    return re.sub(r"[-_.]+", "-", name).lower()


# ---- on disk


def _write_list(path: str, entries: Listing) -> None:
    temporary = path + ".new"
    with open(temporary, "w", encoding="ascii") as file:
        for key, e in entries.items():
            row = [*key, e.kind, e.mode, e.size, e.mtime_ns, e.inode, e.target, e.number, e.digest]
            file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def _read_list(path: str) -> Listing:
    with open(path, encoding="ascii") as file:
        rows = [json.loads(line) for line in file]
    return {(row[0], row[1]): Entry(*row[2:]) for row in rows}


def _sound(entries: Listing, roots: int, files: frozenset[str], *, whole: bool) -> bool:
    """Whether a listing says what `_write_list` may have written, and no path in it leads out of its root. In a whole
    one, every folder on the way is listed as a folder, not as a link."""
    for (root, path), e in entries.items():
        numbers = (root, e.mode, e.size, e.mtime_ns, e.inode, 0 if e.number is None else e.number)
        texts = (path, e.target or "", e.digest or "")
        if not all(type(n) is int for n in numbers) or not all(type(t) is str for t in texts) or e.kind not in KINDS:
            return False
        if any("\0" in text for text in texts):
            return False
        if root == -1 and path in files:
            continue
        parts = path.split("/")
        odd = {
            "",
            ".",
            "..",
            *(part for part in parts if os.path.basename(part) != part or os.path.splitdrive(part)[0]),
        }
        if not 0 <= root < roots or not odd.isdisjoint(parts):
            return False
        above = entries.get((root, "/".join(parts[:-1])))
        if whole and len(parts) > 1 and (above is None or above.kind != "d"):
            return False
    return True


def load(folder: str, roots: Iterable[str], leave: Iterable[str], files: Iterable[str]) -> Snapshot:
    """A snapshot from its folder. Raises ApplyError where it cannot be read."""
    roots, files = tuple(roots), tuple(files)
    entries = _loaded(folder, LIST, len(roots), files)
    return Snapshot(folder=folder, roots=roots, leave=tuple(leave), files=files, entries=entries)


def _loaded(folder: str, name: str, roots: int, files: Iterable[str]) -> Listing:
    try:
        entries = _read_list(os.path.join(folder, name))
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise ApplyError(f"the snapshot {folder} cannot be read: {error}") from error
    if not _sound(entries, roots, frozenset(files), whole=name == LIST):
        raise ApplyError(f"the snapshot {folder} was not written by torchdoctor, or is damaged: nothing was changed")
    return entries


# ---- what a run did


@dataclass(frozen=True)
class Delta:
    """What a run left: `after` is what it added or changed, as it left it; `gone` what it removed."""

    after: Listing
    gone: frozenset[Key]


def record_delta(snapshot: Snapshot) -> Delta:
    """Compare now with the snapshot, and write it down beside it. Raises OSError."""
    now = snapshot.scan()
    after = {key: entry for key, entry in now.items() if not entry.same_as(snapshot.entries.get(key))}
    delta = Delta(after, frozenset(snapshot.entries.keys() - now.keys()))
    _write_list(os.path.join(snapshot.folder, AFTER), {**after, **{key: Entry("n") for key in delta.gone}})
    return delta


def load_delta(snapshot: Snapshot) -> Delta:
    """The recorded result of a finished run. Raises ApplyError."""
    rows = _loaded(snapshot.folder, AFTER, len(snapshot.roots), snapshot.files)
    gone = frozenset(key for key, entry in rows.items() if entry.kind == "n")
    return Delta({key: entry for key, entry in rows.items() if key not in gone or key[0] == -1}, gone)


def changed_since(snapshot: Snapshot, delta: Delta) -> list[str]:
    """Paths that a run left and that are different now: somebody changed the environment after it."""
    now = snapshot.scan()
    moved = [key for key, entry in delta.after.items() if not entry.same_as(now.get(key)) and not _is_cache(key)]
    moved += [key for key in delta.gone if key in now and not _is_cache(key)]
    return sorted({snapshot.path(key) for key in moved})


def _is_cache(key: Key) -> bool:
    return "__pycache__" in key[1]


# ---- putting back


def restore(snapshot: Snapshot, delta: Delta | None = None) -> list[str]:
    """Make the place what it was; with a delta only what that run changed, so that later work of others stays. Can be
    killed and run again. Returns what is not as it was, one sentence each: empty when all is well.

    What is new goes first, which frees the disk for the rest. Kept content is linked back, which needs no space.
    """
    now = snapshot.scan()
    problems: list[str] = []
    for key in sorted(now.keys() - snapshot.entries.keys(), key=lambda k: k[1].count("/"), reverse=True):
        if delta is None or _added_by(key, delta, now):
            _remove(snapshot.path(key), now[key], problems, only_if_empty=delta is not None)
    for key, entry in snapshot.entries.items():
        if delta is not None and key not in delta.after and key not in delta.gone:
            continue
        if not entry.same_as(now.get(key)):
            _put_back(snapshot, key, entry, problems)
    return problems or differences(snapshot, delta)


def _added_by(key: Key, delta: Delta, now: Listing) -> bool:
    """What the run added, the byte code that Python made of it since, and what a killed undo left."""
    if key in delta.after or key[1].endswith(_HALF_DONE):
        return True
    above = key[1].split("/")
    if "__pycache__" not in above:
        return False
    folder = "/".join(above[: above.index("__pycache__")])
    return (key[0], folder) in delta.after


def _remove(path: str, entry: Entry, problems: list[str], *, only_if_empty: bool) -> None:
    try:
        if entry.kind == "d":
            if only_if_empty:
                with contextlib.suppress(OSError):  # somebody put something of theirs there since
                    os.rmdir(path)
            else:
                _writable(path)
                os.rmdir(path)
        elif entry.kind in "fl":
            _writable(os.path.dirname(path))
            os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        problems.append(f"{path} cannot be removed: {error.strerror or error}")


def _writable(folder: str) -> None:
    """Tools leave folders read-only now and then; their owner may change that."""
    with contextlib.suppress(OSError):
        if not os.access(folder, os.W_OK):
            os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | stat.S_IRWXU)


def _put_back(snapshot: Snapshot, key: Key, entry: Entry, problems: list[str]) -> None:
    path = snapshot.path(key)
    try:
        present = _entry(path)
        if present is not None and (present.kind == "d") != (entry.kind == "d"):
            shutil.rmtree(path) if present.kind == "d" else os.unlink(path)
            present = None
        if entry.kind == "d":
            os.makedirs(path, exist_ok=True)
            os.chmod(path, entry.mode)
            return
        if entry.kind == "n":
            if present is not None:
                os.unlink(path)
            return
        root = snapshot.roots[key[0]] if key[0] >= 0 else None
        if root is not None and not is_within(os.path.realpath(os.path.dirname(path)), os.path.realpath(root)):
            problems.append(f"{path} was left alone: a link on the way leads out of the environment")
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _writable(os.path.dirname(path))
        temporary = path + _HALF_DONE
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if entry.kind == "l":
            os.symlink(entry.target or "", temporary)
        elif not _link_back(snapshot, entry, path, present, temporary, problems):
            return
        os.replace(temporary, path)
    except OSError as error:
        problems.append(f"{path} cannot be put back: {error.strerror or error}")


def _link_back(
    snapshot: Snapshot, entry: Entry, path: str, present: Entry | None, temporary: str, problems: list[str]
) -> bool:
    """Make `temporary` the kept content. False where there is nothing more to do: it is in place, or lost."""
    kept = snapshot.kept(entry)
    held = _entry(kept)
    if held is None or held.kind != "f":
        problems.append(f"{path}: its kept content is gone from {snapshot.folder}")
        return False
    if held.size != entry.size or (entry.digest is None and held.mtime_ns != entry.mtime_ns):
        problems.append(f"{path} was written in place, its old content is lost")
        return False
    if held.mode != entry.mode:
        os.chmod(kept, entry.mode)
    if present is not None and present.inode == held.inode:
        return False  # the same file; its mode is right again
    try:
        os.link(kept, temporary)
    except OSError:
        _copy(kept, temporary)
        os.utime(temporary, ns=(entry.mtime_ns, entry.mtime_ns))
        os.chmod(temporary, entry.mode)
    return True


def differences(snapshot: Snapshot, delta: Delta | None = None) -> list[str]:
    """Where the place is not what it was (with a delta: of what that run changed); empty when all is back."""
    now = snapshot.scan()
    wrong = []
    for key, entry in snapshot.entries.items():
        if delta is not None and key not in delta.after and key not in delta.gone:
            continue
        if not entry.same_as(now.get(key)):
            wrong.append(f"{snapshot.path(key)} is not what it was")
        elif entry.digest and now[key].inode != entry.inode and _digest(snapshot.path(key)) != entry.digest:
            wrong.append(f"{snapshot.path(key)} has another content")
    for key in now.keys() - snapshot.entries.keys():
        if (delta is None or key in delta.after) and not (delta is not None and now[key].kind == "d"):
            wrong.append(f"{snapshot.path(key)} was not there")
    return sorted(wrong)


def _digest(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def size_of(folder: str) -> int:
    """Bytes that a snapshot alone holds: its lists, its copies, and linked files whose original is gone."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                said = os.lstat(os.path.join(path, name))
                total += said.st_size if said.st_nlink == 1 else 0
    return total


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"

"""What a place held: a list of all that is in it, and the files themselves, linked and copied, so that they can be put
back.

Every file that a tool may write is hard-linked, which costs neither time nor space, and gives back the very same file
with its owner, times, attributes and other links; installers unlink and create, so the linked content outlives them.
Copied besides is what could be written in place all the same: the small files of the distributions that will change,
and files that no distribution or several lay claim to. A link that was written through without a copy is noticed (size,
time) and named. What the user keeps in the environment's folder, and no RECORD names, is listed only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from doctor.apply import ApplyError
from doctor.apply.listing import HAS_CTIME, KINDS, Entry, Key, Listing, Scan, claims, entry_of, path_of, scan, survey
from doctor.apply.place import STORE, Place, Root, is_within
from doctor.apply.tree import walk
from doctor.model.values import dataclass

LIST, AFTER, CONTENT = "files.jsonl", "after.jsonl", "content"
COPIED_BYTES = 256 << 10  # a touched file up to this size is copied
UNCLAIMED_BYTES = 64 << 20  # a file that no RECORD names, up to this size
MARGIN_BYTES = 64 << 20  # of free disk that a snapshot leaves
HALF_DONE = ".torchdoctor-new"  # created while restoring, before it replaces the original
_FOLDER_SIZE = 1000  # files in one folder of content


@dataclass
class Snapshot:
    """A listing and the folder that keeps the content."""

    folder: str
    roots: tuple[Root, ...]
    leave: tuple[str, ...]
    files: tuple[str, ...]
    entries: Listing = field(default_factory=dict)
    unlisted: frozenset[Key] = frozenset()
    digest: str = ""  # of the list on the disk

    def path(self, key: Key) -> str:
        return path_of(self.roots, key)

    def kept(self, key: Key, entry: Entry) -> str:
        """Where the content lies as a hard link; beside it, with COPY, as a copy."""
        assert entry.number is not None
        home = (self.roots[key[0]].home if key[0] >= 0 else "") or self.folder
        return os.path.join(home, CONTENT, str(entry.number // _FOLDER_SIZE), str(entry.number))

    def scan(self) -> Scan:
        """List the present content."""
        seen = scan(self.roots, self.files, self.leave, self.unlisted)
        more: Listing = {}  # kept files in folders that are not fully listed
        for key in self.entries.keys() - seen.entries.keys():
            path = self.path(key)
            if is_real(os.path.dirname(path)) and (entry := entry_of(path, self.roots[key[0]].path)):
                more[key] = entry
        return replace(seen, entries={**seen.entries, **more}) if more else seen

    def owns(self, key: Key) -> bool:
        """Whether it lies where only tools write."""
        return key[0] < 0 or self.roots[key[0]].owns(key[1]) or key[1].endswith(HALF_DONE)


def is_real(folder: str) -> bool:
    """Whether a folder is reached without a link."""
    return os.path.normcase(os.path.realpath(folder)) == os.path.normcase(folder)


def copy_of(kept: str) -> str:
    return kept + ".copy"


# ---- taking


def take(
    place: Place, folder: str, touched: Iterable[str], begin: Callable[[Snapshot], None] = lambda _: None
) -> Snapshot:
    """Record the place in `folder`, which exists. `touched`: names of distributions that will change, for the choice of
    what to copy. `begin` hears where things will be kept, before they are. Raises ApplyError where the disk has no room
    or a link leads to where no snapshot can be taken, OSError where it fails."""
    names = frozenset(touched)
    roots, seen = survey(place)
    files = tuple(key[1] for key in seen.entries if key[0] < 0)
    snapshot = Snapshot(folder=folder, roots=roots, leave=place.leave, files=files, unlisted=seen.unlisted)
    listing = dict(seen.entries)
    claimed, elsewhere = claims(roots, listing) if place.by_record else ({}, {})
    for path, by in elsewhere.items():
        inside = next((number for number, root in enumerate(roots) if is_within(path, root.path)), None)
        entry = entry_of(path)
        if inside is not None and entry is not None:  # in a folder that other programs use, too
            key = (inside, os.path.relpath(path, roots[inside].path).replace(os.sep, "/"))
            listing[key], claimed[key] = entry, by
        elif by & names:
            raise ApplyError(
                f"nothing was changed: {', '.join(sorted(by & names))} says that {path} is a file of its own, outside "
                "of the environment: no snapshot can hold that. Uninstall it by hand, or make a new environment."
            )
    wanted = [key for key, entry in listing.items() if entry.kind == "f" and (snapshot.owns(key) or key in claimed)]
    risky = _at_risk(place, {key: listing[key] for key in wanted}, claimed, names)
    snapshot.roots = _with_homes(snapshot)
    begin(snapshot)
    for root in snapshot.roots:
        if root.home:
            os.makedirs(root.home)
    _keep(snapshot, listing, wanted, risky)
    snapshot.entries = {key: listing[key] for key in sorted(listing)}
    snapshot.digest = write_list(os.path.join(folder, LIST), snapshot.entries)
    return snapshot


def _with_homes(snapshot: Snapshot) -> tuple[Root, ...]:
    """A root on another file system keeps its content there, where it can be linked, if that can be written."""
    device, id = os.stat(snapshot.folder).st_dev, os.path.basename(snapshot.folder)
    roots = []
    for root in snapshot.roots:
        home = os.path.join(root.path, STORE, id)
        with contextlib.suppress(OSError):
            if os.stat(root.path).st_dev != device and not os.path.lexists(os.path.dirname(home)):
                root = replace(root, home=home if os.access(root.path, os.W_OK) else "")
        roots.append(root)
    return tuple(roots)


@dataclass
class _File:
    """One file, which may have several names."""

    keys: list[Key] = field(default_factory=list)
    copied: bool = False
    size: int = 0


def _keep(snapshot: Snapshot, listing: Listing, wanted: Iterable[Key], risky: Collection[Key]) -> None:
    """Keep the content of all, each file once, and write into the listing how."""
    files: dict[tuple[str, int, int], _File] = {}
    for key in wanted:
        said = os.lstat(snapshot.path(key))
        home = snapshot.roots[key[0]].home if key[0] >= 0 else ""
        file = files.setdefault((home, said.st_dev, said.st_ino), _File())
        file.keys.append(key)
        file.copied = file.copied or key in risky
        file.size = said.st_size
    devices = {home: os.stat(home or snapshot.folder).st_dev for home in {place[0] for place in files}}
    for (home, device, _), file in files.items():
        file.copied = file.copied or devices[home] != device
    _refuse_full(snapshot.folder, files)
    for number, file in enumerate(files.values()):
        first = replace(listing[file.keys[0]], number=number)
        kept = snapshot.kept(file.keys[0], first)
        linked, digest = _keep_one(snapshot.path(file.keys[0]), kept, first, file.copied)
        ctime_ns = os.lstat(kept).st_ctime_ns if linked and HAS_CTIME else 0
        for key in file.keys:
            listing[key] = replace(listing[key], number=number, linked=linked, digest=digest, ctime_ns=ctime_ns)


def _refuse_full(folder: str, files: Mapping[tuple[str, int, int], _File]) -> None:
    for home in {place[0] for place in files} | {""}:
        needed = sum(file.size for place, file in files.items() if place[0] == home and file.copied)
        free = shutil.disk_usage(home or folder).free
        if free < needed + MARGIN_BYTES:
            raise ApplyError(
                f"a snapshot needs {_megabytes(needed + MARGIN_BYTES)} of disk in {home or folder}, and "
                f"{_megabytes(free)} are free: nothing was changed. Free some space and run it again."
            )


def _keep_one(source: str, kept: str, entry: Entry, copied: bool) -> tuple[bool, str | None]:
    """Whether a link holds it, and the digest of the copy, if there is one."""
    if not os.path.isdir(os.path.dirname(kept)):
        os.makedirs(os.path.dirname(kept))
    linked = False
    with contextlib.suppress(OSError):  # another file system, too many links, a file system without them
        os.link(source, kept)
        linked = os.lstat(kept).st_ino == entry.inode
        if not linked:
            os.unlink(kept)
    if linked and not copied:
        return True, None
    digest = copy(source, copy_of(kept))
    os.chmod(copy_of(kept), 0o600)
    return linked, digest


def copy(source: str, target: str) -> str:
    """Copy the content to a new file; its sha256."""
    digest = hashlib.sha256()
    with open(source, "rb") as read, open(target, "xb") as write:
        while block := read.read(1 << 20):
            digest.update(block)
            write.write(block)
    return digest.hexdigest()


def _at_risk(
    place: Place, listing: Listing, claimed: Mapping[Key, frozenset[str]], touched: frozenset[str]
) -> set[Key]:
    """The files to copy."""
    risky = {key for key in listing if key[0] == -1}
    if not place.by_record:
        return risky
    for key, entry in listing.items():
        if key[0] == -1 or "__pycache__" in key[1]:  # Python replaces its cache files as a whole
            continue
        names = claimed.get(key, frozenset())
        if not names and key[0] >= len(place.roots):  # behind a link: anybody's, and perhaps very much
            continue
        if (len(names) != 1 and entry.size <= UNCLAIMED_BYTES) or (names & touched and entry.size <= COPIED_BYTES):
            risky.add(key)
    return risky


# ---- on disk


def write_list(path: str, entries: Listing) -> str:
    """Write a listing; its sha256."""
    temporary = path + ".new"
    digest = hashlib.sha256()
    with open(temporary, "wb") as file:
        for key, e in entries.items():
            row = [
                *key, e.kind, e.mode, e.size, e.mtime_ns, e.inode, e.uid, e.gid, e.target, e.behind, e.xattrs, e.number,
                e.linked, e.digest, e.ctime_ns,
            ]  # fmt: skip
            line = (json.dumps(row) + "\n").encode("ascii")
            digest.update(line)
            file.write(line)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    return digest.hexdigest()


def _read_list(path: str) -> Listing:
    with open(path, encoding="ascii") as file:
        rows = [json.loads(line) for line in file]
    entries = {}
    for row in rows:
        kind, mode, size, mtime_ns, inode, uid, gid, target, behind, xattrs, number, linked, digest, *later = row[2:]
        attributes = tuple((str(name), str(value)) for name, value in xattrs)
        entries[row[0], row[1]] = Entry(
            kind, mode, size, mtime_ns, inode, uid, gid, target, tuple(behind) if behind else None, attributes, number,
            linked, digest, later[0] if later else 0,
        )  # fmt: skip
    return entries


def _sound(entries: Listing, roots: int, files: frozenset[str], *, whole: bool) -> bool:
    """Whether a listing says what `write_list` may have written, and no path in it leads out of its root. In a whole
    one, every folder on the way that is listed is a folder, not a link."""
    for (root, path), e in entries.items():
        times = (e.mtime_ns, e.ctime_ns, *(e.behind or ()))
        numbers = (root, e.mode, e.size, e.inode, e.uid, e.gid, e.number or 0, *times)
        texts = (path, e.target or "", e.digest or "")
        if not all(type(n) is int for n in numbers) or not all(type(t) is str for t in texts) or e.kind not in KINDS:
            return False
        if any("\0" in text for text in texts) or type(e.linked) is not bool or (e.number or 0) < 0:
            return False
        if (root == -1 and path in files) or (path == "" and 0 <= root < roots and e.kind == "d"):
            continue
        parts = path.split("/")
        odd = {
            "",
            ".",
            "..",
            *(part for part in parts if os.path.basename(part) != part or os.path.splitdrive(part)[0]),
        }
        if not 0 <= root < roots or not odd.isdisjoint(parts) or parts[0] == STORE:
            return False
        above = entries.get((root, "/".join(parts[:-1])))
        if whole and len(parts) > 1 and above is not None and above.kind != "d":
            return False
    return True


def load(folder: str, said: Mapping[str, Any], digest: str | None) -> Snapshot:
    """A snapshot from its folder. `said`: the journal's line about it; `digest`: that of the list. Raises ApplyError
    where it cannot be read, or is another list."""
    try:
        roots = tuple(
            Root(str(path), None if owned is None else tuple(map(str, owned)), bool(whole), str(home))
            for path, owned, whole, home in said["roots"]
        )
        leave, files = said["leave"], said["files"]
        unlisted = frozenset((int(root), str(name)) for root, name in said.get("unlisted", ()))
        if not all(isinstance(one, list) and all(isinstance(w, str) for w in one) for one in (leave, files)):
            raise TypeError("names are no text")
    except (KeyError, TypeError, ValueError) as error:
        raise ApplyError(f"the journal of {folder} cannot be read") from error
    entries = loaded(folder, LIST, len(roots), files, digest)
    return Snapshot(
        folder=folder, roots=roots, leave=tuple(leave), files=tuple(files), entries=entries, unlisted=unlisted,
        digest=digest or "",
    )  # fmt: skip


def described(snapshot: Snapshot) -> dict[str, Any]:
    """What the journal says of a snapshot, for `load`."""
    return {
        "roots": [[root.path, root.owned, root.whole, root.home] for root in snapshot.roots],
        "leave": snapshot.leave,
        "files": snapshot.files,
        "unlisted": sorted(snapshot.unlisted),
    }


def loaded(folder: str, name: str, roots: int, files: Iterable[str], digest: str | None) -> Listing:
    """A listing of a snapshot. Raises ApplyError."""
    path = os.path.join(folder, name)
    try:
        if os.path.islink(path) or not os.path.isfile(path) or digest_of(path) != digest:
            raise ValueError("it is not the list that the journal speaks of")
        entries = _read_list(path)
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise ApplyError(f"the snapshot {folder} cannot be read: {error}. Nothing was changed") from error
    if not _sound(entries, roots, frozenset(files), whole=name == LIST):
        raise ApplyError(f"the snapshot {folder} was not written by torchdoctor, or is damaged: nothing was changed")
    return entries


def digest_of(path: str) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# ---- what a run did


@dataclass(frozen=True)
class Delta:
    """What a run left: `after` is what it added or changed, as it left it; `gone` what it removed."""

    after: Listing
    gone: frozenset[Key]
    digest: str = ""  # of the list on the disk

    def __contains__(self, key: object) -> bool:
        return key in self.after or key in self.gone


def claimed_now(snapshot: Snapshot, entries: Listing) -> frozenset[Key]:
    """What the RECORDs that are there now name."""
    return frozenset(claims(snapshot.roots, entries)[0])


def record_delta(snapshot: Snapshot) -> Delta:
    """Compare now with the snapshot, and write down beside it what the run changed: where only tools write, and what a
    RECORD names. Raises OSError."""
    now = snapshot.scan().entries
    named = claimed_now(snapshot, now)

    def by_the_run(key: Key) -> bool:
        old = snapshot.entries.get(key)
        return snapshot.owns(key) or key in named or (old is not None and old.number is not None)

    def changed(key: Key, one: Entry) -> bool:
        old = snapshot.entries.get(key)
        return _changed(old, one) or (old is not None and _was_touched(snapshot.path(key), old))

    after = {key: one for key, one in now.items() if by_the_run(key) and changed(key, one)}
    after |= {key: now[key] for key in _new_folders_above(snapshot, now, after)}
    gone = frozenset(key for key in snapshot.entries.keys() - now.keys() if by_the_run(key))
    digest = write_list(os.path.join(snapshot.folder, AFTER), {**after, **{key: Entry("n") for key in gone}})
    return Delta(after, gone, digest)


def _changed(before: Entry | None, after: Entry) -> bool:
    """Within one run, inodes also show that a file was replaced."""
    return not after.same_as(before) or (after.kind == "f" and before is not None and before.inode != after.inode)


def _was_touched(path: str, before: Entry) -> bool:
    """Whether something happened to a linked file that its size and time don't tell."""
    if not before.linked or not before.ctime_ns:
        return False
    try:
        return os.lstat(path).st_ctime_ns != before.ctime_ns
    except OSError:
        return False


def _new_folders_above(snapshot: Snapshot, now: Listing, keys: Iterable[Key]) -> set[Key]:
    """The folders above these paths that are new since the snapshot."""
    made = set()
    for root, path in list(keys):
        parts = path.split("/") if root >= 0 else []
        above = ((root, "/".join(parts[:n])) for n in range(1, len(parts)))
        made |= {key for key in above if key not in snapshot.entries and key in now}
    return made


def load_delta(snapshot: Snapshot, digest: str | None) -> Delta:
    """The recorded result of a finished run. Raises ApplyError."""
    rows = loaded(snapshot.folder, AFTER, len(snapshot.roots), snapshot.files, digest)
    gone = frozenset(key for key, entry in rows.items() if entry.kind == "n")
    return Delta({key: entry for key, entry in rows.items() if key not in gone or key[0] == -1}, gone)


def changed_since(snapshot: Snapshot, delta: Delta) -> list[str]:
    """Paths that differ from how the run left them: somebody changed the environment afterwards."""
    now = snapshot.scan().entries
    moved = [k for k, entry in delta.after.items() if not entry.same_as(now.get(k), times=False) and not is_cache(k)]
    moved += [key for key in delta.gone if key[0] >= 0 and key in now and not is_cache(key)]
    return sorted({snapshot.path(key) for key in moved})


def is_cache(key: Key) -> bool:
    return "__pycache__" in key[1]


def size_of(folder: str) -> int:
    """Bytes that a snapshot alone holds: its lists, its copies, and linked files whose original is gone."""
    total = 0
    for entry in walk(folder):
        with contextlib.suppress(OSError):
            said = entry.stat(follow_symlinks=False)
            total += said.st_size if said.st_nlink == 1 and not entry.is_dir(follow_symlinks=False) else 0
    return total


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.0f} MB"

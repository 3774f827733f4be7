"""Putting back what a snapshot holds, and the comparison that says whether all is as it was.

Nothing is done through a link: a path whose folder is not the real one is left alone and named. Where the user may have
work of his own, only what the snapshot or a RECORD names is put back; what else differs there is named.
"""

from __future__ import annotations

import base64
import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from doctor.apply.listing import LINKS_HAVE_TIMES, Entry, Key, Listing, entry_of, record_rows, tops
from doctor.apply.place import is_within
from doctor.apply.snapshot import HALF_DONE, Delta, Snapshot, claimed_now, copy, copy_of, digest_of, is_cache, is_real
from doctor.model.values import dataclass


@dataclass(frozen=True)
class Restored:
    """How putting back ended. `problems`: what should be as it was and is not, a sentence each; `left`: other paths
    that are not as they were, and how."""

    problems: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def restore(snapshot: Snapshot, delta: Delta | None = None) -> Restored:
    """Make the place what it was; with a delta only what that run changed, so that later work of others stays. Can be
    killed and run again.

    What is new goes first, which frees the disk for the rest. Kept content is linked back, which needs no space.
    """
    work = _Restoring(snapshot, delta)
    if not work.refuse_links():
        work.remove_new()
        work.put_back()
        work.settle_folders()
    return work.compared()


class _Restoring:
    def __init__(self, snapshot: Snapshot, delta: Delta | None) -> None:
        self.snapshot, self.delta = snapshot, delta
        self.now = snapshot.scan().entries
        self.named = claimed_now(snapshot, self.now) | self._stashed()
        self.problems: list[str] = []
        kept = (key for key, entry in snapshot.entries.items() if entry.number is not None)
        self.touched = {_above(key) for key in (kept if delta is None else (*delta.after, *delta.gone))}
        self.needed = {above for key in self.touched for above in (key, *_all_above(key))}
        self.copied: dict[tuple[str, int], str] = {}  # where the content of a file was copied to
        self.doubtful = [key for key, entry in snapshot.entries.items() if self._may_be_written(key, entry)]

    def refuse_links(self) -> bool:
        """A root, or the folder of the kept content, that is a link now leads to a place that is none of ours."""
        homes = {self.snapshot.folder, *(root.home for root in self.snapshot.roots if root.home)}
        for folder in (*(root.path for root in self.snapshot.roots), *homes):
            if os.path.lexists(folder) and not is_real(folder):
                self.problems.append(f"{folder} was left alone: it is reached through a link now")
        return bool(self.problems)

    def ours(self, key: Key) -> bool:
        """Whether the entry is restored or removed."""
        if self.delta is not None:
            return key in self.delta or self._made_since(key)
        old = self.snapshot.entries.get(key)
        return self.snapshot.owns(key) or key in self.named or (old is not None and old.number is not None)

    def _made_since(self, key: Key) -> bool:
        """The byte code that Python made of what the run added, and what a killed undo left."""
        if key[1].endswith(HALF_DONE):
            return True
        above = key[1].split("/")
        if "__pycache__" not in above or self.delta is None:
            return False
        folder = "/".join(above[: above.index("__pycache__")])
        return (key[0], folder) in self.delta.after and (key[0], folder) not in self.snapshot.entries

    def _may_be_written(self, key: Key, entry: Entry) -> bool:
        """Whether a link is all that keeps a file, and something happened to the file since: it was removed, it got
        another name, or it was written to, by one who set its time back."""
        if not entry.linked or entry.digest is not None or not entry.ctime_ns:
            return False
        held = _stat(self.snapshot.kept(key, entry))
        return held is not None and held.st_ctime_ns != entry.ctime_ns

    def _stashed(self) -> frozenset[Key]:
        """What pip moved aside, to a name with ~, in a folder of the user's, when it was killed. It is known by being
        the very file that is kept, so nothing is lost with it."""
        names = [
            key for key, entry in self.now.items()
            if entry.kind == "f" and key not in self.snapshot.entries and not self.snapshot.owns(key)
            and any(part.startswith("~") for part in key[1].split("/"))
        ]  # fmt: skip
        if not names:
            return frozenset()
        links = (self.snapshot.kept(key, entry) for key, entry in self.snapshot.entries.items() if entry.linked)
        kept = {(held.st_dev, held.st_ino) for link in links if (held := _stat(link))}
        same = {key: said for key in names if (said := _stat(self.snapshot.path(key)))}
        return frozenset(key for key, said in same.items() if (said.st_dev, said.st_ino) in kept)

    # ---- what is new

    def remove_new(self) -> None:
        """What the user's folders hold goes first: the RECORD that names it must outlive it."""
        new = [key for key in self.now if key not in self.snapshot.entries and key[0] >= 0 and self.ours(key)]
        self.touched |= {_above(key) for key in new}
        new.sort(key=lambda key: (self.snapshot.owns(key), -key[1].count("/")))
        for key in new:
            self._remove(key)
        if self.delta is None:
            self._remove_emptied(key for key in new if not self.snapshot.owns(key))

    def _remove(self, key: Key) -> None:
        path, entry = self.snapshot.path(key), self.now[key]
        if not is_real(os.path.dirname(path)):
            self.problems.append(f"{path} was left alone: a link on the way leads elsewhere")
            return
        try:
            _writable(os.path.dirname(path))
            if entry.kind != "d":
                os.unlink(path)
            elif self.delta is not None:
                with contextlib.suppress(OSError):  # somebody has since put something there
                    os.rmdir(path)
            else:
                _writable(path)
                os.rmdir(path)
        except FileNotFoundError:
            pass
        except OSError as error:
            self.problems.append(f"{path} cannot be removed: {error.strerror or error}")

    def _remove_emptied(self, keys: Iterable[Key]) -> None:
        """New folders in the user's folders that held only what was removed."""
        for root, path in keys:
            for above in _all_above((root, path)):
                if above in self.snapshot.entries or above not in self.now:
                    break
                with contextlib.suppress(OSError):
                    os.rmdir(self.snapshot.path(above))

    # ---- what was there

    def put_back(self) -> None:
        for key, entry in self.snapshot.entries.items():
            # A tool removes a folder that it emptied; nothing else is done to one of the user's.
            missing = entry.kind == "d" and key in self.needed and not os.path.lexists(self.snapshot.path(key))
            if self.ours(key) or missing:
                try:
                    self._put_back(key, entry)
                except OSError as error:
                    self.problems.append(f"{self.snapshot.path(key)} cannot be put back: {error.strerror or error}")

    def _put_back(self, key: Key, entry: Entry) -> None:
        path = self.snapshot.path(key)
        present = entry_of(path) or (Entry("n") if key[0] < 0 else None)
        if entry.same_as(present, times=entry.kind != "d") and self._is_same_file(key, entry, present):
            return
        if entry.kind == "o" or (entry.kind == "f" and entry.number is None):
            return  # not kept; the comparison names it
        if key[1] and not is_real(os.path.dirname(path)):
            self.problems.append(f"{path} was left alone: a link on the way leads elsewhere")
            return
        if present is not None and (present.kind == "d") != (entry.kind == "d"):
            left = self.delta.after.get(key) if self.delta else None
            if entry.kind == "d" and left is not None and left.kind == "d":
                self.problems.append(f"{path} was left alone: it is no folder any more")
                return
            if present.kind != "d":
                os.unlink(path)
            elif key[0] < 0:
                self.problems.append(f"{path} was left alone: it is a folder now")
                return
            else:
                _writable(os.path.dirname(path))
                os.rmdir(path)  # what was in it is gone; what somebody put there since stays, and is named
            present = None
        if entry.kind == "n":
            if present is not None and present.kind != "n":
                os.unlink(path)
            return
        if key[1]:
            _writable(os.path.dirname(path))
        if entry.kind == "d":
            if present is None:
                os.mkdir(path)
            give(path, entry)  # its time is set last
            return
        temporary = path + HALF_DONE
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        if entry.kind == "l":
            os.symlink(entry.target or "", temporary)
            give(temporary, entry)
        elif not self._bring(key, entry, path, present, temporary):
            return
        os.replace(temporary, path)

    def _is_same_file(self, key: Key, entry: Entry, present: Entry | None) -> bool:
        """Whether a file that looks the same is the one that was kept, or has its content."""
        if entry.kind != "f" or present is None or entry.number is None:
            return True
        if entry.linked:
            held = entry_of(self.snapshot.kept(key, entry))
            if (held.inode if held else entry.inode) != present.inode:
                return False
        elif present.inode == entry.inode or entry.digest is None:
            return True
        return entry.digest is None or digest_of(self.snapshot.path(key)) == entry.digest

    def _bring(self, key: Key, entry: Entry, path: str, present: Entry | None, temporary: str) -> bool:
        """Make `temporary` the kept file. False where there is nothing more to do: it is in place, or lost."""
        kept = self.snapshot.kept(key, entry)
        if not is_real(os.path.dirname(kept)):
            self.problems.append(f"{path}: its kept content is behind a link")
            return False
        if entry.linked:
            if not self._is_whole(kept, entry) and not self._renewed(kept, entry):
                lost = "was written in place, its old content is lost"
                if entry_of(kept) is None:
                    lost = f"cannot be put back: its kept content is gone from {self.snapshot.folder}"
                self.problems.append(f"{path} {lost}")
                return False
            give(kept, entry)
            held = entry_of(kept)
            if present is not None and held is not None and present.inode == held.inode:
                return False  # the same file, whose mode, owner and attributes are already restored
            with contextlib.suppress(OSError):
                os.link(kept, temporary)
                return True
            source = kept
        else:
            source = copy_of(kept)
            held = entry_of(source)
            if held is None or held.kind != "f" or digest_of(source) != entry.digest:
                self.problems.append(f"{path} cannot be put back: its kept content is gone from {self.snapshot.folder}")
                return False
        self._copy(source, temporary, key, entry)
        return True

    def _copy(self, source: str, temporary: str, key: Key, entry: Entry) -> None:
        """Link to the file if it has already been restored under another name, else copy it."""
        file = (self.snapshot.roots[key[0]].home if key[0] >= 0 else "", entry.number or 0)
        if file in self.copied:
            with contextlib.suppress(OSError):
                os.link(self.copied[file], temporary)
                return
        copy(source, temporary)
        give(temporary, entry)
        self.copied[file] = self.snapshot.path(key)

    def _is_whole(self, kept: str, entry: Entry) -> bool:
        """Whether a kept link still has the old content, as far as can be told."""
        held = entry_of(kept)
        if held is None or held.kind != "f" or held.size != entry.size:
            return False
        return digest_of(kept) == entry.digest if entry.digest else held.mtime_ns == entry.mtime_ns

    def _renewed(self, kept: str, entry: Entry) -> bool:
        """Recreate, from the copy, a kept link whose content was overwritten."""
        source, temporary = copy_of(kept), kept + ".new"
        held = entry_of(source)
        if entry.digest is None or held is None or held.kind != "f" or digest_of(source) != entry.digest:
            return False
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        copy(source, temporary)
        give(temporary, entry)
        os.replace(temporary, kept)
        return True

    def settle_folders(self) -> None:
        """Modes, owners and times of folders, from the deepest on: all that is in them is in place."""
        self.now = {}  # two listings of a large environment are enough
        later = self._folders_with_later_work(self.snapshot.scan().entries)
        for key, entry in reversed(self.snapshot.entries.items()):
            if entry.kind != "d" or not self._settles(key) or key in later:
                continue
            path = self.snapshot.path(key)
            if is_real(path):
                with contextlib.suppress(OSError):
                    give(path, entry)
                    os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns))

    def _settles(self, key: Key) -> bool:
        """Whether a folder gets its time back: one that putting back writes to, too."""
        return self.ours(key) or key in self.touched

    def _folders_with_later_work(self, now: Listing) -> set[Key]:
        """The folders in which something is that was not there before, or is not there any more, of which putting back
        knows nothing: their time is that of somebody else's work."""
        other = now.keys() ^ self.snapshot.entries.keys()
        return {_above(key) for key in other if self.delta is not None or not self.snapshot.owns(key)}

    # ---- the comparison

    def compared(self) -> Restored:
        """Compare everything in the place with the snapshot."""
        seen = self.snapshot.scan()
        now, before = seen.entries, self.snapshot.entries
        later = self._folders_with_later_work(now)
        changed = [key for key, entry in before.items() if not self._is_back(key, entry, now.get(key), later)]
        new = [key for key in now if key not in before]
        if self.delta is not None:  # byte code is Python's own
            changed = [key for key in changed if key in self.delta or not is_cache(key)]
            new = [key for key in new if key in self.delta or not is_cache(key)]
        wrong, left = list(self.problems), []
        for keys, words in ((changed, "is not what it was"), (new, "was not there")):
            for key in tops(now, keys) if keys is new else keys:
                gone = keys is changed and key not in now
                said = f"{self.snapshot.path(key)} {'is gone' if gone else words}"
                kept_folder = self.delta is not None and keys is new and now[key].kind == "d"
                if key[0] >= 0 and not self.snapshot.roots[key[0]].whole and not self.ours(key):
                    continue  # other programs work there, too
                if self.ours(key) and not kept_folder:
                    if not any(one.startswith(self.snapshot.path(key) + " ") for one in wrong):
                        wrong.append(said)
                else:
                    left.append(said)
        left += [
            f"{os.path.realpath(self.snapshot.path(key))}, which {self.snapshot.path(key)} leads to, is not what it was"
            for key, entry in before.items()
            if entry.behind and self.delta is None and key in now and now[key].behind != entry.behind
        ]
        left += [f"{path} is not the file that its RECORD names: it was changed in place, before or since" for path in
                 self._foreign_content()]  # fmt: skip
        wrong += [f"{folder} cannot be read" for folder in seen.unreadable]
        left += [
            f"{self.snapshot.path(key)} was not compared: it holds too much" for key in sorted(self.snapshot.unlisted)
        ]
        return Restored(tuple(wrong), tuple(left))

    def _foreign_content(self) -> Iterator[str]:
        """The files of which only a link was kept, to which something happened, and whose content is not what the
        RECORD said. What no RECORD has a hash of is believed by its size and time."""
        wanted = {self.snapshot.path(key): key for key in self.doubtful}
        for key, entry in self.snapshot.entries.items() if wanted else ():
            if not key[1].endswith(".dist-info/RECORD") or entry.number is None:
                continue
            site = os.path.dirname(os.path.dirname(self.snapshot.path(key)))
            for named, hashed in record_rows(self._kept_content(key, entry)):
                path = os.path.normpath(os.path.join(site, named))
                if path in wanted and hashed.startswith("sha256=") and is_real(os.path.dirname(path)):
                    with contextlib.suppress(OSError):
                        if _recorded_hash(digest_of(path)) != hashed.rstrip("="):
                            yield path

    def _kept_content(self, key: Key, entry: Entry) -> str:
        kept = self.snapshot.kept(key, entry)
        return copy_of(kept) if entry.digest is not None else kept

    def _is_back(self, key: Key, entry: Entry, now: Entry | None, later: set[Key]) -> bool:
        times = key not in later and (self._settles(key) or entry.kind == "l") and not self._holds_store(key)
        if not entry.same_as(now, times=times):
            return False
        if entry.kind == "f" and entry.number is None:
            untouched = not entry.ctime_ns or not now or not now.ctime_ns or now.ctime_ns == entry.ctime_ns
            return now is not None and now.inode == entry.inode and untouched
        return not self.ours(key) or self._is_same_file(key, entry, now)


    def _holds_store(self, key: Key) -> bool:
        """Whether it is the folder of a root in which a snapshot lies: it gets its time when that is gone."""
        root = self.snapshot.roots[key[0]] if key[0] >= 0 and not key[1] else None
        return root is not None and (bool(root.home) or is_within(self.snapshot.folder, root.path))


def _recorded_hash(digest: str) -> str:
    """A sha256 in hexadecimal as RECORD has it."""
    return "sha256=" + base64.urlsafe_b64encode(bytes.fromhex(digest)).decode().rstrip("=")


def settle_roots(snapshot: Snapshot) -> None:
    """The time of the roots themselves, once the snapshot in them is gone."""
    for number, root in enumerate(snapshot.roots):
        entry = snapshot.entries.get((number, ""))
        if entry is not None and root.owned is None and is_real(root.path):
            with contextlib.suppress(OSError):
                os.utime(root.path, ns=(entry.mtime_ns, entry.mtime_ns))


def give(path: str, entry: Entry) -> None:
    """Give a file, link or folder its owner, mode, attributes and, unless it is a folder, time. In this order: each
    takes away some of what comes after it. What is not allowed is left; the comparison names it."""
    present = entry_of(path)
    if present is None:
        return
    with contextlib.suppress(OSError):
        if (present.uid, present.gid) != (entry.uid, entry.gid) and hasattr(os, "lchown"):
            os.lchown(path, entry.uid, entry.gid)
    if entry.kind != "l":
        with contextlib.suppress(OSError):
            os.chmod(path, entry.mode)
    if hasattr(os, "setxattr"):
        wanted = dict(entry.xattrs)
        for name in dict(present.xattrs).keys() - wanted.keys():
            with contextlib.suppress(OSError):
                os.removexattr(path, name, follow_symlinks=False)
        for name, value in wanted.items():
            if (name, value) not in present.xattrs:
                with contextlib.suppress(OSError, ValueError):
                    os.setxattr(path, name, bytes.fromhex(value), follow_symlinks=False)
    if entry.kind == "f" or (entry.kind == "l" and LINKS_HAVE_TIMES):
        with contextlib.suppress(OSError):
            os.utime(path, ns=(entry.mtime_ns, entry.mtime_ns), follow_symlinks=entry.kind == "f")


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _above(key: Key) -> Key:
    return key[0], key[1].rpartition("/")[0]


def _all_above(key: Key) -> Iterator[Key]:
    parts = key[1].split("/")
    return ((key[0], "/".join(parts[:count])) for count in range(len(parts) - 1, 0, -1))


def _writable(folder: str) -> None:
    """Some tools leave folders read-only; their owner may change that."""
    with contextlib.suppress(OSError):
        if not os.access(folder, os.W_OK):
            os.chmod(folder, stat.S_IMODE(os.lstat(folder).st_mode) | stat.S_IRWXU)

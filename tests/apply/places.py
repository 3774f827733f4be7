"""An environment of a few files, and all that can be told about a folder: for the tests of snapshots."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

from doctor.apply import snapshot
from doctor.apply.journal import Journal
from doctor.apply.place import Place, Root
from doctor.apply.restore import Restored
from doctor.apply.seal import Seal

SEAL = Seal(b"k" * 32, stored=True)
ID = "20260101T000000Z"
AS_BEFORE = Restored()


def make(root: Path) -> Place:
    """An environment of two distributions that share a file, one orphan and a cache."""
    site = root / "env" / "lib" / "site-packages"
    for path, text in {
        "torch/__init__.py": "one",
        "torch/lib/big.so": "b" * 300_000,
        "torch/__pycache__/x.pyc": "cache",
        "shared/__init__.py": "common",
        "orphan/huge.so": "o" * 300_000,
        "torch-1.dist-info/METADATA": "Name: torch\nVersion: 1\n",
        "torch-1.dist-info/RECORD": "torch/__init__.py,,\ntorch/lib/big.so,,\nshared/__init__.py,,\n",
        "other-1.dist-info/METADATA": "Name: other\nVersion: 1\n",
        "other-1.dist-info/RECORD": "shared/__init__.py,,\nother.py,,\n",
        "other.py": "other",
    }.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    (site / "link.py").symlink_to("other.py")
    (site / "empty").mkdir()
    folder = root / "env" / ".torchdoctor" / "20260101T000000Z"
    folder.mkdir(parents=True)
    return Place(
        prefix=str(root / "env"),
        store=str(folder.parent),
        roots=(Root(str(root / "env"), ("lib",)),),
        sites=(str(site),),
        files=(str(root / "pyproject.toml"), str(root / "uv.lock")),
    )


def content(root: Path) -> dict[str, object]:
    """Everything below a folder but the snapshots, and all that can be told: content, kind, mode, owner, attributes,
    time, where a link leads, and which names are the same file. The times of the environment's folder, which holds the
    snapshots, and of the folder itself are left out."""
    found: dict[str, object] = {}
    first: dict[tuple[int, int], str] = {}
    for folder, names, files in os.walk(root):
        holds_store = ".torchdoctor" in names
        names[:] = sorted(n for n in names if n != ".torchdoctor")
        if not holds_store and folder != str(root):
            found[os.path.relpath(folder, root) + "/"] = os.lstat(folder).st_mtime_ns
        for name in [*names, *sorted(files)]:
            path = Path(folder, name)
            said = path.lstat()
            key = str(path.relative_to(root))
            link = os.readlink(path) if path.is_symlink() else None
            is_file = stat.S_ISREG(said.st_mode)
            same = first.setdefault((said.st_dev, said.st_ino), key) if is_file else key
            attributes = tuple((n, os.getxattr(path, n, follow_symlinks=False)) for n in _attributes(path))
            found[key] = (
                said.st_mode, said.st_uid, said.st_gid, link, path.read_bytes() if is_file else b"",
                said.st_mtime_ns if is_file or link else 0, attributes, same,
            )  # fmt: skip
    return found


def _attributes(path: Path) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    return sorted(os.listxattr(path, follow_symlinks=False))


def taken(place: Place, touched: tuple[str, ...] = ("torch",)) -> snapshot.Snapshot:
    return snapshot.take(place, os.path.join(place.store, "20260101T000000Z"), touched)


def reloaded(kept: snapshot.Snapshot) -> snapshot.Snapshot:
    """As a later process sees it."""
    said = json.loads(json.dumps(snapshot.described(kept)))
    return snapshot.load(kept.folder, said, kept.digest)


def applied(place: Place, id: str = ID, seal: Seal = SEAL) -> Path:
    """A finished run that changed torch and added a file; its folder."""
    folder = Path(place.store, id)
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(str(folder), seal)

    def begin(kept: snapshot.Snapshot) -> None:
        journal.write("begun", prefix=place.prefix, folder=str(folder), **snapshot.described(kept))

    kept = snapshot.take(place, str(folder), ("torch",), begin)
    journal.write("ready", list=kept.digest)
    site = Path(place.sites[0])
    (site / "torch" / "__init__.py").unlink()
    (site / "torch" / "__init__.py").write_text(f"by the run {id}")
    (site / f"added-{id}.py").write_text("by the run")
    journal.write("finished", list=snapshot.record_delta(kept).digest)
    return folder

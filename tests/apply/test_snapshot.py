"""Snapshots: what is put back is what was there, whatever happened in between."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.apply import ApplyError, snapshot, undo
from doctor.apply.journal import Journal
from doctor.apply.place import Place, Root
from doctor.apply.restore import Restored, restore
from doctor.apply.seal import Seal

SEAL = Seal(b"k" * 32, stored=True)


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
    """Everything below a folder but the snapshots."""
    found: dict[str, object] = {}
    for folder, names, files in os.walk(root):
        names[:] = [n for n in names if n != ".torchdoctor"]
        for name in [*names, *files]:
            path = Path(folder, name)
            said = path.lstat()
            link = os.readlink(path) if path.is_symlink() else None
            data = path.read_bytes() if link is None and path.is_file() else b""
            found[str(path.relative_to(root))] = (said.st_mode, link, data, said.st_mtime_ns if data else 0)
    return found


def taken(place: Place, touched: tuple[str, ...] = ("torch",)) -> snapshot.Snapshot:
    return snapshot.take(place, os.path.join(place.store, "20260101T000000Z"), touched)


def reloaded(kept: snapshot.Snapshot) -> snapshot.Snapshot:
    """As a later process sees it."""
    said = json.loads(json.dumps(snapshot.described(kept)))
    return snapshot.load(kept.folder, said, kept.digest)


AS_BEFORE = Restored()


def test_what_could_be_written_in_place_is_copied(tmp_path: Path) -> None:
    kept = taken(make(tmp_path))
    site = "lib/site-packages/"
    copied = {key[1].removeprefix(site) for key, entry in kept.entries.items() if entry.digest}
    assert copied == {
        "torch/__init__.py",  # touched, small
        "shared/__init__.py",  # two claim it
        "orphan/huge.so",  # nobody claims it
        "torch-1.dist-info/METADATA", "torch-1.dist-info/RECORD", "other-1.dist-info/METADATA",
        "other-1.dist-info/RECORD",
    }  # fmt: skip


def test_all_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    place = make(tmp_path)
    before = content(tmp_path)
    kept = taken(place)
    site = tmp_path / "env" / "lib" / "site-packages"
    (site / "torch" / "__init__.py").write_text("written in place")
    (site / "torch" / "lib" / "big.so").unlink()
    (site / "torch").rename(site / "~orch")
    (site / "torch").write_text("a file where a folder was")
    (site / "link.py").unlink()
    (site / "link.py").mkdir()
    (site / "empty").rmdir()
    (site / "new" / "deep").mkdir(parents=True)
    (site / "new" / "deep" / "file.py").write_text("new")
    (site / "other.py").chmod(0o600)
    (tmp_path / "pyproject.toml").write_text("[project]\nedited = 1\n")
    (tmp_path / "uv.lock").write_text("new")
    assert restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before
    assert restore(reloaded(kept)) == AS_BEFORE, "it can be done again"
    assert content(tmp_path) == before


def test_a_linked_file_that_was_written_in_place_is_named(tmp_path: Path) -> None:
    kept = taken(make(tmp_path))
    big = tmp_path / "env" / "lib" / "site-packages" / "torch" / "lib" / "big.so"
    big.write_text("other")
    (problem,) = restore(reloaded(kept)).problems
    assert problem == f"{big} was written in place, its old content is lost"


def test_without_room_nothing_is_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make(tmp_path)
    usage = snapshot.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(snapshot.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(ApplyError, match="0 MB are free: nothing was changed"):
        taken(place)
    assert os.listdir(place.store + "/20260101T000000Z") == []


def test_a_file_system_without_links_gets_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no links here")

    place = make(tmp_path)
    before = content(tmp_path)
    monkeypatch.setattr(snapshot.os, "link", refuse)
    kept = taken(place)
    assert all(entry.digest for entry in kept.entries.values() if entry.kind == "f")
    (tmp_path / "env" / "lib" / "site-packages" / "torch" / "lib" / "big.so").write_text("other")
    assert restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before


def test_undoing_a_finished_run_leaves_later_work(tmp_path: Path) -> None:
    place = make(tmp_path)
    before = content(tmp_path)
    kept = taken(place)
    site = tmp_path / "env" / "lib" / "site-packages"
    (site / "torch" / "__init__.py").unlink()
    (site / "torch" / "__init__.py").write_text("new torch")
    (site / "added").mkdir()
    (site / "added" / "a.py").write_text("by the run")
    delta = snapshot.record_delta(kept)
    (site / "added" / "__pycache__").mkdir()
    (site / "added" / "__pycache__" / "a.pyc").write_text("made by Python since")
    (site / "mine.py").write_text("by the user since")
    (site / "torch" / "__init__.py.torchdoctor-new").write_text("half of an undo that was killed")
    later = snapshot.load_delta(kept, delta.digest)
    assert snapshot.changed_since(kept, later) == []
    assert restore(reloaded(kept), later) == Restored((), (f"{site / 'mine.py'} was not there",))
    after = content(tmp_path)
    assert after.pop("env/lib/site-packages/mine.py")
    assert after == before


def test_later_changes_of_the_same_files_are_seen(tmp_path: Path) -> None:
    kept = taken(make(tmp_path))
    file = tmp_path / "env" / "lib" / "site-packages" / "torch" / "__init__.py"
    file.unlink()
    file.write_text("by the run")
    delta = snapshot.record_delta(kept)
    file.write_text("by the user since")
    assert snapshot.changed_since(kept, snapshot.load_delta(kept, delta.digest)) == [str(file)]


NAMES = st.sampled_from(["torch", "shared", "~orch", "new", "torch/lib", "a b'$é", "torch/__init__.py"])


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["delete", "write", "folder", "move", "link", "mode"]), NAMES, NAMES), max_size=8
    )
)
def test_whatever_happens_it_is_put_back(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[tuple[str, str, str]]
) -> None:
    root = tmp_path_factory.mktemp("any")
    place = make(root)
    before = content(root)
    kept = taken(place)
    for deed, one, other in deeds:
        _do(deed, Path(place.sites[0]) / one, Path(place.sites[0]) / other)
    assert restore(reloaded(kept)) == AS_BEFORE
    assert content(root) == before


def _do(deed: str, path: Path, other: Path) -> None:
    """What tools and users do, as installers do it: they never write through a file that is there."""
    import contextlib
    import shutil

    with contextlib.suppress(OSError, shutil.Error):
        if deed == "delete" or deed in ("write", "folder", "link"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.exists() or path.is_symlink():
                path.unlink()
        if deed == "write":
            path.write_text("new")
        elif deed == "folder":
            path.mkdir()
        elif deed == "link":
            path.symlink_to(other)
        elif deed == "move":
            path.rename(other)
        elif deed == "mode" and path.is_file():
            path.chmod(0o640)

"""Snapshots: what is put back is what was there, whatever happened in between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.apply import ApplyError, snapshot
from doctor.apply.restore import Restored, restore
from tests.apply.places import AS_BEFORE, content, make, reloaded, taken


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
    assert after.pop("env/lib/site-packages/") != before.pop("env/lib/site-packages/"), "the time of the user's work"
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

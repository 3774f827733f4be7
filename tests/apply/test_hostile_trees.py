"""What a package or a tool may leave in an environment to keep it from coming back: pipes and devices in the place of
records, and folders nested deeper than Python's calls go."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.apply import restore, snapshot, undo
from doctor.apply.installed import installed_in
from doctor.apply.tree import erase
from tests.apply.places import AS_BEFORE, ID, content, make

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="named pipes of POSIX, and long paths")
DEPTH = 600


@pytest.fixture(autouse=True)
def _limit() -> Iterator[None]:
    signal.alarm(180)  # what hangs ends the test run, not the day
    yield
    signal.alarm(0)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def huge(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(3 << 30)


def rows(path: Path) -> None:
    path.write_bytes(b"a\n" * (5 << 20))


def nest(folder: Path, depth: int = DEPTH) -> None:
    folder.mkdir()
    at = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=at)
        inner = os.open("a", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)


@pytest.mark.parametrize("odd", [pipe, endless, huge, rows])
@pytest.mark.parametrize("when", ["before", "by the tool"])
def test_a_record_that_is_none(tmp_path: Path, odd: Callable[[Path], None], when: str) -> None:
    place = make(tmp_path)
    record = Path(place.sites[0], "other-1.dist-info", "RECORD")

    def replace() -> None:
        record.unlink()
        odd(record)

    if when == "before":
        replace()
    before = content(tmp_path) if odd is not huge else {}
    taken = snapshot.take(place, os.path.join(place.store, ID), {"torch"})
    if when != "before":
        replace()
    Path(place.sites[0], "torch", "__init__.py").unlink()
    assert restore.restore(taken) == AS_BEFORE
    assert odd is huge or content(tmp_path) == before


def test_metadata_that_is_a_pipe(tmp_path: Path) -> None:
    place = make(tmp_path)
    metadata = Path(place.sites[0], "other-1.dist-info", "METADATA")
    metadata.unlink()
    pipe(metadata)
    assert list(installed_in(place.sites)) == ["torch"]


def test_a_pipe_with_another_mode_is_named(tmp_path: Path) -> None:
    place = make(tmp_path)
    pipe(Path(place.sites[0], "pipe"))
    taken = snapshot.take(place, os.path.join(place.store, ID), ())
    os.chmod(Path(place.sites[0], "pipe"), 0o622)
    assert restore.restore(taken) != AS_BEFORE


@pytest.mark.parametrize("when", ["before", "by the tool"])
def test_deep_folders_come_back_or_go(tmp_path: Path, when: str) -> None:
    place = make(tmp_path)
    deep = Path(place.sites[0], "deep")
    if when == "before":
        nest(deep)
    taken = snapshot.take(place, os.path.join(place.store, ID), {"torch"})
    if when != "before":
        nest(deep)
    Path(place.sites[0], "torch", "__init__.py").unlink()
    assert restore.restore(taken) == AS_BEFORE
    assert deep.exists() == (when == "before")
    erase(str(deep))
    assert not deep.exists()


def test_a_store_with_deep_folders_is_listed_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / ".torchdoctor" / ID
    folder.mkdir(parents=True)
    nest(folder / "deep", 1500)
    assert [one.id for one in undo.saved_in(str(folder.parent))] == [ID]
    erase(str(folder))
    assert not folder.exists()


def test_nothing_is_removed_behind_a_link(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "work").write_text("mine")
    (tmp_path / "gone").mkdir()
    (tmp_path / "gone" / "link").symlink_to(mine)
    (tmp_path / "also").symlink_to(mine)
    erase(str(tmp_path / "gone"))
    erase(str(tmp_path / "also"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine"]
    assert (mine / "work").read_text() == "mine"

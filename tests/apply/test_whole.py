"""The snapshot is of the whole environment: what a tool can touch is put back with all that can be told about it, and
what is the user's stays."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.apply import ApplyError, listing, restore, snapshot, undo
from doctor.apply.place import SCHEME, Place, Root
from doctor.apply.restore import Restored
from tests.apply.places import AS_BEFORE, ID, SEAL, applied, content, make, reloaded, taken

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners, modes and links of POSIX")
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def whole(root: Path) -> Place:
    """`make`, with what installers put outside of site-packages, and what only the file system knows."""
    place = make(root)
    env = root / "env"
    for path, text in {
        "pyvenv.cfg": "home = /usr/bin\n",
        "bin/torchrun": "#!/bin/sh\n",
        "lib/libmkl_core.so.2": "m" * 300_000,
        "lib/libiomp5.so": "omp",
        "Library/bin/mkl.dll": "m",
        "opt/compiler/lib/libsycl.so": "s",
        "share/man/man1/isympy.1": ".TH",
        "etc/jupyter/conf.json": "{}",
        "include/site/python3.11/x.h": "h",
    }.items():
        (env / path).parent.mkdir(parents=True, exist_ok=True)
        (env / path).write_text(text)
    with open(env / "lib" / "site-packages" / "torch-1.dist-info" / "RECORD", "a") as file:
        file.write("../libmkl_core.so.2,,\n../libiomp5.so,,\n../../bin/torchrun,,\n")
    os.link(env / "lib" / "libiomp5.so", env / "lib" / "libiomp.so")
    (env / "lib64").symlink_to("lib")
    (env / "bin" / "python").symlink_to(sys.executable)
    (env / "bin" / "torchrun").chmod(0o755)
    (env / "opt").chmod(0o750)
    (env / "etc" / "jupyter" / "conf.json").chmod(0o4640)
    with contextlib.suppress(OSError):  # a file system without attributes
        os.setxattr(env / "lib" / "libiomp5.so", "user.origin", b"intel")
        os.setxattr(env / "share", "user.folder", b"1")
    if IS_ROOT:
        os.chown(env / "lib" / "libiomp5.so", 12345, 54321)
        os.chown(env / "opt" / "compiler", 12345, -1)
        os.lchown(env / "lib64", 12345, -1)
    for path in sorted(env.rglob("*"), reverse=True):
        if ".torchdoctor" not in path.parts:
            os.utime(path, ns=(10**18, 10**18 + len(str(path))), follow_symlinks=False)
    return replace(place, roots=(Root(str(env), SCHEME),))


def harm_all(env: Path) -> None:
    """Everything is replaced by copies of root's, of now."""
    for path in [p for p in env.rglob("*") if p.is_file() and not p.is_symlink() and ".torchdoctor" not in p.parts]:
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)


def lose_data(env: Path) -> None:
    for name in ("opt", "Library", "share", "etc", "include"):
        shutil.rmtree(env / name)
    (env / "lib" / "libiomp5.so").unlink()
    (env / "lib" / "libmkl_core.so.2").unlink()
    (env / "lib" / "libmkl_core.so.2").write_text("of the other version")


def change_marks(env: Path) -> None:
    """Nothing but what a listing by size would not see."""
    for path in [*env.rglob("*")]:
        if ".torchdoctor" in path.parts or path.is_symlink():
            continue
        path.chmod(0o777)
        with contextlib.suppress(OSError):
            os.setxattr(path, "user.more", b"x")
            os.removexattr(path, "user.origin")
        if IS_ROOT:
            os.chown(path, 1, 1)


def add_files(env: Path) -> None:
    for path in ("lib/libnew.so", "share/new/x", "opt/new/deep/y", "etc/z", "lib/python3.99/site-packages/a.py"):
        (env / path).parent.mkdir(parents=True, exist_ok=True)
        (env / path).write_text("new")
    (env / "bin" / "more").symlink_to("torchrun")
    (env / "lib" / "nowhere").symlink_to("/nowhere")


def swap_kinds(env: Path) -> None:
    (env / "lib64").unlink()
    (env / "lib64").mkdir()
    (env / "lib64" / "x").write_text("")
    shutil.rmtree(env / "share")
    (env / "share").symlink_to("/usr/share")
    (env / "pyvenv.cfg").unlink()
    (env / "pyvenv.cfg").mkdir()


def split_links(env: Path) -> None:
    path = env / "lib" / "libiomp.so"
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    os.link(env / "bin" / "torchrun", env / "bin" / "linked")


def write_in_place(env: Path) -> None:
    """With the size and the time of before."""
    for path in (env / "lib" / "libiomp5.so", env / "lib" / "site-packages" / "torch" / "__init__.py"):
        said = path.stat()
        path.write_bytes(b"?" * said.st_size)
        os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns))


def replace_alike(env: Path) -> None:
    """Another file of the same size, time, mode and owner."""
    path = env / "lib" / "site-packages" / "torch" / "lib" / "big.so"
    said = path.stat()
    path.rename(env.parent / "aside")
    path.write_bytes(b"?" * said.st_size)
    path.chmod(said.st_mode)
    os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns))
    os.utime(path.parent, ns=(10**18, 10**18 + len(str(path.parent))))
    (env.parent / "aside").unlink()


def install_data(env: Path) -> None:
    """A wheel's data in a folder of its own, which only its RECORD tells from the user's."""
    info = env / "lib" / "site-packages" / "new-1.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("../../tables/deep/a.csv,,\n../../tables/b.csv,,\nnew-1.dist-info/RECORD,,\n")
    (env / "tables" / "deep").mkdir(parents=True)
    (env / "tables" / "deep" / "a.csv").write_text("by the run")
    (env / "tables" / "b.csv").write_text("by the run")


DEEDS = (
    harm_all, lose_data, change_marks, add_files, swap_kinds, split_links, write_in_place, replace_alike, install_data,
)  # fmt: skip


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_everything_comes_back(tmp_path: Path, deed: Callable[[Path], None]) -> None:
    place = whole(tmp_path)
    before = content(tmp_path)
    kept = taken(place)
    deed(tmp_path / "env")
    assert content(tmp_path) != before
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.__name__)
def test_a_finished_run_is_taken_back_by_its_own_changes(tmp_path: Path, deed: Callable[[Path], None]) -> None:
    place = whole(tmp_path)
    before = content(tmp_path)
    kept = taken(place)
    deed(tmp_path / "env")
    digest = snapshot.record_delta(kept).digest
    again = reloaded(kept)
    delta = snapshot.load_delta(again, digest)
    assert snapshot.changed_since(again, delta) == []
    assert restore.restore(again, delta) == AS_BEFORE
    assert content(tmp_path) == before


def rewrite_alike(path: Path) -> None:
    """In place, with the size and the time of before."""
    said = path.stat()
    path.write_bytes(b"?" * said.st_size)
    os.utime(path, ns=(said.st_atime_ns, said.st_mtime_ns))


def test_what_is_not_kept_and_was_written_with_its_old_time_is_named(tmp_path: Path) -> None:
    place = whole(tmp_path)
    mine = tmp_path / "env" / "checkpoints" / "epoch3.pt"
    mine.parent.mkdir()
    mine.write_text("weights")
    kept = taken(place)
    rewrite_alike(mine)
    assert restore.restore(reloaded(kept)) == Restored(left=(f"{mine} is not what it was",))


def with_a_large_file_in_record(tmp_path: Path) -> tuple[Place, Path]:
    """The place, and its file that is kept as a link only, with its hash in RECORD."""
    place = whole(tmp_path)
    site = tmp_path / "env" / "lib" / "site-packages"
    big = site / "torch" / "lib" / "big.so"
    hashed = base64.urlsafe_b64encode(hashlib.sha256(big.read_bytes()).digest()).decode().rstrip("=")
    (site / "torch-1.dist-info" / "RECORD").write_text(f"torch/lib/big.so,sha256={hashed},300000\n")
    return place, big


def test_a_large_file_written_with_its_old_time_is_told_by_its_record(tmp_path: Path) -> None:
    """Only a link was kept of it: what comes back is what was written."""
    place, big = with_a_large_file_in_record(tmp_path)
    kept = taken(place)
    restored = restore.restore(reloaded(kept))
    assert restored == AS_BEFORE
    rewrite_alike(big)
    problem = f"{big} is not the file that its RECORD names: it was changed in place, before or since"
    assert restore.restore(reloaded(kept)) == Restored(left=(problem,))


def test_a_large_file_that_was_removed_comes_back_without_a_word(tmp_path: Path) -> None:
    """Its time of change differs, for it lost a name; its content is what RECORD says."""
    place, big = with_a_large_file_in_record(tmp_path)
    kept = taken(place)
    big.unlink()
    assert restore.restore(reloaded(kept)) == AS_BEFORE


def test_an_environment_that_is_too_large_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "ENTRIES_LIMIT", 10)
    place = whole(tmp_path)
    with pytest.raises(ApplyError, match=r"nothing was changed: .* holds more than 10 files, too many for a snapshot"):
        taken(place)


def test_the_folder_above_a_users_packages_gets_its_time_back(tmp_path: Path) -> None:
    """~/.local, of which only site-packages and bin are the tools'; there was no bin."""
    home = tmp_path / "local"
    site = home / "lib" / "python3.12" / "site-packages"
    site.mkdir(parents=True)
    (site / "one.py").write_text("1")
    os.utime(home, ns=(10**18, 10**18))
    root = Root(str(home), ("lib/python3.12/site-packages", "bin"), whole=False)
    store = tmp_path / "state"
    (store / ID).mkdir(parents=True)
    kept = taken(Place(prefix="/usr", store=str(store), roots=(root,), sites=(str(site),), files=()))
    (home / "bin").mkdir()
    (home / "bin" / "tool").write_text("#!")
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert home.stat().st_mtime_ns == 10**18


class Killed(BaseException):
    """kill -9, as far as our own process can have it."""


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(DEEDS), min_size=1, max_size=3, unique=True), st.lists(st.integers(0, 60), max_size=3))
def test_putting_back_can_be_killed_at_any_moment(
    tmp_path_factory: pytest.TempPathFactory, deeds: list[Callable[[Path], None]], kills: list[int]
) -> None:
    root = tmp_path_factory.mktemp("killed")
    place = whole(root)
    before = content(root)
    kept = taken(place)
    for deed in deeds:
        with contextlib.suppress(OSError):
            deed(root / "env")
    for count in kills:
        with dying_after(count), contextlib.suppress(Killed):
            restore.restore(reloaded(kept))
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(root) == before


@contextlib.contextmanager
def dying_after(count: int) -> Iterator[None]:
    """The process ends at the count-th change of the disk."""
    left = [count]

    def mortal(deed: Callable[..., object]) -> Callable[..., object]:
        def do(*words: object, **named: object) -> object:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return deed(*words, **named)

        return do

    with pytest.MonkeyPatch.context() as patch:
        for name in ("unlink", "rmdir", "mkdir", "replace", "link", "symlink", "chmod", "utime"):
            patch.setattr(os, name, mortal(getattr(os, name)))
        yield


def test_a_cache_that_shares_its_files_is_left_as_it_is(tmp_path: Path) -> None:
    """uv links from its cache: the links are there again, and nothing in the cache changed."""
    place = whole(tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    big = Path(place.sites[0]) / "torch" / "lib" / "big.so"
    small = Path(place.sites[0]) / "torch" / "__init__.py"
    os.link(big, cache / "big.so")
    os.link(small, cache / "small.py")
    before = content(tmp_path)
    kept = taken(place)
    harm_all(tmp_path / "env")
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before
    assert big.samefile(cache / "big.so")
    assert small.samefile(cache / "small.py")


def test_hard_links_come_back_where_only_copies_could_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of files of another user, which the kernel may not let us link."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    place = whole(tmp_path)
    before = content(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        kept = taken(place)
    lose_data(tmp_path / "env")
    (tmp_path / "env" / "lib" / "libiomp.so").unlink()
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before


# ---- links that leave the environment


@pytest.fixture
def elsewhere(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder outside of the environment: beside it, or on another file system."""
    folder = tmp_path / "elsewhere"
    if request.param == "another file system":
        shm = Path("/dev/shm")
        if not os.access(shm, os.W_OK) or shm.stat().st_dev == tmp_path.stat().st_dev:
            pytest.skip("there is no second file system to write to")
        folder = shm / f"torchdoctor-test-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("elsewhere", ["beside it", "another file system"], indirect=True)
@pytest.mark.parametrize("moved", ["lib", "lib/site-packages", "lib/site-packages/torch", "opt", "share/man"])
@pytest.mark.parametrize("partly", [False, True], ids=["rolled back", "undone"])
def test_links_that_leave_are_followed(tmp_path: Path, elsewhere: Path, moved: str, partly: bool) -> None:
    place = whole(tmp_path)
    env = tmp_path / "env"
    target = elsewhere / "it"
    shutil.copytree(env / moved, target, symlinks=True)
    shutil.rmtree(env / moved)
    (env / moved).symlink_to(target)
    os.link(next(p for p in target.rglob("*") if p.is_file()), target / "another name")
    place = replace(place, sites=(os.path.realpath(place.sites[0]),))
    before = content(tmp_path), content(elsewhere)
    kept = taken(place)
    for path in [p for p in target.rglob("*") if p.is_file() and ".torchdoctor" not in p.parts]:
        path.unlink()
        path.write_text("by the run")
    (target / "new").mkdir()
    (target / "new" / "file").write_text("by the run")
    delta = snapshot.load_delta(kept, snapshot.record_delta(kept).digest) if partly else None
    assert restore.restore(reloaded(kept), delta) == AS_BEFORE
    undo.discard(kept.folder, SEAL)
    for root in kept.roots:
        shutil.rmtree(Path(root.path, ".torchdoctor"), ignore_errors=root.home == "") if root.home else None
    restore.settle_roots(kept)
    assert (content(tmp_path), content(elsewhere)) == before


@pytest.mark.parametrize("elsewhere", ["another file system"], indirect=True)
def test_on_another_file_system_the_content_is_kept_there(tmp_path: Path, elsewhere: Path) -> None:
    """Linked, so that it costs nothing; and gone with the snapshot."""
    place = make(tmp_path)
    site = tmp_path / "env" / "lib" / "site-packages"
    target = elsewhere / "torch"
    shutil.move(site / "torch", target)
    (site / "torch").symlink_to(target)
    before = content(tmp_path), content(elsewhere)
    folder = applied(place)
    assert (target / ".torchdoctor" / ID / "content").is_dir()
    assert os.stat(target / "lib" / "big.so").st_nlink == 2
    assert folder.is_dir()
    assert undo.undo(place.store, seal=SEAL).problems == ()
    assert (content(tmp_path), content(elsewhere)) == before
    assert not (target / ".torchdoctor").exists()


@pytest.mark.parametrize("elsewhere", ["another file system"], indirect=True)
@pytest.mark.parametrize("deed", ["rename", "rmtree"])
def test_a_kill_between_going_back_and_its_end_leaves_nothing(
    tmp_path: Path, elsewhere: Path, deed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next undo has nothing to undo, and clears up."""
    place = make(tmp_path)
    site = tmp_path / "env" / "lib" / "site-packages"
    shutil.move(site / "torch", elsewhere / "torch")
    (site / "torch").symlink_to(elsewhere / "torch")
    before = content(tmp_path), content(elsewhere)
    folder = applied(place)

    def die(*_: object, **__: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(os if deed == "rename" else shutil, deed, die)
        with pytest.raises(Killed):
            undo.undo(place.store, seal=SEAL)
    assert (elsewhere / "torch" / ".torchdoctor").exists()
    with pytest.raises(ApplyError, match="nothing to undo"):
        undo.undo(place.store, seal=SEAL)
    assert not folder.exists()
    assert os.listdir(place.store) == ["lock"]
    if deed == "rename":
        assert (content(tmp_path), content(elsewhere)) == before
    assert not (elsewhere / "torch" / ".torchdoctor").exists()


def test_a_link_to_what_holds_the_environment_is_refused(tmp_path: Path) -> None:
    place = whole(tmp_path)
    (tmp_path / "env" / "share" / "all").symlink_to(tmp_path)
    with pytest.raises(ApplyError, match=f"nothing was changed: .*share/all is a link to {tmp_path}, which holds"):
        taken(place)


def test_what_nobody_claims_behind_a_link_is_not_copied(tmp_path: Path) -> None:
    """It may be all of /usr/share."""
    place = whole(tmp_path)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "page").write_text("theirs")
    (tmp_path / "env" / "share" / "all").symlink_to(tmp_path / "shared")
    kept = taken(place)
    (entry,) = (entry for key, entry in kept.entries.items() if key[1] == "page")
    assert (entry.linked, entry.digest) == (True, None)


def test_a_link_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = whole(tmp_path)
    (tmp_path / "big").mkdir()
    for number in range(6):
        (tmp_path / "big" / str(number)).write_text("")
    (tmp_path / "env" / "share" / "big").symlink_to(tmp_path / "big")
    monkeypatch.setattr(listing, "LINKED_LIMIT", 5)
    with pytest.raises(ApplyError, match=r"nothing was changed: links of the environment lead to .*/big, where more"):
        taken(place)


def test_a_file_written_through_a_link_out_of_the_environment_is_named(tmp_path: Path) -> None:
    place = whole(tmp_path)
    outside = tmp_path / "outside.json"
    outside.write_text("theirs")
    link = tmp_path / "env" / "etc" / "linked.json"
    link.symlink_to(outside)
    kept = taken(place)
    outside.write_text("changed")
    said = restore.restore(reloaded(kept))
    assert said == Restored((), (f"{outside}, which {link} leads to, is not what it was",))


def test_a_record_that_leads_out_is_refused(tmp_path: Path) -> None:
    """A tool would remove that file with its distribution."""
    place = whole(tmp_path)
    (tmp_path / "precious").write_text("")
    with open(Path(place.sites[0], "torch-1.dist-info", "RECORD"), "a") as file:
        file.write("../../../precious,,\n")
    taken(place, touched=("other",))
    shutil.rmtree(Path(place.store, ID, "content"))
    with pytest.raises(ApplyError, match=f"nothing was changed: torch says that {tmp_path / 'precious'} is a file of"):
        taken(place)


@pytest.mark.skipif(IS_ROOT, reason="root reads everything")
def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    place = whole(tmp_path)
    (tmp_path / "env" / "opt").chmod(0o000)
    with pytest.raises(ApplyError, match="opt cannot be read"):
        taken(place)


# ---- what is the user's


def test_a_project_in_the_environments_folder_is_not_put_back(tmp_path: Path) -> None:
    """`python -m venv .` in a project: what the user writes while a run goes on stays, and is named."""
    place = whole(tmp_path)
    env = tmp_path / "env"
    (env / "src").mkdir()
    (env / "src" / "train.py").write_text("one")
    (env / "README").write_text("one")
    kept = taken(place)
    assert not [key for key, entry in kept.entries.items() if entry.number is not None and "train" in key[1]]
    (env / "src" / "train.py").write_text("two, by the user")
    (env / "src" / "checkpoint").mkdir()
    (env / "src" / "checkpoint" / "a.pt").write_text("weights")
    (env / "README").unlink()
    (env / "notes").write_text("new")
    lose_data(env)
    said = restore.restore(reloaded(kept))
    assert said.problems == ()
    assert said.left == (
        f"{env / 'README'} is gone",
        f"{env / 'src' / 'train.py'} is not what it was",
        f"{env / 'notes'} was not there",
        f"{env / 'src' / 'checkpoint'} was not there",
    )
    assert (env / "src" / "train.py").read_text() == "two, by the user"
    assert (env / "src" / "checkpoint" / "a.pt").exists()
    assert (env / "lib" / "libiomp5.so").read_text() == "omp"


def with_data(tmp_path: Path, place: Place, file: str) -> Path:
    """The environment, with a file that torch's RECORD names and that lies beside its libraries."""
    env = tmp_path / "env"
    (env / file).parent.mkdir()
    (env / file).write_text("one")
    with open(Path(place.sites[0]) / "torch-1.dist-info" / "RECORD", "a") as record:
        record.write(f"../../{file},,\n")
    return env


@pytest.mark.parametrize("partly", [False, True], ids=["rolled back", "undone"])
def test_a_wheels_data_in_an_unusual_folder(tmp_path: Path, partly: bool) -> None:
    """What a RECORD names is put back, wherever it lies in the environment."""
    place = whole(tmp_path)
    env = with_data(tmp_path, place, "nltk_data/words")
    before = content(tmp_path)
    kept = taken(place)
    (env / "nltk_data" / "words").unlink()
    (env / "nltk_data").rmdir()
    install_data(env)
    delta = snapshot.load_delta(kept, snapshot.record_delta(kept).digest) if partly else None
    assert restore.restore(reloaded(kept), delta) == AS_BEFORE
    assert content(tmp_path) == before


def test_what_pip_moved_aside_when_it_was_killed(tmp_path: Path) -> None:
    """It renames the folders of what it uninstalls; a file of the user's with such a name is the user's."""
    place = whole(tmp_path)
    env = with_data(tmp_path, place, "torch_tables/table.csv")
    before = content(tmp_path)
    kept = taken(place)
    (env / "torch_tables").rename(env / "~orch_tables")
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert content(tmp_path) == before
    (env / "~backup").mkdir()
    (env / "~backup" / "table.csv").write_text("one")
    assert restore.restore(reloaded(kept)) == Restored((), (f"{env / '~backup'} was not there",))
    assert (env / "~backup" / "table.csv").exists()


def test_a_folder_that_holds_too_much_is_said_not_to_be_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = whole(tmp_path)
    data = tmp_path / "env" / "data"
    data.mkdir()
    for number in range(6):
        (data / str(number)).write_text("")
    monkeypatch.setattr(listing, "BESIDE_LIMIT", 5)
    kept = taken(place)
    (data / "0").write_text("changed")
    assert restore.restore(reloaded(kept)) == Restored((), (f"{data} was not compared: it holds too much",))


def test_what_other_programs_do_in_a_shared_folder_is_theirs(tmp_path: Path) -> None:
    """/usr/local: only site-packages, the scripts and what a RECORD names are the tools'."""
    place = replace(whole(tmp_path), roots=(Root(str(tmp_path / "env"), ("lib/site-packages", "bin"), whole=False),))
    env = tmp_path / "env"
    kept = taken(place)
    (env / "etc" / "jupyter" / "conf.json").write_text("by another program")
    (env / "share" / "theirs").write_text("by another program")
    (env / "lib" / "libmkl_core.so.2").unlink()
    (env / "bin" / "new").write_text("by the run")
    assert restore.restore(reloaded(kept)) == AS_BEFORE
    assert (env / "lib" / "libmkl_core.so.2").stat().st_size == 300_000
    assert not (env / "bin" / "new").exists()
    assert (env / "share" / "theirs").exists()
    assert (env / "etc" / "jupyter" / "conf.json").read_text() == "by another program"


# ---- when it does not succeed, that is said


def test_each_path_that_differs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever keeps a file from coming back: the comparison sees it."""
    place = whole(tmp_path)
    kept = taken(place)
    lose_data(tmp_path / "env")
    monkeypatch.setattr(restore._Restoring, "put_back", lambda self: None)
    said = restore.restore(reloaded(kept))
    env = tmp_path / "env"
    assert f"{env / 'lib' / 'libiomp5.so'} is gone" in said.problems
    assert f"{env / 'lib' / 'libmkl_core.so.2'} is not what it was" in said.problems
    assert f"{env / 'share' / 'man' / 'man1' / 'isympy.1'} is gone" in said.problems


@pytest.mark.skipif(not IS_ROOT, reason="only root gives files away")
def test_an_owner_that_does_not_come_back_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = whole(tmp_path)
    kept = taken(place)
    change_marks(tmp_path / "env")

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "lchown", refuse)
    said = restore.restore(reloaded(kept))
    assert f"{tmp_path / 'env' / 'lib' / 'libiomp5.so'} is not what it was" in said.problems

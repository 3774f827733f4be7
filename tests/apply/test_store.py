"""Undoing by the store: it lies in an environment that may come from anywhere, so what its files say is not trusted."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doctor.apply import ApplyError, restore, snapshot, undo
from doctor.apply.journal import Journal
from doctor.apply.seal import Seal, seal_of
from doctor.facts.system import System
from tests.apply.places import SEAL, applied, content, make

BOTH = (undo.LATER, undo.FOREIGN)
Lines = list[dict[str, Any]]


def forge(folder: Path, change: Callable[[Lines], None]) -> None:
    """Write a journal anew as somebody does who has no key: every digest of a list is right."""
    journal = folder / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    change(lines)
    for line in lines:
        line.pop("mac", None)
        for event, name in (("ready", snapshot.LIST), ("finished", snapshot.AFTER)):
            if line["event"] == event:
                line["list"] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_finished_run_is_undone_once(tmp_path: Path) -> None:
    place = make(tmp_path)
    before = content(tmp_path)
    applied(place)
    assert undo.undo(place.store, seal=SEAL).problems == ()
    assert content(tmp_path) == before
    with pytest.raises(ApplyError, match="nothing to undo"):
        undo.undo(place.store, seal=SEAL)
    assert content(tmp_path) == before


def test_a_clock_that_was_set_back(tmp_path: Path) -> None:
    place = make(tmp_path)
    first = applied(place)
    between = content(tmp_path)
    id = undo.next_id(place.store, "20200101T000000Z")
    assert id == "20260101T000000Z-1"
    second = applied(place, id)
    assert [one.folder for one in undo.saved_in(place.store)] == [str(first), str(second)]
    assert undo.undo(place.store, seal=SEAL).id == id
    assert content(tmp_path) == between
    for number in range(2, 12):
        Path(place.store, f"20260101T000000Z-{number}").mkdir()
    assert undo.next_id(place.store, "20260101T000000Z") == "20260101T000000Z-12"
    assert undo.next_id(place.store, "20260102T000000Z") == "20260102T000000Z"


def test_an_environment_that_was_moved(tmp_path: Path) -> None:
    """Its old place may be another environment's by now."""
    place = make(tmp_path)
    applied(place)
    moved = tmp_path / "moved"
    os.rename(place.prefix, moved)
    before = content(tmp_path)
    with pytest.raises(ApplyError, match=f"was {place.prefix} when that run was made, and is {moved} now"):
        undo.undo(str(moved / ".torchdoctor"), seal=SEAL, allow=[undo.LATER])
    assert content(tmp_path) == before


# ---- what has no seal, or not ours


@pytest.mark.parametrize("seal", [Seal(), Seal(b"x" * 32, stored=True)], ids=["no key", "another key"])
@pytest.mark.parametrize("allow", [(), (undo.LATER,)])
def test_an_environment_that_came_from_elsewhere(tmp_path: Path, seal: Seal, allow: tuple[str, ...]) -> None:
    place = make(tmp_path)
    applied(place)
    before = content(tmp_path)
    with pytest.raises(ApplyError, match="was not made by this user on this machine"):
        undo.undo(place.store, seal=seal, allow=allow)
    assert content(tmp_path) == before
    assert not undo.saved_in(place.store, seal)[0].genuine
    undo.prune(place.store, seal)
    assert undo.saved_in(place.store, SEAL)[0].genuine, "what is not ours is not removed"


def test_with_consent_the_environment_alone_is_put_back(tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text("[project]\n")
    place = make(tmp_path)
    before = content(tmp_path / "env")
    applied(place)
    project.write_text("[project]\nname = 'mine'\n")
    done = undo.undo(place.store, seal=Seal(), allow=[undo.FOREIGN])
    assert done.problems == ()
    assert f"{project}, a project's, was left alone" in done.left
    assert content(tmp_path / "env") == before
    assert project.read_text() == "[project]\nname = 'mine'\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda lines: lines[0].update(title="another"),
        lambda lines: lines.pop(1),
        lambda lines: lines.insert(1, dict(lines[0])),
        lambda lines: lines.append({"at": "", "event": "restored"}),
        lambda lines: lines[-1].update(mac=None),
        lambda lines: lines[0].pop("mac"),
    ],
    ids=["a word", "a line less", "a line twice", "a line more", "no digest", "no first digest"],
)
def test_an_altered_journal_is_not_ours(tmp_path: Path, change: Callable[[Lines], None]) -> None:
    place = make(tmp_path)
    journal = applied(place) / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    change(lines)
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    before = content(tmp_path)
    with pytest.raises(ApplyError, match="its record was altered"):
        undo.undo(place.store, seal=SEAL, allow=[undo.LATER])
    assert content(tmp_path) == before


def test_a_snapshot_of_another_environment_of_the_same_user(tmp_path: Path) -> None:
    """Its seal is right, and it is not this environment's."""
    one, other = make(tmp_path / "one"), make(tmp_path / "other")
    folder = applied(one)
    os.rmdir(Path(other.store, folder.name))
    os.rename(folder, Path(other.store, folder.name))
    before = content(tmp_path)
    with pytest.raises(ApplyError, match=f"this environment was {one.prefix} when that run was made"):
        undo.undo(other.store, seal=SEAL, allow=BOTH)
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("roots", [["OUTSIDE", None, True, ""]]),
        ("roots", [["ENV/../outside", None, True, ""]]),
        ("roots", [["ENV", None, True, ""], ["OUTSIDE", None, True, ""]]),
        ("roots", [["ENV", None, True, "OUTSIDE"]]),
        ("roots", []),
        ("files", ["OUTSIDE/.bashrc"]),
        ("files", ["OUTSIDE/uv-receipt.toml"]),
        ("files", ["OUTSIDE/uv.lock", "TMP/uv.lock"]),
        ("files", ["pyproject.toml"]),
        ("files", ["ENV/../outside/pipx_metadata.json"]),
        ("roots", "ENV"),
        ("roots", [[1]]),
        ("leave", [1]),
        ("files", None),
        ("unlisted", 7),
    ],
)
def test_a_journal_that_leads_elsewhere(tmp_path: Path, key: str, value: object) -> None:
    """Whoever is believed: the paths stay in the environment."""
    place = make(tmp_path)
    folder = applied(place)
    outside = tmp_path / "outside"
    outside.mkdir()
    text = json.dumps(value).replace("OUTSIDE", str(outside)).replace("ENV", place.prefix).replace("TMP", str(tmp_path))
    forge(folder, lambda lines: lines[0].update({key: json.loads(text)}))
    before = content(tmp_path)
    with pytest.raises(
        ApplyError, match=r"which is foreign|cannot be read|outside of the environment|not written by torchdoctor"
    ):
        undo.undo(place.store, seal=SEAL, allow=BOTH)
    assert content(tmp_path) == before


def test_the_files_of_two_projects_are_not_one_runs(tmp_path: Path) -> None:
    place = make(tmp_path)
    (tmp_path / "b").mkdir()
    place = replace(place, files=(str(tmp_path / "pyproject.toml"), str(tmp_path / "b" / "uv.lock")))
    applied(place)
    before = content(tmp_path)
    with pytest.raises(ApplyError, match="which is foreign"):
        undo.undo(place.store, seal=SEAL, allow=[undo.LATER])
    assert content(tmp_path) == before


def test_projects_elsewhere_are_not_overwritten(tmp_path: Path) -> None:
    """A crafted store gave another project new contents, made its lock file a link to /etc/passwd, and removed a folder
    named Pipfile."""
    place = make(tmp_path)
    folder = applied(place)
    victim = tmp_path / "victim"
    (victim / "Pipfile").mkdir(parents=True)
    (victim / "pyproject.toml").write_text("[project]\n")
    rows = [
        [-1, str(victim / "pyproject.toml"), "f", 0o644, 3, 1, 1, 0, 0, None, None, [], 0, False, "0" * 64],
        [-1, str(victim / "uv.lock"), "l", 0o777, 0, 0, 1, 0, 0, "/etc/passwd", None, [], None, False, None],
        [-1, str(victim / "Pipfile"), "n", 0, 0, 0, 0, 0, 0, None, None, [], None, False, None],
    ]
    own = [line for line in (folder / snapshot.LIST).read_text().splitlines() if not line.startswith("[-1")]
    (folder / snapshot.LIST).write_text("".join(line + "\n" for line in [*own, *map(json.dumps, rows)]))
    forge(folder, lambda lines: lines[0].update(files=[row[1] for row in rows]))
    before = content(victim)
    with pytest.raises(ApplyError, match="was not made by this user"):
        undo.undo(place.store, seal=SEAL)
    undo.undo(place.store, seal=SEAL, allow=BOTH)
    assert content(victim) == before


FILE = ["f", 0o644, 3, 1, 1, 0, 0, None, None, [], 0, False, None]
LINK = ["l", 0o777, 0, 0, 1, 0, 0, "..", None, [], None, False, None]


@pytest.mark.parametrize(
    "rows",
    [
        [[0, "../out.py", *FILE]],
        [[0, "/out.py", *FILE]],
        [[0, "torch/../../out.py", *FILE]],
        [[0, "torch//out.py", *FILE]],
        [[0, "", *FILE]],
        [[0, "", *LINK]],
        [[1, "out.py", *FILE]],
        [[-2, "out.py", *FILE]],
        [[-1, "/etc/out.py", *FILE]],
        [[0, ".torchdoctor/lock", *FILE]],
        [[0, "way", *LINK], [0, "way/out.py", *FILE]],
        [[0, "out.py", "f", 0o644, 3, 1, 1, 0, 0, None, None, [], "../../x", False, None]],
        [[0, "out.py", "f", 0o644, 3, 1, 1, 0, 0, None, None, [], -1, False, None]],
        [[0, "out\0.py", *FILE]],
        [[0, "out.py", "x", *FILE[1:]]],
        [[0, "out.py"]],
        [{}],
        [7],
    ],
)
@pytest.mark.parametrize("name", [snapshot.LIST, snapshot.AFTER])
def test_a_listing_that_leads_elsewhere(tmp_path: Path, rows: list[object], name: str) -> None:
    if name == snapshot.AFTER and len(rows) == 2:
        pytest.skip("a run may put a link where a folder was")
    place = make(tmp_path)
    folder = applied(place)
    with open(folder / name, "a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    before = content(tmp_path)
    with pytest.raises(ApplyError, match="it is not the list that the journal speaks of"):
        undo.undo(place.store, seal=SEAL)
    forge(folder, lambda _: None)
    with pytest.raises(ApplyError, match=r"was not written by torchdoctor|cannot be read"):
        undo.undo(place.store, seal=SEAL, allow=[undo.FOREIGN])
    assert content(tmp_path) == before


# ---- links and odd files in the way


def test_nothing_is_put_back_through_a_link(tmp_path: Path) -> None:
    place = make(tmp_path)
    folder = applied(place)
    site = Path(place.sites[0])
    away = tmp_path / "away"
    (site / "torch").rename(away)
    (site / "torch").symlink_to(away)
    before = content(away)
    with pytest.raises(ApplyError, match="was changed after that run"):
        undo.undo(place.store, seal=SEAL)
    journal = Journal(str(folder), SEAL)
    kept = undo.snapshot_of(journal)
    problems = restore.restore(kept, snapshot.load_delta(kept, journal.last("finished")["list"])).problems
    assert problems[0] == f"{site / 'torch'} was left alone: it is no folder any more"
    assert f"{site / 'torch' / '__init__.py'} was left alone: a link on the way leads elsewhere" in problems
    assert content(away) == before
    assert (site / "torch").is_symlink()
    assert undo.undo(place.store, seal=SEAL, allow=[undo.LATER]).problems == ()
    assert content(away) == before
    assert not (site / "torch").is_symlink()


def test_a_kept_file_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    place = make(tmp_path)
    folder = applied(place)
    secret = tmp_path / "secret"
    secret.mkdir()
    (folder / "content").rename(tmp_path / "kept")
    (folder / "content").symlink_to(tmp_path / "kept")
    file = Path(place.sites[0]) / "torch" / "__init__.py"
    (problem, *_) = undo.undo(place.store, seal=SEAL).problems
    assert problem == f"{file}: its kept content is behind a link"
    (folder / "content").unlink()
    (tmp_path / "kept").rename(folder / "content")
    assert undo.undo(place.store, seal=SEAL).problems == ()
    assert file.read_text() == "one"


def test_an_environment_folder_that_became_a_link(tmp_path: Path) -> None:
    """`lib` leads to another environment now: nothing there is removed."""
    place = make(tmp_path)
    applied(place)
    (tmp_path / "env" / "lib").rename(tmp_path / "lib")
    other = make(tmp_path / "another")
    (tmp_path / "env" / "lib").symlink_to(Path(other.prefix, "lib"))
    before = content(tmp_path / "another")
    done = undo.undo(place.store, seal=SEAL, allow=[undo.LATER])
    assert content(tmp_path / "another") == before
    assert done.problems == (), "the folder itself is back"
    assert (tmp_path / "env" / "lib" / "site-packages" / "torch" / "__init__.py").read_text() == "one"


def test_a_folder_where_a_projects_file_was_stays(tmp_path: Path) -> None:
    place = make(tmp_path)
    applied(place)
    (tmp_path / "uv.lock").mkdir()
    (tmp_path / "uv.lock" / "mine").write_text("")
    done = undo.undo(place.store, seal=SEAL, allow=[undo.LATER])
    assert done.problems[0] == f"{tmp_path / 'uv.lock'} was left alone: it is a folder now"
    assert (tmp_path / "uv.lock" / "mine").exists()


def test_a_folder_that_the_run_did_not_make_stays(tmp_path: Path) -> None:
    place = make(tmp_path)
    applied(place)
    site = Path(place.sites[0])
    (site / "mine").mkdir()
    done = undo.undo(place.store, seal=SEAL)
    assert done.problems == ()
    assert done.left == (f"{site / 'mine'} was not there",)
    assert (site / "mine").is_dir()


@pytest.mark.parametrize("kind", ["store", "lock", "hard link", "pipe"])
def test_a_store_that_is_a_trap(tmp_path: Path, kind: str) -> None:
    """.torchdoctor, or the lock in it, leads to a file of the user's."""
    if os.name == "nt":
        pytest.skip("links need a privilege there")
    place = make(tmp_path)
    applied(place)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "lock").write_text("precious")
    lock = Path(place.store, "lock")
    if kind == "store":
        os.rename(place.store, tmp_path / "aside")
        Path(place.store).symlink_to(precious)
    elif kind == "lock":
        lock.symlink_to(precious / "lock")
    elif kind == "hard link":
        os.link(precious / "lock", lock)
    else:
        os.mkfifo(lock)
    before = content(precious)
    with pytest.raises(ApplyError, match=r"cannot be written|is a link"):
        undo.undo(place.store, seal=SEAL)
    assert content(precious) == before


@pytest.mark.skipif(os.name == "nt", reason="pipes are not files there")
def test_a_pipe_as_journal_is_no_journal(tmp_path: Path) -> None:
    folder = tmp_path / "20260101T000000Z"
    folder.mkdir()
    os.mkfifo(folder / "journal.jsonl")
    assert Journal(str(folder), SEAL).lines == []
    with pytest.raises(OSError):  # noqa: PT011 - which one depends on the system
        Journal(str(folder), SEAL).write("begun")


def test_half_a_line_does_not_spoil_the_next(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path), SEAL)
    journal.write("begun")
    with open(tmp_path / "journal.jsonl", "a") as file:
        file.write('{"event": "rea')
    again = Journal(str(tmp_path), SEAL)
    assert again.genuine
    again.write("restoring")
    later = Journal(str(tmp_path), SEAL)
    assert [line["event"] for line in later.lines] == ["begun", "restoring"]
    assert later.genuine


# ---- the key


def test_the_key_is_made_once_and_lies_outside_of_environments(tmp_path: Path) -> None:
    user = System(environ={"HOME": str(tmp_path)})
    assert seal_of(user) == Seal()
    made = seal_of(user, make=True)
    assert made.stored
    assert (seal_of(user), seal_of(user, make=True)) == (made, made)
    key = tmp_path / ".local" / "state" / "torchdoctor" / "key"
    assert key.read_bytes() == made.key
    if os.name != "nt":
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert [path.name for path in key.parent.iterdir()] == ["key"]


def test_where_no_key_can_be_kept_the_run_has_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    user = System(environ={"HOME": str(tmp_path / "home")})
    made = seal_of(user, make=True)
    assert made.key
    assert not made.stored
    assert seal_of(user) == Seal()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_a_key_that_is_a_link_or_too_short_is_none(tmp_path: Path) -> None:
    user = System(environ={"HOME": str(tmp_path)})
    key = tmp_path / ".local" / "state" / "torchdoctor" / "key"
    key.parent.mkdir(parents=True)
    key.write_bytes(b"short")
    assert seal_of(user) == Seal()
    (tmp_path / "theirs").write_bytes(b"x" * 32)
    key.unlink()
    key.symlink_to(tmp_path / "theirs")
    assert seal_of(user) == Seal()
    assert not seal_of(user, make=True).stored

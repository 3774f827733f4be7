"""The parts of an apply that need no environment: what is run, whose it is, what a change would break, what is
hidden."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from doctor import process
from doctor.apply import ApplyError, consent, fresh, lock, project
from doctor.apply.installed import Installed, conflicts, installed_in
from doctor.apply.journal import Journal
from doctor.apply.listing import recorded, survey
from doctor.apply.place import SCHEME, place_of, prefix_of
from doctor.apply.redacted import hide
from doctor.apply.resolve import Change, failed, removed_by, resolve
from doctor.apply.run import made_by, select
from doctor.facts.system import System
from doctor.model.facts import ABSENT, Facts, Host, Interpreter, Torch
from doctor.model.fix import Fix, Plan, Step


def fix(*steps: Step, action: str = "install-torch", finding: str = "torch-cpu-only") -> Fix:
    return Fix(finding=finding, action=action, title="t", steps=steps)


PIP = Step(text="install", argv=("python", "-m", "pip", "install", "torch"))


@pytest.mark.parametrize(
    "steps",
    [
        (Step(text="driver", argv=("sudo", "apt", "install", "x"), needs_root=True), PIP),
        (PIP, Step(text="restart", needs_reboot=True)),
        (Step(text="system", argv=("modprobe", "x"), where="system"),),
        (Step(text="write something into a file"), PIP),
        (Step(text="only words"),),
    ],
    ids=["root", "reboot", "system", "by hand before", "words"],
)
def test_what_is_left_to_the_user(steps: tuple[Step, ...]) -> None:
    chosen = select(Plan(fixes=(fix(*steps), fix(PIP, finding="other"))))
    assert [f.finding for f in chosen.by_hand.fixes] == ["torch-cpu-only"]
    assert chosen.targets == {"other"}
    assert chosen.steps == (PIP,)


def test_what_is_run_with_a_remark() -> None:
    chosen = select(Plan(fixes=(fix(Step(text="Get uv", where="user"), PIP, Step(text="", shell="export X=1")),)))
    assert chosen.steps == (PIP,)
    assert chosen.remarks == ("export X=1",), "what comes before, the plan says"
    assert select(Plan(fixes=(fix(action="none"),))).by_hand.fixes == ()


def facts(**interpreter: object) -> Facts:
    return Facts(interpreter=Interpreter(executable="/x/bin/python", **interpreter))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        (facts(environment="system", externally_managed=True), "system-python"),
        (facts(environment="system", externally_managed=False), "system-python"),
        (facts(environment="conda-base"), "conda-base"),
        (replace(facts(environment="venv"), host=Host(jetson="36.4.0"), torch=Torch(version="2.5")), "jetson-torch"),
    ],
)
def test_consent_is_asked_for_by_name(machine: Facts, name: str, tmp_path: Path) -> None:
    said = consent.missing(machine, str(tmp_path), ())
    assert said is not None
    assert said.startswith("nothing was changed: ")
    assert said.endswith(f"--allow {name}")
    assert consent.missing(machine, str(tmp_path), (name,)) is None


def test_an_environment_of_ones_own_needs_none(tmp_path: Path) -> None:
    assert consent.missing(facts(environment="venv"), str(tmp_path), ()) is None
    jetson = replace(facts(environment="venv"), host=Host(jetson=ABSENT), torch=Torch(version="2.5"))
    assert consent.missing(jetson, str(tmp_path), ()) is None


def test_what_a_change_would_break() -> None:
    installed = {
        "torch": Installed("torch", "2.13.0+cpu"),
        "xformers": Installed("xformers", "0.0.30", ("torch==2.13.0", "numpy; python_version < '3'")),
        "old": Installed("old", "1", ("torch<2", "not a requirement !!")),  # is broken already
        "extra": Installed("extra", "1", ("torch<2.14; extra == 'x'",)),
        "torchvision": Installed("torchvision", "0.28.0", ("torch==2.13.0",)),
    }
    after = {"torch": "2.14.1+cu130", "torchvision": "0.29.1"}
    assert conflicts(installed, after, "3.11.7") == ("xformers 0.0.30 needs torch==2.13.0",)
    assert conflicts(installed, {"torch": "2.13.0+cu130"}, "3.11.7") == ()


def test_distributions_are_read_from_their_folders(tmp_path: Path) -> None:
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "My.Pkg-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: My.Pkg\nVersion: 1.0\nRequires-Dist: torch>=2\n\nRequires-Dist: no, text\n")
    (info.parent / "~y_pkg-0.9.dist-info").mkdir()
    assert installed_in([str(tmp_path)]) == {"my-pkg": Installed("my-pkg", "1.0", ("torch>=2",))}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:pa%40ss@host/simple torch", "https://****@host/simple torch"),
        ("Looking in indexes: http://__token__:x@a/s, https://b/s", "Looking in indexes: http://****@a/s, https://b/s"),
        ("git+ssh://git@github.com/x", "git+ssh://****@github.com/x"),
        ("user@host: no address", "user@host: no address"),
    ],
)
def test_credentials_are_hidden(text: str, shown: str) -> None:
    assert hide(text) == shown


def test_what_a_step_removes_or_makes() -> None:
    assert removed_by(("p", "-m", "pip", "uninstall", "-y", "torch", "Torch_Vision")) == ("torch", "torch-vision")
    assert removed_by(("uv", "pip", "uninstall", "--python", "p", "torch")) == ("torch",)
    assert removed_by(("uv", "pip", "install", "--reinstall-package", "torch", "torch==1")) == ("torch",)
    assert made_by(Step(text="", argv=("uv", "venv", "--python", "3.12", ".v")), "/w") == "/w/.v"
    assert made_by(Step(text="", argv=("/p", "-m", "venv", "/e")), "/w") == "/e"
    assert made_by(Step(text="", argv=("conda", "create", "-p", "e", "python=3.12")), "/w") == "/w/e"
    assert made_by(PIP, "/w") is None


CONDA = {
    "success": True,
    "actions": {
        "UNLINK": [{"name": "pytorch-cpu", "version": "2.9.1"}],
        "LINK": [{"name": "pytorch-gpu", "version": "2.10.0"}, {"name": "libtorch", "version": "2.10.0"}],
    },
}
NOT_FOUND = {"success": False, "error": "PackagesNotFoundError", "message": "The following packages are not available"}
NO_NETWORK = {"error": "CondaHTTPError: HTTP 000 CONNECTION FAILED for url <https://conda.anaconda.org/conda-forge>"}


def conda(folder: Path, said: object, code: int = 0) -> System:
    (folder / "said.json").write_text(json.dumps(said))
    (folder / "conda").write_text(f"#!/bin/sh\ncat {folder}/said.json\nexit {code}\n")
    (folder / "conda").chmod(0o755)
    return System(environ={"PATH": f"{folder}:/usr/bin:/bin"}, cwd=str(folder))


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for conda")
def test_conda_is_asked_too(tmp_path: Path) -> None:
    argv = (str(tmp_path / "conda"), "install", "-p", "/e", "-c", "conda-forge", "pytorch-gpu")
    environ = {"PATH": "/usr/bin:/bin"}
    good = resolve(conda(tmp_path, CONDA), argv, {"pytorch-cpu": "2.9.1"}, (), environ)
    assert good.ok
    assert good.changes == (
        Change("libtorch", None, "2.10.0"), Change("pytorch-cpu", "2.9.1", None), Change("pytorch-gpu", None, "2.10.0"),
    )  # fmt: skip
    bad = resolve(conda(tmp_path, NOT_FOUND, 1), argv, {}, (), environ)
    assert (bad.ok, bad.unreachable, bad.message) == (False, False, "The following packages are not available")
    assert resolve(conda(tmp_path, NO_NETWORK, 1), argv, {}, (), environ).unreachable
    elsewhere = resolve(conda(tmp_path, CONDA), (argv[0], "install", "pytorch-gpu"), {}, (), environ)
    assert not elsewhere.ok
    assert "none of conda's" in elsewhere.message


def test_the_place_of_an_environment(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "lib64").symlink_to("lib")
    (tmp_path / "bin").mkdir()
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\n")
    python = str(tmp_path / "bin" / "python")
    system_sites = "/usr/lib/python3/dist-packages"  # seen through --system-site-packages
    paths = ("/usr/lib/python3.11", system_sites, str(tmp_path / "lib64" / "python3.11" / "site-packages"), str(site))
    project = str(tmp_path / "pyproject.toml")
    interpreter = Interpreter(executable=python, prefix=str(tmp_path), sys_path=paths, project=project)
    found = place_of(System(), interpreter, edits_project=True)
    (root,) = found.roots
    assert (root.path, root.owned, root.whole) == (str(tmp_path), SCHEME, True)
    assert found.sites == (str(site),)
    assert found.store == str(tmp_path / ".torchdoctor")
    assert found.files[:2] == (project, str(tmp_path / "uv.lock"))
    assert place_of(System(), interpreter).files == (), "a project that is not edited is not put back"
    assert prefix_of("/usr/bin/python3") is None


@pytest.mark.parametrize("linked", ["lib", "lib/python3.11", "lib/python3.11/site-packages"])
@pytest.mark.parametrize("kind", ["pyvenv.cfg", "conda-meta"])
def test_site_packages_outside_of_the_environment_is_refused(tmp_path: Path, linked: str, kind: str) -> None:
    """uv would look for `bin` and `share` beside the folder that the link leads to."""
    env = tmp_path / "env"
    site = env / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (env / kind).mkdir()
    (env / linked).rename(tmp_path / "away")
    (env / linked).symlink_to(tmp_path / "away")
    python = str(env / "bin" / "python")
    place = place_of(System(), Interpreter(executable=python, prefix=str(env), sys_path=(str(site),)))
    with pytest.raises(ApplyError, match="site-packages is behind a link, at "):
        survey(place)


def test_a_conda_environment_is_recorded_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "conda-meta").mkdir()
    python = str(tmp_path / "bin" / "python")
    found = place_of(System(), Interpreter(executable=python, prefix=str(tmp_path)))
    (root,) = found.roots
    assert (root.path, root.owned, found.by_record) == (str(tmp_path), None, False)
    assert "pkgs" in found.leave


def test_of_a_python_that_is_no_environments_only_its_packages_are_the_tools(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    python = str(tmp_path / "bin" / "python3")
    found = place_of(System(), Interpreter(executable=python, prefix=str(tmp_path), sys_path=(str(site),)))
    (root,) = found.roots
    assert (root.path, root.owned, root.whole) == (str(tmp_path), ("lib/python3.11/site-packages", "bin"), False)


def test_the_system_pythons_snapshots_lie_with_the_user(tmp_path: Path) -> None:
    system = System(environ={"HOME": str(tmp_path)})
    found = place_of(system, Interpreter(executable="/usr/bin/python3", prefix="/usr", sys_path=()))
    assert found.store.startswith(str(tmp_path / ".local" / "state" / "torchdoctor"))


def test_a_torn_journal_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    journal = Journal(str(tmp_path))
    assert journal.state == "incomplete"
    journal.write("begun", roots=[])
    journal.write("ready")
    with open(tmp_path / "journal.jsonl", "a") as file:
        file.write('{"event": "finis')
    again = Journal(str(tmp_path))
    assert again.state == "interrupted"
    assert [line["event"] for line in again.lines] == ["begun", "ready"]


def test_one_lock_an_environment(tmp_path: Path) -> None:
    with (
        lock.held(str(tmp_path)),
        pytest.raises(ApplyError, match=f"another torchdoctor \\(process {os.getpid()}\\)"),
        lock.held(str(tmp_path)),
    ):
        pytest.fail("held twice")
    with lock.held(str(tmp_path)):
        pass


def test_a_record_with_odd_names(tmp_path: Path) -> None:
    (tmp_path / "RECORD").write_bytes(b'"a,b.py",sha256=x,1\ntorch/caf\xc3\xa9.py,,\n\n')
    assert recorded(str(tmp_path / "RECORD")) == ["a,b.py", "torch/café.py"]
    assert recorded(str(tmp_path / "none")) == []


@pytest.mark.parametrize(
    ("argv", "files"),
    [
        (("poetry", "add", "torch==2.15.0"), ("/p/pyproject.toml",)),
        (("poetry", "--directory", "/p", "add", "torch==2.15.0"), ()),
        (("pdm", "add", "torch==2.15.0"), ("/p/pyproject.toml",)),
    ],
)
def test_a_project_that_is_not_named_is_not_edited(argv: tuple[str, ...], files: tuple[str, ...]) -> None:
    """The command would edit whatever project lies in the working folder."""
    with pytest.raises(ApplyError, match="nothing was changed: the project"):
        project.preview(System(), (Step(text="", argv=argv),), files, {})


def half_made(system: System, folder: Path) -> fresh.HalfMade:
    """What a run leaves that is killed while its tool makes the environment: no mark is in it yet."""
    with fresh.making(system, str(folder), lambda _: None) as one:
        one.begin(by_us=True)
        (folder / "pyvenv.cfg").write_text("")
        found = fresh.half_made(system, str(folder / "bin" / "python"))
        assert found is not None
        return found


@pytest.fixture
def user(tmp_path: Path) -> System:
    return System(environ={"HOME": str(tmp_path / "home")})


def test_a_folder_in_the_making_is_known_by_its_inode(user: System, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    left = half_made(user, folder)
    assert fresh.all_half_made(user) == (left,)
    assert fresh.why_not_ours(left) is None
    fresh.remove(left)
    assert not folder.exists()
    assert fresh.all_half_made(user) == ()
    assert not Path(left.store).exists()


@pytest.mark.parametrize("case", ["another folder", "a younger file", "a file of the user's", "a link", "a file"])
def test_a_folder_that_may_be_the_users_stays(
    user: System, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "new"
    left = half_made(user, folder)
    if case == "a younger file":
        monkeypatch.setattr(fresh, "MAKING_LIMIT_S", -3600.0)
    elif case == "a file of the user's":
        (folder / "train.py").write_text("")
    else:
        folder.rename(tmp_path / "aside")
    if case == "another folder":
        folder.mkdir()
        (folder / "pyvenv.cfg").write_text("")
    elif case == "a link":
        folder.symlink_to(tmp_path / "aside")
    elif case == "a file":
        folder.write_text("")
    with pytest.raises(ApplyError, match="was left alone"):
        fresh.remove(left)
    assert folder.exists()
    with pytest.raises(ApplyError), fresh.making(user, str(folder), lambda _: None):
        pytest.fail("began")


def test_an_environment_that_the_user_went_on_with_stays(user: System, tmp_path: Path) -> None:
    """Killed while it was filled, and then filled by hand: days later it is no half-made one."""
    folder = tmp_path / "new"
    with fresh.making(user, str(folder), lambda _: None) as one:
        one.begin(by_us=True)
        (folder / "pyvenv.cfg").write_text("")
        one.mark()
        left = fresh.half_made(user, str(folder))
    assert left is not None
    assert fresh.why_not_ours(left) is None
    journal = Path(left.store) / "journal.jsonl"
    journal.write_text(re.sub(r'"at": "\d+-', '"at": "2001-', journal.read_text()))
    with pytest.raises(ApplyError, match="younger"):
        fresh.remove(left)
    assert (folder / "pyvenv.cfg").exists()


def test_a_journal_that_somebody_wrote_removes_nothing(user: System, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    (precious / "lib").mkdir(parents=True)
    left = half_made(user, tmp_path / "new")
    journal = Path(left.store) / "journal.jsonl"
    journal.write_text(journal.read_text().replace(str(tmp_path / "new"), str(precious)))
    assert fresh.all_half_made(user) == ()
    assert fresh.half_made(user, str(tmp_path / "new")) is None
    said = precious.stat()
    own = Path(fresh.store_for(user, str(precious)))
    own.mkdir(parents=True)
    lines = [
        {"event": "begun", "folder": str(precious), "word": ""},
        {"event": "made", "device": said.st_dev, "inode": 1},
    ]
    (own / "journal.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (found,) = fresh.all_half_made(user)
    with pytest.raises(ApplyError, match="not the folder that the interrupted run made"):
        fresh.remove(found)
    assert precious.exists()


def test_a_folder_that_somebody_makes_first_is_left_alone(user: System, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    with fresh.making(user, str(folder), lambda _: None) as one:
        folder.mkdir()
        (folder / "theirs").write_text("")
        with pytest.raises(ApplyError, match="cannot be made"):
            one.begin(by_us=True)
    assert (folder / "theirs").exists()
    assert not Path(fresh.store_for(user, str(folder))).exists()


def test_where_no_journal_can_be_kept_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("no folder")
    said: list[str] = []
    with fresh.making(System(environ={"HOME": str(tmp_path / "home")}), str(tmp_path / "new"), said.append) as one:
        one.begin(by_us=True)
        one.mark()
        one.keep()
    assert (tmp_path / "new").is_dir()
    assert "if this is killed in the middle" in said[0]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            (
                "WARNING: Location 'file:///wheels/' is ignored: it is neither a file nor a directory.",
                "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip>: Failed to "
                "establish a new connection: [Errno -2] Name or service not known')': /whl/cpu/torch/",
                "ERROR: Could not find a version that satisfies the requirement torch==2.14.1 (from versions: none)",
                "ERROR: No matching distribution found for torch==2.14.1",
            ),
            "Name or service not known",
        ),
        (
            (
                "error: Request failed after 1 retry",
                "  Caused by: dns error",
                "  Caused by: failed to lookup address information: Name or service not known",
            ),
            "Name or service not known",
        ),
        (
            ("error sending request for url (https://mirror.example/)",),
            "error sending request for url (https://mirror.example/)",
        ),
    ],
)
def test_why_an_index_cannot_be_reached_is_one_line(lines: tuple[str, ...], said: str) -> None:
    answer = failed(process.Result(argv=("pip",), status="failed", exit_code=1), lines)
    assert (answer.unreachable, answer.message) == (True, said)


def test_what_is_not_found_is_said_without_the_noise() -> None:
    lines = (
        "WARNING: Location 'x' is ignored",
        "[notice] A new release of pip",
        "ERROR: No matching distribution found",
    )
    answer = failed(process.Result(argv=("pip",), status="failed", exit_code=1), lines)
    assert (answer.unreachable, answer.message) == (False, "ERROR: No matching distribution found")

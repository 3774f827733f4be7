"""What goes wrong while a plan is carried out: the environment is what it was, and the cause is named."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doctor.apply import place, undo
from tests.index import killing, wheels
from tests.index.patient import Patient, make_patient
from tests.index.server import Index, serving
from tests.sample import drawn

Make = Callable[..., Patient]


def cpu_build(patient: Make, *, pip: bool = True) -> Patient:
    """With pip the plan has two steps: an uninstall, and an install that downloads."""
    sick = patient(pip=pip)
    sick.install("torch==2.13.0", "torchvision", backend="cpu")
    return sick


def events(patient: Patient) -> list[str]:
    """What the newest journal says so far."""
    for path in sorted((patient.env / ".torchdoctor").glob("2*/journal.jsonl")):
        return [json.loads(line)["event"] for line in path.read_text().splitlines() if line.endswith("}")]
    return []


def started(patient: Patient, index: Index, delay_s: float = 1.0) -> subprocess.Popen[str]:
    """An apply at work, in its second step, which downloads; the index has grown slow by then."""
    process = subprocess.Popen(
        patient.command("fix", "--run", "--yes", "--no-probe"), env=patient.variables(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while (seen := events(patient).count("step")) < 2 and process.poll() is None and time.monotonic() < deadline:
        index.delay_s = delay_s if seen else 0
        time.sleep(0.005)
    return process


def test_no_terminal_and_no_yes(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    before = sick.content()
    done = sick.doctor("fix", "--run", "--no-probe")
    assert (done.returncode, sick.content()) == (2, before)
    assert "there is no terminal to ask on" in done.stderr
    assert not (sick.env / ".torchdoctor").exists()


def test_a_plan_that_does_not_resolve_is_not_begun(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    before = sick.content()
    sick.set(PIP_INDEX_URL=f"{index.url}/empty")
    done = sick.fix()
    assert (done.returncode, sick.content()) == (1, before)
    assert "nothing was changed: the plan does not resolve" in done.stderr
    assert "No matching distribution found for torch" in done.stderr
    assert not (sick.env / ".torchdoctor").exists()


@pytest.mark.slow
@pytest.mark.parametrize("pip", drawn(1, [True, False], "silent"), ids=lambda pip: "pip" if pip else "uv")
def test_an_index_that_never_answers_is_said_within_15_s(patient: Make, index: Index, pip: bool) -> None:
    sick = cpu_build(patient, pip=pip)
    before = sick.content()
    index.silent = True
    began = time.monotonic()
    sick.doctor("check", "--no-probe")
    examination = time.monotonic() - began
    done = sick.fix()
    assert time.monotonic() - began < 15 + 3 * examination
    assert (done.returncode, sick.content()) == (1, before)
    assert "the package index could not be reached" in done.stderr
    assert "--offline --find-links DIR" in done.stderr


@pytest.mark.parametrize("pip", [True, False], ids=["pip", "uv"])
def test_an_index_that_refuses(patient: Make, index: Index, pip: bool) -> None:
    sick = cpu_build(patient, pip=pip)
    nobody = "http://user:secret@127.0.0.1:9/simple"
    sick.set(PIP_INDEX_URL=nobody, UV_DEFAULT_INDEX=nobody)
    done = sick.fix()
    assert done.returncode == 1
    assert "the package index could not be reached" in done.stderr
    assert "secret" not in done.stderr + done.stdout


def test_offline_with_a_folder_of_wheels(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    index.silent = True
    folder = sick.root.parent / "wheels" / "whl" / "cu130"
    done = sick.fix("--offline", "--find-links", str(folder))
    assert done.returncode == 0, done.stderr
    assert sick.torch() == "2.13.0+cu130"
    assert not index.asked


def test_an_index_with_credentials_never_shows_them(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    index.credentials = "user:s3cret"
    address = index.url.replace("//", "//user:s3cret@")
    sick.set(PIP_INDEX_URL=f"{address}/whl/cu130")
    done = sick.fix("--pytorch-index", f"{address}/whl")
    assert done.returncode == 0, done.stderr
    assert sick.torch() == "2.13.0+cu130"
    kept = "".join(p.read_text() for p in (sick.env / ".torchdoctor").glob("*/journal.jsonl"))
    assert kept
    assert "s3cret" not in done.stdout + done.stderr + kept
    planned = sick.doctor("fix", "--no-probe", "--pytorch-index", f"{address}/whl", "--tool", "uv")
    assert "s3cret" not in planned.stdout


def test_the_network_dies_in_the_middle(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    before = sick.content()
    process = started(sick, index)
    index.dies_after = 1000
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "All is as it was before." in stderr
    assert sick.content() == before
    assert sick.torch() == "2.13.0+cpu"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_in_the_middle(patient: Make, index: Index, number: signal.Signals) -> None:
    sick = cpu_build(patient)
    before = sick.content()
    process = started(sick, index)
    process.send_signal(number)
    stderr = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if number == signal.SIGINT else 128 + number)
    assert "All is as it was before." in stderr
    assert sick.content() == before


@pytest.mark.parametrize("signaled", [False, True], ids=["pipe closed", "terminal closed"])
def test_nobody_listens_any_more(patient: Make, index: Index, signaled: bool) -> None:
    """`fix --run 2>&1 | head`, and a terminal that is closed: going back does not depend on being heard."""
    sick = cpu_build(patient)
    before = sick.content()
    process = started(sick, index)
    assert process.stderr is not None
    process.stderr.close()
    if signaled:
        process.send_signal(signal.SIGHUP)
    assert process.wait(60) != 0
    assert sick.content() == before
    assert not list((sick.env / ".torchdoctor").glob("2*"))


def test_undo_where_no_python_is_left(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    before = sick.content()
    assert sick.fix().returncode == 0
    pythons = list((sick.env / "bin").glob("python*"))
    for path in pythons:
        path.unlink()
    done = sick.doctor("fix", "--undo")
    assert done.returncode == 0, done.stderr
    gone = {f"bin/{path.name}" for path in pythons}
    assert sick.content() == {name: said for name, said in before.items() if name not in gone}
    assert sick.doctor("fix", "--undo").returncode == 1


def test_a_file_that_cannot_be_written(patient: Make) -> None:
    """As on a full disk: the biggest library of the new build does not fit."""
    import resource  # not on Windows

    sick = cpu_build(patient)
    before = sick.content()
    done = subprocess.run(
        sick.command("fix", "--run", "--yes", "--no-probe"), env=sick.variables(), capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=60, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (280_000, 280_000)),
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert sick.content() == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 110 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=110m", "tmpfs", str(folder)]
    if os.name == "nt" or os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("pip", [True, False], ids=["pip", "uv"])
def test_a_full_disk(small_disk: Path, wheelhouse: Path, pip: bool) -> None:
    house = small_disk.parent / "house"
    (house / "whl").mkdir(parents=True)
    (house / "whl" / "cpu").symlink_to(wheelhouse / "whl" / "cpu")
    big = house / "whl" / "cu130"
    wheels.torch(big, "2.13.0+cu130", big_bytes=60_000_000)
    wheels.wheel(big, "nvidia-cuda-runtime", "13.0", {"nvidia/x.so": "x"})
    with serving(house) as index:
        sick = make_patient(small_disk, index.url, pip=pip)
        (small_disk / "wheels").symlink_to(house)
        sick.set(UV_CACHE_DIR=str(small_disk.parent / "cache"), TMPDIR=str(small_disk.parent))
        sick.install("torch==2.13.0", backend="cpu")
        before = sick.content()
        done = sick.fix()
    assert done.returncode == 1, done.stderr
    assert "No space left on device" in done.stderr
    assert "All is as it was before." in done.stderr
    assert sick.content() == before


def test_a_read_only_environment(small_disk: Path, wheelhouse: Path, index: Index) -> None:
    sick = make_patient(small_disk, index.url)
    (small_disk / "wheels").symlink_to(wheelhouse)
    sick.install("torch==2.13.0", backend="cpu")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = sick.fix()
    assert done.returncode == 1
    assert "nothing was changed" in done.stderr
    assert "may not be written (read-only" in done.stderr


def test_what_is_no_cure_is_undone(patient: Make, index: Index) -> None:
    """The index calls a wheel a CUDA build that is a CPU build all the same."""
    sick = cpu_build(patient)
    before = sick.content()
    house = sick.root.parent / "liar" / "whl" / "cu130"
    real = sick.root.parent / "wheels" / "whl"
    house.mkdir(parents=True)
    for path in (real / "cu130").glob("*.whl"):
        if not path.name.startswith("torch-"):
            (house / path.name).symlink_to(path)
    (cpu,) = (real / "cpu").glob("torch-2.13.0*.whl")
    (cuda,) = (real / "cu130").glob("torch-2.13.0*.whl")
    with zipfile.ZipFile(cpu) as of_cpu, zipfile.ZipFile(cuda) as named, zipfile.ZipFile(house / cuda.name, "w") as lie:
        code = {name for name in of_cpu.namelist() if name.startswith("torch/")}
        for name in named.namelist():
            lie.writestr(name, (of_cpu if name in code else named).read(name))
    done = sick.fix("--offline", "--find-links", str(house))
    assert done.returncode == 1, done.stderr
    assert "not cured: torch-cpu-only is still found; putting the environment back" in done.stderr
    assert sick.content() == before


def tool_that_also(patient: Patient, deed: str) -> None:
    """The machine's uv, which does something else besides when it installs."""
    uv = patient.root / "bin" / "uv"
    real = os.readlink(uv)
    uv.unlink()
    uv.write_text(f'#!/bin/sh\n"{real}" "$@" || exit\ncase "$*" in *--dry-run*) ;; *) {deed} ;; esac\n')
    uv.chmod(0o755)


@pytest.mark.parametrize(
    ("deed", "options", "reason"),
    [
        ("rm '{env}/bin/python'", (), "worse: interpreter-broken is found now"),
        ("echo 'import os; os._exit(3)' >> '{site}/torch/__init__.py'", (), "worse: torch-install-broken is found now"),
        ("echo 'import time; time.sleep(60)' >> '{site}/torch/__init__.py'", ("--timeout", "1"), "not proven: it is"),
        ("rm -r '{site}/torch'", (), "is found now"),
    ],
    ids=["no Python", "no import", "not known", "no torch"],
)
def test_what_is_not_proven_to_be_a_cure_is_undone(
    patient: Make, deed: str, options: tuple[str, ...], reason: str
) -> None:
    """Neither is «cured; the environment is unknown»."""
    sick = cpu_build(patient, pip=False)
    tool_that_also(sick, deed.format(env=sick.env, site=sick.site))
    before = sick.exact()
    done = sick.fix(*options)
    assert done.returncode == 1, done.stderr
    assert "cured;" not in done.stderr
    assert reason in done.stderr
    assert done.stderr.rstrip().endswith("All is as it was before.")
    assert sick.exact() == before


@pytest.mark.parametrize("pip", [True, False], ids=["pip", "uv"])
def test_undo_gives_the_very_same_environment_back(patient: Make, tmp_path: Path, pip: bool) -> None:
    """Libraries and man pages outside of site-packages, owners, attributes, hard links, what is behind links."""
    sick = cpu_build(patient, pip=pip)
    sick.make_hard(tmp_path if pip else None)
    before, cached = sick.exact(), sick.cached()
    library = sick.env / "lib" / "libmkl_core.so.2"
    assert "2.13.0+cpu" in library.read_text()
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert "2.13.0+cu130" in library.read_text()
    assert "cu130" in (sick.env / "share" / "man" / "man1" / "torchrun.1").read_text()
    done = sick.doctor("fix", "--undo")
    assert "undone. All is as it was before." in done.stderr
    assert sick.exact() == before
    assert {name: said for name, said in sick.cached().items() if name in cached} == cached


def test_data_files_of_a_new_package_go_again(patient: Make) -> None:
    """.venv/share/man/man1 of a package that was not there before."""
    sick = patient(pip=True)
    before = sick.exact()
    assert sick.fix().returncode == 0
    assert (sick.env / "share" / "man" / "man1" / "torchrun.1").exists()
    assert (sick.env / "torch_tables" / "table.csv").exists()
    assert sick.doctor("fix", "--undo").returncode == 0
    assert sick.exact() == before


def test_later_work_is_named_after_an_undo(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    assert sick.fix().returncode == 0
    (sick.site / "mine.py").write_text("")
    done = sick.doctor("fix", "--undo")
    assert done.returncode == 0
    assert "All is as it was before" not in done.stderr
    assert f"What the run changed is as it was before. These differ, and were left alone:\n  {sick.site}/mine.py" in (
        done.stderr
    )


def test_a_snapshot_that_came_from_elsewhere(patient: Make) -> None:
    """The key is not in the environment: whoever gets that from another machine has none, or another one."""
    sick = cpu_build(patient, pip=False)
    before = sick.exact()
    assert sick.fix().returncode == 0
    (key,) = (sick.root / "home").rglob("key")
    key.write_bytes(b"x" * 32)
    after = sick.exact()
    done = sick.doctor("fix", "--undo", "--allow", "later-changes")
    assert (done.returncode, sick.exact()) == (1, after)
    assert "was not made by this user on this machine" in done.stderr
    assert "(not made by this user here)" in sick.doctor("fix", "--undo", "list").stdout
    assert sick.doctor("fix", "--undo", "--allow", "foreign-snapshot").returncode == 0
    assert sick.exact() == before


def test_site_packages_behind_a_link_is_refused(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    site, away = sick.site, sick.root.parent / "away"
    site.rename(away)
    site.symlink_to(away)
    before = sick.exact()
    done = sick.fix()
    assert (done.returncode, sick.exact()) == (1, before)
    assert f"nothing was changed: {site} is behind a link, at {away}" in done.stderr


def test_two_runs_do_not_meet(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    process = started(sick, index)
    done = sick.doctor("fix", "--undo")
    process.communicate(timeout=60)
    assert done.returncode == 1
    assert "another torchdoctor" in done.stderr
    assert process.returncode == 0


@pytest.mark.slow
def test_an_interrupted_run_bars_the_next_one_until_it_is_undone(patient: Make, index: Index) -> None:
    sick = cpu_build(patient)
    before = sick.content()
    process = started(sick, index)
    process.kill()
    process.communicate(timeout=60)
    index.delay_s = 0
    again = sick.fix()
    assert again.returncode == 1
    assert "was interrupted in the middle" in again.stderr
    assert sick.doctor("fix", "--undo").returncode == 0
    assert sick.content() == before
    assert sick.fix().returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("pip", drawn(1, [True, False], "kill"), ids=lambda pip: "pip" if pip else "uv")
def test_kill_9_at_any_moment(patient: Make, tmp_path: Path, pip: bool) -> None:
    sick = cpu_build(patient, pip=pip)
    sick.make_hard(tmp_path if pip else None)
    before = sick.exact()
    took = killing.full_apply_s(sick)
    chance = random.Random(time.time_ns())
    trials = [killing.trial(sick, chance, took, before) for _ in range(3)]
    assert [one for one in trials if not one.ok] == []


@pytest.mark.slow
def test_undo_refuses_where_the_environment_was_changed_since(patient: Make) -> None:
    sick = cpu_build(patient)
    before = sick.content()
    assert sick.fix().returncode == 0
    sick.install("torch==2.13.0", "--reinstall-package", "torch", backend="cpu")
    done = sick.doctor("fix", "--undo")
    assert done.returncode == 1
    assert "--allow later-changes" in done.stderr
    assert sick.doctor("fix", "--undo", "--allow", "later-changes").returncode == 0
    assert sick.content() == before


def test_nothing_to_undo(patient: Make) -> None:
    sick = patient()
    done = sick.doctor("fix", "--undo")
    assert (done.returncode, "there is nothing to undo" in done.stderr) == (1, True)
    assert not (sick.env / ".torchdoctor").exists()
    assert "there are no snapshots" in sick.doctor("fix", "--undo", "list").stderr


@pytest.mark.slow
def test_the_last_three_snapshots_are_kept(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    for _ in range(4):
        assert sick.fix().returncode == 0
        sick.install("torch==2.13.0", "--reinstall-package", "torch", backend="cpu")
    saved = undo.saved_in(place.store_of(None, str(sick.python)))  # type: ignore[arg-type]
    assert [one.state for one in saved] == ["applied"] * undo.KEPT
    said = sick.doctor("fix", "--undo", "list").stdout
    assert said.count("Replace torch 2.13.0+cpu with torch 2.13.0 (cu130)") == undo.KEPT
    assert "MB" in said


def test_another_users_environment_needs_consent(patient: Make) -> None:
    sick = cpu_build(patient, pip=False)
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(sick.env, 65534, 65534)
    before = sick.content()
    done = sick.fix()
    assert (done.returncode, sick.content()) == (1, before)
    assert "--allow other-user" in done.stderr
    assert sick.fix("--allow", "other-user").returncode == 0


def test_a_terminal_is_asked_once(patient: Make) -> None:
    pexpect = pytest.importorskip("pexpect")
    sick = cpu_build(patient, pip=False)
    argv = sick.command("fix", "--run", "--no-probe")
    child = pexpect.spawn(argv[0], argv[1:], env=sick.variables(), timeout=60, encoding="utf-8")
    child.expect(r"torch: 2\.13\.0\+cpu -> 2\.13\.0\+cu130")
    child.expect(r"Do this\? \[y/N\]")
    child.sendline("n")
    child.expect("nothing was done")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 1
    assert sick.torch() == "2.13.0+cpu"


def test_files_keep_their_modes_and_hard_links_are_not_written_through(patient: Make) -> None:
    """uv links from its cache: what is put back must not have changed the cache either."""
    sick = cpu_build(patient, pip=False)
    part = sick.site / "torch" / "_parts" / "part_0.py"
    part.chmod(0o600)
    assert sick.fix().returncode == 0
    assert sick.doctor("fix", "--undo").returncode == 0
    assert stat.S_IMODE(part.stat().st_mode) == 0o600
    done = subprocess.run([sys.executable, "-m", "zipfile", "-t", *map(str, _wheels(sick))], check=False)
    assert done.returncode == 0


def _wheels(patient: Patient) -> list[Path]:
    return sorted((patient.root.parent / "wheels" / "whl" / "cpu").glob("torch-*.whl"))[:1]

"""The ward for GPUs, without one: its table is whole, its judgement can fail, what runs beside a row is ended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.checks import all_checks
from tests.ward.gpu import programs
from tests.ward.gpu.machine import Machine
from tests.ward.gpu.page import page
from tests.ward.gpu.results import keep, kept, left_to_run
from tests.ward.gpu.row import Row
from tests.ward.gpu.rows import rows
from tests.ward.gpu.run import Answer, Result, argv_of, beside, environ_of, problems_of, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the rows are those of a Linux machine")


def here(tmp_path: Path, gpus: int = 2) -> Machine:
    """A machine with GPUs, of which nothing is looked for."""
    return Machine(
        python=sys.executable, site=tmp_path, gpus=gpus, uuids=("GPU-00000000-1111",) * gpus, cached={},
        nodes=tuple(f"/dev/nvidia{n}" for n in range(gpus)), loader_path="", namespaces=True,
    )  # fmt: skip


@pytest.fixture
def table(tmp_path: Path) -> list[Row]:
    (tmp_path / "files").mkdir()
    return rows(here(tmp_path), tmp_path / "files")


def test_the_table_is_large_and_every_row_is_whole(table: list[Row]) -> None:
    ids = {check.id for check in all_checks()}
    assert len(table) >= 45
    assert len([row for row in table if row.ids]) >= 20
    assert len([row for row in table if not row.ids]) >= 20
    for row in table:
        assert {*row.ids, *row.noted} <= ids, row.name
        assert len(row.ids) <= 2, f"{row.name} accepts too much"
        assert (row.verdict == "faulty") == bool(row.ids), row.name
        assert not any(name.startswith(("NCCL_", "TORCH_SYMM_", "NVSHMEM_")) for name in row.environ), row.name
        assert all(words.split()[0] in programs.PROGRAMS for words in row.beside), row.name


def test_what_needs_a_second_gpu_is_left_out_with_one(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    left = [row for row in rows(here(tmp_path, 1), tmp_path / "files") if row.missing == "needs two GPUs"]
    assert len(left) == len([row for row in left if row.group == "two GPUs"]) >= 5


def report(verdict: str, *found: tuple[str, str]) -> str:
    return json.dumps({"verdict": verdict, "findings": [{"severity": s, "id": i} for s, i in found]})


BROKEN = Row(name="b", group="g", ids=("gpu-hidden",), verdict="faulty", code=1)
SOUND = Row(name="s", group="g", noted=("harmful-variable",))


@pytest.mark.parametrize(
    ("row", "code", "said", "problems"),
    [
        (BROKEN, 1, report("faulty", ("fault", "gpu-hidden")), 0),
        (BROKEN, 1, report("faulty", ("fault", "gpu-busy"), ("fault", "gpu-hidden")), 1),
        (BROKEN, 0, report("healthy", ("note", "gpu-hidden")), 3),
        (BROKEN, 1, "no JSON", 1),
        (BROKEN, None, "", 1),
        (SOUND, 0, report("healthy", ("warning", "harmful-variable")), 0),
        (SOUND, 0, report("healthy"), 1),
        (SOUND, 3, report("unknown", ("warning", "harmful-variable")), 2),
    ],
)
def test_a_row_is_judged_by_its_fault_verdict_and_exit_code(row: Row, code: int, said: str, problems: int) -> None:
    found, _ = problems_of(row, Answer(code, said, "", 1.0))
    assert len(found) == problems, found


def test_a_doctor_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.ward.gpu.run.argv_of", lambda row, python: ["sh", "-c", "sleep 77 & wait"])
    result = run(Row(name="slow", group="g", limit_s=0.2), sys.executable)
    assert result.problems == ["no answer in 0.2 s"]


def test_a_row_s_own_pythonpath_comes_first_and_mounts_come_before_the_doctor(tmp_path: Path) -> None:
    row = Row(name="m", group="g", mounts=("mount one",), wrap=("nice",), environ={"PYTHONPATH": "/first"})
    assert environ_of(row)["PYTHONPATH"].startswith("/first:")
    argv = argv_of(row, "/usr/bin/python3")
    assert argv[:2] == ["unshare", "-m"]
    assert argv[-1].startswith("mount one && exec nice ")
    assert argv[-1].endswith("--python /usr/bin/python3")


def test_a_program_beside_a_row_is_awaited_and_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = tmp_path / "pid"
    text = (
        f"import os, time\nopen({str(said)!r}, 'w').write(str(os.getpid()))\n"
        "print('ready', flush=True)\ntime.sleep(77)"
    )
    monkeypatch.setitem(programs.PROGRAMS, "hold", text)
    with beside(Row(name="h", group="g", beside=("hold cuda:0 1",)), sys.executable):
        pid = int(said.read_text())
        os.kill(pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    monkeypatch.setitem(programs.PROGRAMS, "hold", "raise SystemExit('no GPU')")
    result = run(Row(name="h", group="g", beside=("hold cuda:0 1",)), sys.executable)
    assert result.problems == ["the row can't be run: the program beside it did not begin: no GPU"]


@pytest.mark.parametrize("text", programs.PROGRAMS.values())
def test_the_programs_parse(text: str) -> None:
    compile(text, "program", "exec")


def test_results_are_kept_and_a_run_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "ward_gpu.json"
    table = [BROKEN, SOUND, Row(name="c", group="g", copies=16), Row(name="x", group="g", missing="no GPU")]
    said = kept(file)
    assert [row.name for row in left_to_run(table, said, again=False)] == ["b", "s", "c"]
    keep(file, said, Result("b", verdict="healthy", code=0, problems=["exit 0, not 1"]))
    said = kept(file)
    assert [row.name for row in left_to_run(table, said, again=False)] == ["s", "c"]
    assert [row.name for row in left_to_run(table, said, again=True)] == ["b", "s", "c"]
    text = page(table, said)
    assert "4 rows, 1 run, 0 as expected (0.0 %); 1 broken ones called healthy, 0 false alarms" in text
    assert "| x | `as it is` | healthy, exit 0, 120 s | not run: no GPU | | |" in text
    assert "exit 0, not 1" in text
    file.write_text("[]")
    with pytest.raises(ValueError, match="no results"):
        kept(file)


def test_mounts_are_the_row_s_alone(tmp_path: Path) -> None:
    """The rows' commands work in a mount namespace, and leave nothing behind."""
    if shutil.which("unshare") is None or os.geteuid() != 0:
        pytest.skip("needs unshare, and root")
    (tmp_path / "files").mkdir()
    bare = next(row for row in rows(here(tmp_path), tmp_path / "files") if row.name.startswith("no nodes"))
    script = " && ".join(bare.mounts) + " && ls /dev && exec test -c /dev/null"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, check=False)
    if "permitted" in done.stderr or "denied" in done.stderr:
        pytest.skip("this root may not mount")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["fd", "full", "null", "pts", "random", "shm", "tty", "urandom", "zero"]
    assert "full" not in os.listdir(tmp_path / "files" / "dev")

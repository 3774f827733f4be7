"""Two ranks on gloo, run by the interpreter with a CPU torch. The suite runs the installed command, with all
stages; TORCHDOCTOR_TEST_ALL=1 the others, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.fleet import launch, merge
from doctor.model.fleet import FleetReport
from tests.fleet.faulty import ROOT
from tests.sample import whole

PYTHON = os.environ.get("TORCHDOCTOR_TEST_PYTHON", "")
MAIN, FAULTY = Path(ROOT) / "doctor/fleet/__main__.py", Path(ROOT) / "tests/fleet/faulty.py"
pytestmark = [pytest.mark.slow, pytest.mark.real_torch, pytest.mark.skipif(
    not PYTHON, reason="TORCHDOCTOR_TEST_PYTHON names no interpreter with torch")]  # fmt: skip


def run(folder: Path, fault: str = "", sick: int = 1, ranks: int = 2, absent: bool = False, *more: str) -> FleetReport:
    port = launch.free_port()
    children = []
    for rank in range(ranks):
        if rank == sick and absent:
            continue
        program = [str(FAULTY), fault, "--"] if fault and rank == sick else [str(MAIN)]
        environ = {
            **os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            "GLOO_SOCKET_IFNAME": "lo",
        }  # fmt: skip
        words = [PYTHON, *program, "--output", str(folder), "--backend", "gloo", "--no-merge", "--limit", "20",
                 "--join-limit", "30", "--stages", "BC", *more]  # fmt: skip
        children.append(subprocess.Popen(words, env=environ))
    for child in children:
        assert child.wait(240) == 0
    return merge.merge(str(folder), expect=ranks)


@whole
def test_two_ranks_agree_to_the_bit(tmp_path: Path) -> None:
    report = run(tmp_path)
    assert [f for f in report.findings if not f.because] == []
    assert {c.name: c.verdict for c in report.collectives} == dict.fromkeys(
        ("all-reduce", "all-gather", "reduce-scatter", "all-to-all"), "pass"
    )
    assert {(link.source, link.target, link.verdict) for link in report.links} == {(0, 1, "pass"), (1, 0, "pass")}
    assert report.verdict == "not-measured", "stage A was left out"


@whole
def test_a_wrong_element_is_found(tmp_path: Path) -> None:
    report = run(tmp_path, "corrupt")
    assert {s for f in report.findings if f.id == "fleet-collective-wrong" for s in f.ranks} == {1}
    assert report.verdict == "fail"


def test_the_installed_command_runs_this_machine(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "doctor", "fleet", "--local", "--python", PYTHON, "--backend", "gloo", "--ranks",
             "2", "--output", str(tmp_path / "out"), "--json", "--quiet"]  # fmt: skip
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    report = json.loads(done.stdout)
    assert (done.returncode, report["verdict"], report["heard"]) == (0, "pass", 2), done.stderr
    assert (tmp_path / "out" / "good_nodes.txt").read_text().strip()

"""Ranks as hosts of their own, in network namespaces with veth pairs. Needs root on Linux and a CPU torch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from scripts import prove_fleet as prove
from tests.fleet import hosts
from tests.sample import drawn

PYTHON = os.environ.get("TORCHDOCTOR_TEST_PYTHON", "")
needs_hosts = pytest.mark.skipif(bool(hosts.why_not()), reason=hosts.why_not())
needs_torch = pytest.mark.skipif(not PYTHON, reason="TORCHDOCTOR_TEST_PYTHON names no interpreter with torch")


def namespaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


@needs_hosts
def test_nodes_reach_each_other_and_nothing_is_left() -> None:
    number = 60_000 + os.getpid() % 10_000
    with hosts.network(2, number) as names:
        assert all(name in namespaces() for name in names)
        listen = "import socket; s = socket.socket(); s.bind(('', 4711)); s.listen(); print(s.accept()[0].recv(5))"
        call = f"""
import socket, time
for _ in range(50):
    try:
        one = socket.create_connection(("{hosts.address(number, 0)}", 4711), 5)
        break
    except OSError:
        time.sleep(0.2)
one.sendall(socket.gethostname().encode())
"""
        words = hosts.as_host(["python3", "-c", listen], "node0", names[0])
        server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        subprocess.run(hosts.as_host(["python3", "-c", call], "node1", names[1]), check=True, timeout=60)
        assert server.communicate(timeout=60)[0].strip() == "b'node1'"
    assert f"tdf{number}n" not in namespaces()


@needs_hosts
@needs_torch
@pytest.mark.slow
@pytest.mark.real_torch
@pytest.mark.parametrize("name", drawn(1, ["a link of 200 Mbit/s", "clean"], "hosts"))
def test_a_real_run_between_hosts(name: str, tmp_path: Path) -> None:
    case = prove.BY_NAME[name]
    run = prove.perform(prove.drawn(case, 1, 0), tmp_path, "")
    found = prove.outcome(run, tmp_path)
    assert found.how == ("clean" if name == "clean" else "named"), found.told


def test_what_was_run_is_not_run_again_and_each_seed_is_its_own(tmp_path: Path) -> None:
    plan = list(prove.planned(prove.CASES, times=4, clean=20, seed=7))
    assert len(plan) == 4 * (len(prove.CASES) - 1) + 20
    assert len({prove.path_of(tmp_path, run) for run in plan}) == len(plan)
    assert plan == list(prove.planned(prove.CASES, times=4, clean=20, seed=7))
    more = {prove.path_of(tmp_path, run) for run in prove.planned(prove.CASES, times=8, clean=20, seed=7)}
    assert {prove.path_of(tmp_path, run) for run in plan} <= more, "more of the same seed goes on where it ended"
    assert {run.sick for run in plan if run.case == "dies in A"} <= {1, 2}

"""The last words of NCCL's watchdog, as torch 1.12 to 2.11 write them, and what became of such a rank."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fleet.judge.judgement import judge
from doctor.fleet.judge.ranks import Expected
from doctor.fleet.rank import watchdog
from doctor.model.fleet import RankStage
from tests.fleet import simulated as sim

TIMEOUT = (
    "[rank5]:[E623 21:21:18 ProcessGroupNCCL.cpp:2197] [PG ID 0 PG GUID 0(default_pg) Rank 5] Process group watchdog "
    "thread terminated with exception: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=10, "
    "OpType=ALLGATHER, NumelIn=234881024, NumelOut=234881024, Timeout(ms)=60000) ran for 60021 milliseconds before "
    "timing out.\n"
)
OLD_TIMEOUT = (
    "[E ProcessGroupNCCL.cpp:737] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, "
    "OpType=ALLREDUCE, Timeout(ms)=10000) ran for 10001 milliseconds before timing out.\n"
    "terminate called after throwing an instance of 'std::runtime_error'\n"
)
CUDA = (
    "terminate called after throwing an instance of 'c10::DistBackendError'\n"
    "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 0] Process group watchdog thread terminated with exception: CUDA "
    "error: an illegal memory access was encountered\n"
)
REMOTE = (
    "[Rank 3] NCCL watchdog thread terminated with exception: NCCL error: remote process exited or there was a network "
    "error, NCCL version 2.28.9\n"
)
STUCK = "[F ProcessGroupNCCL.cpp:1169] [PG 0 Rank 25] ProcessGroupNCCL's watchdog got stuck for 600 seconds without\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TIMEOUT, ("failed", "NCCL's watchdog ended it: allgather did not end within 60 s")),
        (OLD_TIMEOUT, ("failed", "NCCL's watchdog ended it: allreduce did not end within 10 s")),
        (CUDA, ("died", "NCCL's watchdog ended it: CUDA error: an illegal memory access was encountered")),
        (REMOTE, ("failed", "NCCL's watchdog ended it: NCCL error: remote process exited or there was a network error, "
                            "NCCL version 2.28.9")),
        (STUCK, ("failed", "NCCL's watchdog ended it: a call of CUDA or NCCL hung for 600 s")),
        ("Watchdog caught collective operation timeout: WorkNCCL(", ("failed",
         "NCCL's watchdog ended it: an operation did not end in time")),
        ("Segmentation fault", None),
    ],
)  # fmt: skip
def test_its_last_words(text: str, expected: tuple[str, str] | None) -> None:
    assert watchdog.ending(text) == expected


def ended(records: sim.Records, rank: int, text: str) -> None:
    state, why = watchdog.ending(text) or ("ok", "")
    stage = RankStage(name="C", state=state, step="all-gather", why=why, seconds=70.0)
    records[rank] = replace(records[rank], stages=(*records[rank].stages[:2], stage))


def test_those_that_waited_are_not_blamed() -> None:
    records = sim.fleet(1, 4)
    for rank in (0, 1, 3):
        ended(records, rank, TIMEOUT)
    hung = RankStage(name="C", state="hung", step="all-gather", why="no sign of life for 65 s; it was ended")
    records[2] = replace(records[2], stages=(*records[2].stages[:2], hung))
    told = [f for f in judged(records) if not f.because]
    assert [(f.id, f.ranks) for f in told] == [("fleet-rank-hung", (2,))]


def test_all_of_them_waited_and_nobody_is_blamed() -> None:
    records = sim.fleet(1, 4)
    for rank in records:
        ended(records, rank, TIMEOUT)
    told = [f for f in judged(records) if not f.because]
    assert [(f.id, f.subject) for f in told] == [("fleet-collective-failed", "fleet")]
    assert "all-gather" in told[0].text


def test_an_error_of_its_own_device_is_the_ranks() -> None:
    records = sim.fleet(1, 4)
    ended(records, 1, CUDA)
    for rank in (0, 2, 3):
        ended(records, rank, TIMEOUT)
    told = [f for f in judged(records) if not f.because]
    assert [(f.id, f.ranks) for f in told] == [("fleet-rank-died", (1,))]
    assert "illegal memory access" in told[0].text


def judged(records: sim.Records):  # type: ignore[no-untyped-def]
    expected = Expected(world=len(records), hosts={}, unreadable={})
    return judge(records.values(), expected, tool="t", taken_at="2026-11-22T10:00:00Z").findings

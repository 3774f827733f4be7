"""Ranks that share a GPU: that is named, at the rank whose variable causes it, and nothing that comes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fleet.judge.judgement import judge
from doctor.fleet.judge.ranks import Expected
from doctor.model.fleet import FleetReport, RankStage
from tests.fleet import simulated as sim

DUPLICATE = "DistBackendError: NCCL error: invalid usage. Duplicate GPU detected : rank 1 and rank 0 on one device"


def judged(records: sim.Records) -> FleetReport:
    expected = Expected(world=len(records), hosts={}, unreadable={})
    return judge(records.values(), expected, tool="t", taken_at="2026-11-22T10:00:00Z")


def told(records: sim.Records) -> list[tuple[str, str]]:
    return [(f.id, f.subject) for f in judged(records).findings if not f.because]


def with_uuids(records: sim.Records, uuids: list[str], shown: dict[int, str] | None = None) -> sim.Records:
    for rank, uuid in enumerate(uuids):
        probe = records[rank].probe
        assert probe
        config = dict(records[rank].config)
        if shown and rank in shown:
            config["CUDA_VISIBLE_DEVICES"] = shown[rank]
        words = {"uuid": uuid} if uuid else {}
        records[rank] = replace(records[rank], config=config, probe=replace(probe, words=words))
    return records


def two_on_one(*, slow: bool = True) -> sim.Records:
    """As on two GPUs of which rank 1 may use the first only: both are slow, one runs out of memory, NCCL refuses."""
    records = with_uuids(sim.fleet(1, 2), ["GPU-a", "GPU-a"], {1: "0"})
    records[1] = replace(records[1], device="cuda:0", devices_seen=1)
    if slow:
        for rank in (0, 1):
            sim.slow_gpu(records, rank, 0.5)
    stages = (*sim.OK[:2], RankStage(name="C", state="failed", step="device", why="CUDA out of memory"))
    records[1] = replace(records[1], stages=stages, pairs=(), collectives=())
    one = sim.collective("all-reduce", 2, 1 << 30, state="failed", why=DUPLICATE)
    records[0] = replace(records[0], collectives=(one,), pairs=())
    return records


def test_what_comes_of_a_hidden_gpu_accuses_nobody() -> None:
    report = judged(two_on_one())
    assert [(f.id, f.subject, f.verdict) for f in report.findings if not f.because] == [
        ("gpu-hidden", "node0000 GPU 0 (rank 1)", "fail")
    ]
    assert "rank 0 used the same GPU" in next(f.text for f in report.findings if f.id == "gpu-hidden")
    assert {f.id for f in report.findings if f.because} == {"device-crashes", "fleet-collective-failed"}
    victim = next(g for g in report.gpus if g.rank == 0)
    assert (victim.verdict, victim.why) == ("not-measured", "rank 1 used the same GPU")


@pytest.mark.parametrize("victim", [0, 1])
def test_who_ran_out_of_memory_in_stage_a_has_no_uuid(victim: int) -> None:
    """On two H200s it was once the one and once the other (torch 2.11)."""
    records = two_on_one()
    probe = records[victim].probe
    assert probe
    records[victim] = replace(
        records[victim], probe=replace(probe, status="failed", stage="memory", reason="CUDA out of memory", words={}),
        stages=(RankStage(name="A", state="failed", step="memory", why="CUDA out of memory"), *sim.OK[1:2]),
    )  # fmt: skip
    assert told(records) == [("gpu-hidden", "node0000 GPU 0 (rank 1)")]


def test_four_gpus_of_which_one_is_hidden() -> None:
    records = with_uuids(sim.fleet(1, 4), ["GPU-a", "GPU-b", "GPU-c", "GPU-a"], {3: "0"})
    records[3] = replace(records[3], device="cuda:0", devices_seen=1)
    for rank in (0, 3):
        sim.slow_gpu(records, rank, 0.6)
    for rank in records:
        one = sim.collective("all-reduce", 4, 1 << 30, state="failed", why=DUPLICATE)
        records[rank] = replace(records[rank], collectives=(one,))
    assert told(records) == [("gpu-hidden", "node0000 GPU 0 (rank 3)")]


def test_two_ranks_on_one_gpu_without_a_hidden_one() -> None:
    records = with_uuids(sim.fleet(1, 4), ["GPU-a", "GPU-b", "GPU-b", "GPU-d"])
    (finding,) = [f for f in judged(records).findings if not f.because]
    assert (finding.id, finding.ranks, finding.verdict) == ("fleet-gpu-shared", (1, 2), "fail")
    assert finding.text == "On this node ranks 1-2 use the same GPU (GPU-b)."


def test_each_rank_may_be_shown_its_own_gpu_as_number_0() -> None:
    records = with_uuids(sim.fleet(1, 4), ["GPU-a", "GPU-b", "GPU-c", "GPU-d"], dict.fromkeys(range(4), "0"))
    for rank in records:
        records[rank] = replace(records[rank], device="cuda:0", devices_seen=1)
    assert told(records) == []
    for rank in records:  # and where the driver does not say which it is
        probe = records[rank].probe
        assert probe
        records[rank] = replace(records[rank], probe=replace(probe, words={}))
    assert told(records) == []


def test_parts_of_one_gpu_are_not_the_same() -> None:
    records = with_uuids(sim.fleet(1, 4), ["GPU-a"] * 4)
    for rank in records:
        records[rank] = replace(records[rank], config={**records[rank].config, "mig": "on"})
    assert told(records) == []

"""The judgement of a fleet on simulated records: each fault at its place, nobody else accused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fleet.judge.judgement import judge, worst
from doctor.fleet.judge.ranks import Expected
from doctor.inside.fleet import rule, schedule
from doctor.model.fleet import EXIT_CODES, Collective, DeviceProbe, FleetReport, Heard, Pair, RankStage, SoakRound
from tests.fleet import simulated as sim


def judged(records: sim.Records, world: int | None = None, **expected: object) -> FleetReport:
    whole = world or max(r.world for r in records.values())
    given = Expected(world=whole, hosts=expected.get("hosts", {}), unreadable=expected.get("unreadable", {}))  # type: ignore[arg-type]
    return judge(records.values(), given, tool="t", taken_at="2026-11-22T10:02:00Z")


def told(report: FleetReport) -> list[tuple[str, str]]:
    return [(f.id, f.subject) for f in report.findings if not f.because]


@pytest.mark.parametrize("models", [("H200",), ("H200", "A100")])
@pytest.mark.parametrize("seed", range(8))
def test_a_healthy_fleet_is_not_accused(models: tuple[str, ...], seed: int) -> None:
    report = judged(sim.fleet(6, models=models, seed=seed))
    assert told(report) == []
    assert report.verdict == "pass"
    assert {n.verdict for n in report.nodes} == {"pass"}


def test_two_models_are_two_classes() -> None:
    report = judged(sim.fleet(8, models=("H200", "A100")))
    assert len(report.classes) == 2
    assert {c.nodes for c in report.classes} == {4}


def test_a_missing_node_is_a_named_failure() -> None:
    records = sim.fleet(4)
    sim.missing_node(records, "node0002")
    report = judged(records, hosts={r: f"node{r // 8:04d}" for r in range(32)})
    assert told(report) == [("fleet-rank-missing", "node0002")]
    assert report.verdict == "fail"
    assert {n.host: n.verdict for n in report.nodes}["node0002"] == "fail"


def test_a_missing_node_without_a_hostfile_is_named_by_its_ranks() -> None:
    records = sim.fleet(4)
    sim.missing_node(records, "node0002")
    assert told(judged(records, 32)) == [("fleet-rank-missing", "the node of ranks 16-23")]


@pytest.mark.parametrize("share", [0.85, 0.89])
def test_a_slow_gpu(share: float) -> None:
    records = sim.fleet(4)
    sim.slow_gpu(records, 13, share)
    report = judged(records)
    assert set(told(report)) == {("device-slow", "node0001 GPU 5 (rank 13)")}
    assert report.verdict == "degraded"


def test_few_gpus_are_held_against_the_floor_alone() -> None:
    records = sim.fleet(1, 3)
    for rank in range(3):
        sim.slow_gpu(records, rank, 0.7)
    report = judged(records)
    assert {s for i, s in told(report) if i == "device-slow"} == {f"node0000 GPU {r} (rank {r})" for r in range(3)}
    yard = next(y for y in report.classes[0].yardsticks if y.rate == "bfloat16 products")
    assert yard.basis == "floor"
    assert yard.floor_kind == "measured"


def test_all_equally_slow_is_caught_by_the_floor() -> None:
    records = sim.fleet(2)
    for rank in range(16):
        sim.slow_gpu(records, rank, 0.6)
    assert {i for i, _ in told(judged(records))} == {"device-slow"}
    assert len({s for _, s in told(judged(records))}) == 16


def test_a_nodes_adapter_and_a_single_link_are_told_apart() -> None:
    records = sim.fleet(8)
    sim.slow_network(records, "node0003")
    assert told(judged(records)) == [("fleet-node-links", "node0003")]
    records = sim.fleet(8)
    other = sim.link_to(records, "node0003")
    sim.slow_link(records, "node0003", other)
    ((id, subject),) = told(judged(records))
    assert id == "fleet-link-slow"
    assert {"node0003", other} <= set(subject.split())


def test_one_sick_node_of_four_does_not_set_the_standard() -> None:
    records = sim.fleet(4)
    sim.slow_network(records, "node0001", 0.6)
    assert told(judged(records)) == [("fleet-node-links", "node0001")]


def test_two_nodes_with_a_slow_link_accuse_neither_node() -> None:
    records = sim.fleet(2)
    sim.slow_link(records, "node0000", "node0001", 0.2)
    ((id, _),) = told(judged(records))
    assert id == "fleet-link-slow"


def test_a_slow_pair_that_is_fast_when_measured_again_is_not_accused() -> None:
    records = sim.fleet(2)
    one = records[3]
    slow = replace(one.pairs[0], gbs=100.0, median_gbs=90.0)
    records[3] = replace(one, pairs=(slow, *one.pairs[1:], replace(one.pairs[0], again=True)))
    assert told(judged(records)) == []


def test_a_changed_byte_is_not_forgiven_by_a_repetition() -> None:
    records = sim.fleet(1)
    one = records[3]
    wrong = replace(one.pairs[0], state="wrong", wrong=1, why="1 of 67108864 elements differ, the first at 7")
    records[3] = replace(one, pairs=(wrong, *one.pairs[1:], replace(one.pairs[0], again=True)))
    report = judged(records)
    assert [i for i, _ in told(report)] == ["peer-copy-broken"]
    assert report.nodes[0].verdict == "fail"


def test_a_gpu_that_is_wrong_with_several_partners_is_the_gpu() -> None:
    records = sim.fleet(1)
    for rank in (0, 2, 5):
        pairs = tuple(
            replace(p, state="wrong", wrong=1, why="1 element differs") if p.source == 4 else p
            for p in records[rank].pairs
        )
        records[rank] = replace(records[rank], pairs=pairs)
    assert told(judged(records)) == [("peer-copy-broken", "node0000 GPU 4 (rank 4)")]


def test_another_torch_and_a_lost_gpu_and_a_variable() -> None:
    records = sim.fleet(4)
    sim.other_torch(records, "node0001")
    assert told(judged(records)) == [("fleet-config-differs", "node0001")]
    records = sim.fleet(4)
    for rank in range(8, 16):
        records[rank] = replace(records[rank], config={**records[rank].config, "gpus_there": "7"})
    assert told(judged(records)) == [("fleet-gpus-missing", "node0001")]
    records = sim.fleet(4)
    records[9] = replace(records[9], config={**records[9].config, "NCCL_P2P_DISABLE": "1"})
    assert told(judged(records)) == [("fleet-config-differs", "node0001 GPU 1 (rank 9)")]


def test_of_two_ranks_that_differ_neither_is_accused() -> None:
    records = sim.fleet(1, 2)
    records[1] = replace(records[1], config={**records[1].config, "torch": "2.10.0"})
    assert told(judged(records)) == [("fleet-config-differs", "fleet")]


def test_a_hidden_gpu_is_named() -> None:
    records = sim.fleet(1, 4)
    config = {**records[3].config, "CUDA_VISIBLE_DEVICES": "0,1,2"}
    stages = (RankStage(name="A", state="failed", step="open", why="invalid device ordinal"), *sim.OK[1:])
    records[3] = replace(records[3], devices_seen=3, config=config, stages=stages)
    assert ("gpu-hidden", "node0000 GPU 3 (rank 3)") in told(judged(records))


def test_a_foreign_process_is_named_and_its_rates_are_not_judged() -> None:
    records = sim.fleet(1)
    sim.slow_gpu(records, 2, 0.5)
    probe = records[2].probe
    assert probe
    numbers = {**probe.numbers, "utilization_before_percent": 97.0}
    records[2] = replace(records[2], probe=replace(probe, numbers=numbers, busy=True))
    assert told(judged(records)) == [("gpu-busy", "node0000 GPU 2 (rank 2)")]


def test_a_clock_ten_minutes_off() -> None:
    records = sim.fleet(3, 1)
    heard = tuple(Heard(rank=r, host=f"node{r:04d}", clock_s=600.0 if r == 1 else 0.1) for r in range(3))
    records[0] = replace(records[0], heard=heard)
    assert told(judged(records)) == [("fleet-clock-differs", "node0001")]


def test_a_flipped_element_names_its_rank() -> None:
    records = sim.fleet(2)
    sim.wrong_part(records, 11)
    report = judged(records)
    assert told(report) == [("fleet-collective-wrong", "node0001 GPU 3 (rank 11)")]
    assert report.verdict == "fail"


def test_wrong_sums_without_a_source_accuse_nobody() -> None:
    records = sim.fleet(1)
    for rank in range(8):
        c = sim.collective("all-reduce", 8, 1 << 30, state="wrong", wrong=1, first_wrong=5)
        records[rank] = replace(records[rank], collectives=(c,))
    assert told(judged(records)) == [("fleet-collective-wrong", "fleet")]


@pytest.mark.parametrize(("state", "id"), [("died", "fleet-rank-died"), ("hung", "fleet-rank-hung")])
def test_who_died_or_hung_is_named_and_the_others_are_not(state: str, id: str) -> None:
    records = sim.fleet(1, 4)
    lost = Collective(name="all-reduce", state="absent", members=4, missing=(2,), why="rank 2 did not come")
    for rank in (0, 1, 3):
        late = tuple(
            replace(p, state="absent", gbs=None, why="it did not come") if p.source == 2 else p
            for p in records[rank].pairs
        )
        records[rank] = replace(records[rank], collectives=(lost,), pairs=late)
    stages = (*sim.OK[:2], RankStage(name="C", state=state, step="all-reduce", why="signal 9"))  # type: ignore[arg-type]
    records[2] = replace(records[2], stages=stages, collectives=())
    report = judged(records)
    assert told(report) == [(id, "node0000 GPU 2 (rank 2)")]
    assert report.verdict == "fail"


def test_where_all_hang_nobody_is_accused() -> None:
    records = sim.fleet(1, 4)
    for rank in records:
        stages = (*sim.OK[:2], RankStage(name="C", state="hung", step="all-reduce", why="60 s were over"))
        records[rank] = replace(records[rank], stages=stages, collectives=())
    assert [i for i, _ in told(judged(records))] == ["fleet-collective-failed"]


def test_a_record_never_finished_is_a_death() -> None:
    records = sim.fleet(2, 2)
    records[3] = replace(records[3], finished=False, stages=sim.OK[:1])
    assert told(judged(records)) == [("fleet-rank-died", "node0001 GPU 1 (rank 3)")]


def test_wrong_master_address() -> None:
    records = sim.fleet(3, 1)
    stages = (*sim.OK[:2], RankStage(name="C", state="failed", step="join", why="cannot connect to 10.9.9.9:29500"))
    config = {**records[1].config, "master": "10.9.9.9:29500"}
    records[1] = replace(records[1], stages=stages, config=config, members=None, pairs=(), collectives=())
    for rank in (0, 2):
        pairs = tuple(p for p in records[rank].pairs if p.source != 1)
        records[rank] = replace(records[rank], members=(0, 2), pairs=pairs)
    assert told(judged(records)) == [("fleet-config-differs", "node0001 GPU 0 (rank 1)")]


def test_what_was_not_measured_does_not_pass() -> None:
    records = sim.fleet(1, 2)
    records[1] = replace(records[1], collectives=(), stages=(*sim.OK[:2], RankStage(name="C", state="not-run")))
    report = judged(records)
    assert report.verdict == "not-measured"
    assert EXIT_CODES[report.verdict] == 3


def test_an_unwritable_folder_and_a_damaged_record_are_named() -> None:
    records = sim.fleet(1, 4)
    del records[2], records[3]
    records[0] = replace(records[0], heard=(Heard(rank=2, host="node0000", problem="cannot write to /out: Read-only"),))
    report = judged(records, 4, unreadable={3: "it is not JSON"})
    assert sorted(i for i, _ in told(report)) == ["fleet-output-unwritable", "fleet-record-damaged"]
    assert report.verdict == "not-measured"


def test_a_record_of_an_earlier_run_does_not_speak_for_a_rank() -> None:
    records = sim.fleet(1, 4)
    old = replace(records.pop(2), nonce="old", started_at="2026-11-21T10:00:00Z")
    records = {r: replace(x, members=(0, 1, 3)) for r, x in records.items()}
    report = judge([*records.values(), old], Expected(world=4, hosts={}, unreadable={}), tool="t", taken_at="x")
    assert told(report) == [("fleet-rank-missing", "node0000")]
    assert any("earlier run" in note for note in report.notes)


def test_a_full_dev_shm() -> None:
    records = sim.fleet(2, 2)
    records[3] = replace(records[3], config={**records[3].config, "shm_free_bytes": "4096"})
    assert told(judged(records)) == [("shared-memory-too-small", "node0001")]


def test_a_soak_names_a_rate_that_fell() -> None:
    records = sim.fleet(1, 2)
    fell = tuple(SoakRound(at_s=i * 20.0, tflops=700.0 if i < 10 else 560.0) for i in range(20))
    even = tuple(SoakRound(at_s=i * 20.0, tflops=700.0 + i % 3) for i in range(20))
    records[0], records[1] = replace(records[0], soak=even), replace(records[1], soak=fell)
    assert told(judged(records)) == [("fleet-drift", "node0000 GPU 1 (rank 1)")]


def test_the_order_of_verdicts() -> None:
    assert worst(["pass", "degraded", "not-measured", "fail"]) == "fail"
    assert worst(["pass", "degraded", "not-measured"]) == "not-measured"
    assert worst([]) == "not-measured"
    assert [EXIT_CODES[v] for v in ("pass", "degraded", "fail", "not-measured")] == [0, 1, 2, 3]


@pytest.mark.parametrize("count", range(1, 18))
def test_a_one_factorisation_meets_every_pair_once(count: int) -> None:
    met = [frozenset(pair) for one in schedule.rounds(count) for pair in one]
    assert len(met) == len(set(met)) == count * (count - 1) // 2
    for one in schedule.rounds(count):
        ends = [end for pair in one for end in pair]
        assert len(ends) == len(set(ends))


def test_rounds_between_nodes_are_few_and_partners_differ() -> None:
    hosts = [f"n{i // 2}" for i in range(40)]
    steps = [s for s in schedule.steps(hosts, 4) if s[0] == "between"]
    assert len(steps) == 4
    assert len({hosts[partner[0]] for _, partner in steps}) == 4


def test_threshold_and_culprits() -> None:
    assert rule.threshold([1.0, 1.0, 1.0], 0.05) is None
    assert rule.threshold([1.0] * 4, 0.05) == pytest.approx(0.95)
    assert rule.threshold([1.0, 0.9, 1.1, 1.0], 0.05) == pytest.approx(1 - 3 * 1.4826 * 0.05)
    everyone = [(a, b) for a in range(4) for b in range(a)]
    assert rule.culprits(everyone, [(0, 1), (2, 0), (0, 3)]) == ([0], [])
    assert rule.culprits(everyone, [(0, 1)]) == ([], [(0, 1)])
    assert rule.culprits(everyone, []) == ([], [])


def test_a_pair_measured_while_waiting_for_a_cpu_is_not_judged() -> None:
    records = sim.fleet(3, 1)
    slow = tuple(replace(p, gbs=0.01, median_gbs=0.01, disturbed=True, most_gbs=p.gbs) for p in records[0].pairs)
    records[0] = replace(records[0], pairs=slow)
    assert told(judged(records)) == []


def test_a_pair_that_is_slow_even_without_the_time_that_it_waited_is_slow() -> None:
    records = sim.fleet(3, 1)
    assert isinstance(records[0].pairs[0], Pair)
    slow = replace(records[0].pairs[0], gbs=0.01, median_gbs=0.01, disturbed=True, most_gbs=0.02)
    records[0] = replace(records[0], pairs=(slow, *records[0].pairs[1:]))
    assert [i for i, _ in told(judged(records))] == ["fleet-link-slow"]


def test_of_ranks_that_hang_in_one_operation_the_one_that_is_elsewhere_is_named() -> None:
    records = sim.fleet(1, 4)
    for rank in records:
        frame = "<string>: busy" if rank == 2 else "torch/cuda/__init__.py: synchronize"
        stages = (*sim.OK[:2], RankStage(name="C", state="hung", step="all-gather", why="no sign of life", frame=frame))
        records[rank] = replace(records[rank], stages=stages, collectives=())
    assert told(judged(records)) == [("fleet-rank-hung", "node0000 GPU 2 (rank 2)")]


def test_a_hidden_gpu_explains_the_failed_probe() -> None:
    records = sim.fleet(1, 4)
    probe = records[3].probe
    assert probe
    records[3] = replace(
        records[3], devices_seen=3, config={**records[3].config, "CUDA_VISIBLE_DEVICES": "0,1,2"},
        probe=replace(probe, status="failed", stage="open", reason="torch sees 3 devices"),
    )  # fmt: skip
    assert told(judged(records)) == [("gpu-hidden", "node0000 GPU 3 (rank 3)")]


def test_two_that_wait_for_each_other_without_end_are_a_link() -> None:
    records = sim.fleet(1, 4)
    for rank in (1, 3):
        stages = (*sim.OK[:2], RankStage(name="C", state="hung", step="pair 1-3", why="no sign of life"))
        records[rank] = replace(records[rank], stages=stages, collectives=())
    ((id, subject),) = told(judged(records))
    assert id == "fleet-link-broken"
    assert "rank 1" in subject
    assert "rank 3" in subject


def test_a_torch_that_does_not_import_is_one_finding() -> None:
    records = sim.fleet(1, 4)
    reason = "the module named torch is not PyTorch"
    stages = (
        RankStage(name="A", state="failed", step="import", why=reason), sim.OK[1],
        RankStage(name="C", state="failed", step="import", why=reason),
    )  # fmt: skip
    probe = DeviceProbe(status="failed", stage="import", reason=reason)
    records[2] = replace(records[2], stages=stages, probe=probe, members=None, pairs=(), collectives=())
    assert told(judged(records)) == [("torch-install-broken", "node0000 (rank 2)")]
    crashed = RankStage(name="A", state="died", step="import", why="ended by signal 11 (SIGSEGV)")
    records[2] = replace(records[2], stages=(crashed, *stages[1:]), probe=replace(probe, status="crashed"))
    assert told(judged(records)) == [("torch-import-crashes", "node0000 GPU 2 (rank 2)")]


def test_a_device_that_fails_after_the_rendezvous_is_no_rendezvous_that_failed() -> None:
    records = sim.fleet(1, 4)
    failed = RankStage(name="C", state="failed", step="device", why="AcceleratorError: CUDA error: out of memory")
    records[2] = replace(records[2], stages=(*sim.OK[:2], failed), pairs=(), collectives=())
    assert told(judged(records)) == [("device-crashes", "node0000 GPU 2 (rank 2)")]


def test_a_cpu_is_slow_only_where_both_measurements_say_so() -> None:
    def cpus(*rates: tuple[float, int, float, int]) -> sim.Records:
        records = sim.fleet(len(rates), 1)
        for rank, (one, agreeing, again, agreeing_again) in enumerate(rates):
            numbers = {
                "float32_tflops_one_thread": one, "float32_agreeing_one_thread_count": float(agreeing),
                "float32_tflops_one_thread_again": again,
                "float32_agreeing_one_thread_again_count": float(agreeing_again),
            }  # fmt: skip
            records[rank] = replace(
                records[rank], device="cpu", name="EPYC", backend="gloo", memory_bytes=None, devices_seen=None,
                probe=DeviceProbe(status="ok", numbers=numbers, busy=True),
            )  # fmt: skip
        return records

    good = (0.103, 30, 0.1031, 25)
    assert told(judged(cpus(good, good, good, good, (0.0873, 12, 0.0875, 9)))) == [
        ("device-slow", "node0004 CPU (rank 4)")
    ]
    assert told(judged(cpus(good, good, good, good, (0.0873, 12, 0.1029, 9)))) == [], "slow once is bad luck"
    lucky = judged(cpus(good, good, good, good, (0.0873, 2, 0.0860, 1)))
    assert told(lucky) == [], "no rate was reached repeatedly"
    assert lucky.gpus[4].verdict == "not-measured"
    assert lucky.gpus[4].why.startswith("noisy: other work kept it from its CPU")
    scattered = judged(cpus(good, (0.0868, 9, 0.086, 9), (0.0973, 9, 0.0973, 9), good, (0.0873, 20, 0.0873, 9)))
    assert told(scattered) == []
    assert {g.rank: g.verdict for g in scattered.gpus} == {
        0: "pass", 1: "not-measured", 2: "pass", 3: "pass", 4: "not-measured"
    }
    assert "differ too much" in scattered.gpus[4].why

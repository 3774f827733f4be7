"""Verdicts follow the intervals: they hold both ways, and runs of the same thing are not called different."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.bench import intervals
from doctor.bench.compare import SAME, compare, merge, verdict_of
from doctor.bench.statistics import interval, median
from doctor.model.bench import BenchReport, Conditions, Gate
from tests.bench.samples import FIVE, HALVES, MACHINE, MS, VGG, report, row, timing

OPPOSITE = {"FASTER": "SLOWER", "SLOWER": "FASTER", "SAME": "SAME", "UNSURE": "UNSURE"}


def one(old_ms: float, new_ms: float, old_half: float = 0.01, new_half: float = 0.01) -> str:
    compared = compare(report(row(ms=old_ms, half=old_half)), report(row(ms=new_ms, half=new_half))).rows
    assert len(compared) == 1
    return compared[0].verdict


@given(MS, MS, HALVES, HALVES)
def test_the_other_way_round_is_the_opposite(old: float, new: float, old_half: float, new_half: float) -> None:
    assert one(new, old, new_half, old_half) == OPPOSITE[one(old, new, old_half, new_half)]


@given(MS, HALVES)
def test_with_itself_it_is_the_same_or_unsure(ms: float, half: float) -> None:
    assert one(ms, ms, half, half) in ("SAME", "UNSURE")
    assert one(ms, ms, 0.004, 0.004) == "SAME"


@given(MS, st.floats(min_value=1.1, max_value=100), st.floats(min_value=1e-4, max_value=0.02))
def test_a_difference_beyond_the_intervals_is_seen(ms: float, factor: float, half: float) -> None:
    assert one(ms, ms * factor, half, half) == "SLOWER"
    assert one(ms * factor, ms, half, half) == "FASTER"


@given(MS, MS, HALVES, HALVES)
def test_the_ratio_lies_in_its_interval(old: float, new: float, old_half: float, new_half: float) -> None:
    ratio, low, high = intervals.ratio_of(row(ms=new, half=new_half), row(ms=old, half=old_half))
    assert low <= ratio * (1 + 1e-6) + 1e-9
    assert high >= ratio * (1 - 1e-6) - 1e-9
    assert ratio == pytest.approx(new / old)


@given(st.floats(min_value=0.01, max_value=100), st.floats(min_value=1.0, max_value=3))
def test_a_wider_interval_never_makes_a_verdict_firmer(low: float, wide: float) -> None:
    high = low * wide
    if verdict_of(low, high) == "UNSURE":
        assert verdict_of(low / 1.1, high * 1.1) == "UNSURE"


def test_small_differences_are_none() -> None:
    assert one(100, 100 * SAME * 0.999, 0.0001, 0.0001) in ("SAME", "UNSURE")
    assert one(100, 101, 0.001, 0.001) == "SAME"


# Medians in ms of `mlp` forward-backward, batch 1024, in 19 runs on an idle H200 with 16 virtual CPUs (2026-11-22).
LAUNCHES_MS = (
    0.798, 0.790, 0.775, 0.910, 0.937, 0.695, 0.730, 0.638, 0.670, 0.635, 0.662, 0.693, 0.607, 0.693, 0.753, 0.661,
    0.656, 0.657, 0.692,
)  # fmt: skip


def launched(ms: float) -> BenchReport:
    return report(replace(row(ms=ms, half=0.03), bound="overhead"))


def test_launching_kernels_takes_another_time_in_every_run() -> None:
    pairs = [(old, new) for old in LAUNCHES_MS for new in LAUNCHES_MS if old != new]
    verdicts = [compare(launched(old), launched(new)).rows[0].verdict for old, new in pairs]
    assert sum(v in ("FASTER", "SLOWER") for v in verdicts) <= 0.05 * len(pairs)
    assert compare(launched(0.7), launched(1.4)).rows[0].verdict == "SLOWER"


# The same on 4 of 32 virtual CPUs, while other programs used up to 20 of them, in 21 runs.
CROWDED_MS = (
    8.238, 6.793, 6.515, 9.267, 6.65, 10.67, 5.872, 5.769, 6.226, 6.269, 6.232, 6.327, 7.901, 7.655, 7.164, 6.122,
    6.28, 5.477, 5.676, 6.14, 6.408,
)  # fmt: skip


def test_other_programs_on_the_cpus_make_another_time_in_every_run() -> None:
    def crowded(ms: float) -> BenchReport:
        return report(row(ms=ms, half=0.03, conditions=Conditions(others_share=0.4)))

    pairs = [(old, new) for old in CROWDED_MS for new in CROWDED_MS if old != new]
    compared = [compare(crowded(old), crowded(new)).rows[0] for old, new in pairs]
    assert sum(c.verdict in ("FASTER", "SLOWER") for c in compared) <= 0.05 * len(pairs)
    assert compare(crowded(5.0), crowded(11.0)).rows[0].verdict == "SLOWER"
    assert "other programs on the CPUs: 40 % of them then, 40 % now" in compared[0].changed
    on_gpu = row(ms=5.0, conditions=Conditions(others_share=0.4))
    assert compare(report(replace(on_gpu, device="cuda:0")), report(replace(on_gpu, device="cuda:0"))).rows[0].low > 0.9


# The same on 4 of 32 virtual CPUs, of which at most a tenth were in use, in 21 runs (2026-11-23).
VIRTUAL_MS = (
    6.34, 6.701, 6.885, 6.765, 6.864, 7.586, 7.785, 7.179, 7.777, 6.447, 8.749, 6.628, 7.841, 7.09, 7.064, 11.53, 7.863,
    6.914, 8.01, 7.131, 6.811,
)  # fmt: skip


def test_what_shares_the_processors_of_a_virtual_machine_is_not_seen() -> None:
    def virtual(ms: float) -> BenchReport:
        made = report(row(ms=ms, half=0.03))
        return replace(made, machine=replace(made.machine, virtual_machine="kvm"))

    pairs = [(old, new) for old in VIRTUAL_MS for new in VIRTUAL_MS if old != new]
    verdicts = [compare(virtual(old), virtual(new)).rows[0].verdict for old, new in pairs]
    assert sum(v in ("FASTER", "SLOWER") for v in verdicts) <= 0.05 * len(pairs)
    assert compare(virtual(5.0), virtual(11.0)).rows[0].verdict == "SLOWER"
    own = [compare(report(row(ms=old, half=0.03)), report(row(ms=new, half=0.03))).rows[0] for old, new in pairs]
    assert sum(one.verdict in ("FASTER", "SLOWER") for one in own) > 0.2 * len(pairs)


def test_a_drift_between_rounds_widens_the_interval() -> None:
    steady = row(ms=100.0)
    drifting = replace(row(ms=106.0), timing=timing(106.0, rounds_ms=(100.0, 112.0)))
    _, low, _ = intervals.ratio_of(drifting, steady)
    assert verdict_of(low, 1.2) == "UNSURE"
    assert verdict_of(*intervals.ratio_of(row(ms=106.0), steady)[1:]) == "SLOWER"


def test_waiting_for_a_cpu_that_others_used_widens_the_interval() -> None:
    """Half of the time of the slower run was waiting: on an idle machine it would have been as fast."""
    idle = row(ms=100.0)
    waiting = row(ms=180.0, threads=2, conditions=Conditions(cpus_used=1.0, cpus_waited=0.5))
    (verdict,) = compare(report(idle), report(waiting)).rows
    assert verdict.verdict == "UNSURE"
    assert "0 % of the time then, 25 % now" in verdict.changed[0]
    assert compare(report(idle), report(row(ms=250.0, conditions=waiting.conditions))).rows[0].verdict == "SLOWER"
    assert compare(report(waiting), report(idle)).rows[0].verdict == "UNSURE"
    calm = row(ms=180.0, conditions=Conditions(cpus_used=1.0, cpus_waited=0.01))
    assert compare(report(idle), report(calm)).rows[0].verdict == "SLOWER"


def test_two_runs_of_one_program_are_rarely_called_different() -> None:
    """400 pairs of runs of one noisy program, whose speed itself differs by a per cent between runs."""
    chance, false = random.Random(14), 0

    def run() -> tuple[float, float, float]:
        level = chance.gauss(1.0, 0.01)
        blocks = [level * (1 + abs(chance.gauss(0, 0.03))) for _ in range(60)]
        return (median(blocks), *interval(blocks))

    for _ in range(400):
        (a, a_low, a_high), (b, b_low, b_high) = run(), run()
        old = replace(row(), timing=replace(timing(a), low_ms=a_low, high_ms=a_high, rounds_ms=()))
        new = replace(row(), timing=replace(timing(b), low_ms=b_low, high_ms=b_high, rounds_ms=()))
        false += verdict_of(*intervals.ratio_of(new, old)[1:]) in ("FASTER", "SLOWER")
    assert false <= 0.05 * 400


def test_what_cannot_be_compared_says_why() -> None:
    old = report(row(), row("lenet5"), row("vae"), row("mlp"), row("resnet18"))
    new = report(
        row(ms=None), replace(row("lenet5"), method=2), replace(row("vae"), batch=16), row("alexnet"), row("resnet18")
    )
    compared = {c.key.split("/")[0]: c for c in compare(old, new).rows}
    assert {k: c.verdict for k, c in compared.items() if k != "resnet18"} == dict.fromkeys(
        ("vgg16", "lenet5", "vae", "alexnet", "mlp"), "NOT COMPARED"
    )
    assert compared["vgg16"].lost
    assert "all zero" in compared["vgg16"].why
    assert "other methods (1 and 2)" in compared["lenet5"].why
    assert compared["vae"].why == "the batch was 32 and is 16"
    assert compared["alexnet"].why == "only in the new report"
    assert compared["mlp"].why == "only in the old report"
    assert not any(c.lost for k, c in compared.items() if k != "vgg16")


def test_what_else_changed_is_named() -> None:
    slow = replace(VGG.rows[1], conditions=Conditions(clock_mhz=900.0, tf32=False, throttles=(), busy=True))
    machine = replace(MACHINE, torch="2.12.0+cu130", driver=None, environ=(("OMP_NUM_THREADS", "1"),))
    result = compare(VGG, replace(VGG, machine=machine, rows=(VGG.rows[0], slow)))
    assert {(c.what, c.old, c.new) for c in result.changes} == {
        ("torch", "2.11.0+cu130", "2.12.0+cu130"), ("driver", "580.159", None), ("OMP_NUM_THREADS", "not set", "1"),
    }  # fmt: skip
    said = " ".join(result.rows[1].changed)
    assert "clock 1755 then, 900 MHz now" in said
    assert "TF32: yes then, no now" in said
    assert "held back by power cap then, nothing now" in said


def test_nothing_changed_is_nothing_said() -> None:
    result = compare(FIVE, FIVE)
    assert result.changes == ()
    assert {c.verdict for c in result.rows} == {"SAME"}


# ---- many machines


def test_rows_of_different_methods_never_share_a_table() -> None:
    newer = replace(FIVE, rows=tuple(replace(r, method=2) for r in FIVE.rows))
    merged = merge([FIVE, newer, VGG])
    assert [t.method for t in merged.tables] == [2, 1]
    for table in merged.tables:
        assert all(r.method == table.method for e in table.entries for r in e.rows if r)
        assert all(len(e.rows) == len(table.columns) for e in table.entries)


@given(st.lists(st.sampled_from((VGG, FIVE, report())), max_size=5))
def test_nothing_is_lost_or_doubled(reports: list[BenchReport]) -> None:
    merged = merge(reports)
    assert sum(len(r.rows) for r in reports) == sum(
        row is not None for t in merged.tables for e in t.entries for row in e.rows
    )


def test_equal_machines_are_numbered() -> None:
    columns = merge([FIVE, FIVE]).tables[0].columns
    assert [c.machine for c in columns if c.device != "cpu"] == ["NVIDIA H200", "NVIDIA H200 (2)"]


def test_suites_of_one_machine_share_a_column() -> None:
    columns = merge([FIVE, VGG]).tables[0].columns
    assert [c.machine for c in columns if c.device != "cpu"] == ["NVIDIA H200"]
    other = replace(VGG, machine=replace(MACHINE, torch="2.12.0"))
    assert len([c for c in merge([FIVE, other]).tables[0].columns if c.device != "cpu"]) == 2


def test_a_processor_is_named_with_the_threads_that_ran() -> None:
    [column] = merge([report(replace(row(), threads=1))]).tables[0].columns
    assert column.machine == "Intel(R) Xeon(R) Platinum 8480C, 1 thread"


def test_a_row_without_a_time_is_kept() -> None:
    bad = replace(row(ms=None), gate=Gate(status="INVALID", why="x"))
    [entry] = merge([report(bad)]).tables[0].entries
    assert entry.rows == (bad,)

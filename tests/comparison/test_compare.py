"""What a comparison finds, and that it says so only where it is so."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.accounting.judgement import judged
from doctor.comparison import compare
from doctor.comparison.subjects import _SINGLE, differing, subjects, value_of, with_value
from doctor.model.compare import RANKS, Comparison
from doctor.model.facts import Facts
from doctor.reports.leaves import leaves
from tests.comparison.machines import (
    BOTH,
    CPU_BUILD,
    FLEET,
    GOOD,
    HIDDEN,
    LIKELY,
    OLD_DRIVER,
    OPEN,
    SERIAL,
    facts,
    report,
)
from tests.sample import examples


def explained(comparison: Comparison) -> dict[str, set[str]]:
    """Finding -> the subjects that explain it."""
    found: dict[str, set[str]] = {}
    for difference in comparison.differences:
        for one in difference.explains:
            found.setdefault(one.finding, set()).add(difference.subject)
    return found


@pytest.mark.parametrize(
    ("bad", "finding", "subject"),
    [
        (OLD_DRIVER, "nvidia-driver-too-old", "nvidia-driver"),
        (HIDDEN, "gpu-hidden", "environ.CUDA_VISIBLE_DEVICES"),
        (CPU_BUILD, "torch-cpu-only", "torch-build"),
    ],
)
def test_the_cause_is_named_first(bad, finding: str, subject: str) -> None:
    comparison = compare([GOOD, bad])
    assert explained(comparison)[finding] == {subject}
    assert comparison.differences[0].subject == subject
    assert not comparison.unexplained


def test_it_does_not_matter_who_comes_first() -> None:
    one, other = compare([GOOD, HIDDEN]), compare([HIDDEN, GOOD])
    assert explained(one) == explained(other)
    assert {d.subject for d in one.differences} == {d.subject for d in other.differences}


def test_two_causes_are_told_apart() -> None:
    found = explained(compare([GOOD, BOTH]))
    assert found["companion-mismatch"] == {"packages.torchvision"}
    assert found["nvidia-driver-too-old"] == {"nvidia-driver"}
    assert "packages.numpy" not in set().union(*found.values())


def test_what_is_only_likely_is_explained_by_what_it_was_concluded_from() -> None:
    [finding] = [f for f in LIKELY.findings if f.confidence == "likely"]
    assert explained(compare([GOOD, LIKELY]))[finding.id] == {"container"}


def test_what_follows_is_no_cause() -> None:
    """torch sees no device on the bad machine: that is what is to be explained."""
    comparison = compare([GOOD, OLD_DRIVER])
    ranks = {d.subject: d.rank for d in comparison.differences}
    assert ranks["cuda-available"] == ranks["torch-devices"] == "follows"


def test_equal_machines_do_not_differ() -> None:
    comparison = compare([GOOD, GOOD])
    assert comparison.differences == ()
    assert [m.name for m in comparison.machines] == ["his.json", "his.json (2)"]
    assert len(comparison.groups) == 1
    assert compare([GOOD, SERIAL]).differences == ()  # the GPU's own number is no difference


def test_what_is_not_known_is_no_difference() -> None:
    unknown = replace(GOOD, facts=replace(GOOD.facts, nvidia=replace(GOOD.facts.nvidia, driver=None, driver_cuda=None,
                                                                     kernel_module=None, library=None)))  # fmt: skip
    comparison = compare([OLD_DRIVER, unknown])
    assert all("nvidia.driver" not in d.facts for d in comparison.differences)


def test_a_finding_without_a_difference_is_called_unexplained() -> None:
    """The same facts but what torch says: nothing that can be changed differs."""
    hidden = replace(HIDDEN, findings=HIDDEN.findings)
    same_variable = replace(GOOD, facts=replace(GOOD.facts, environ=HIDDEN.facts.environ))
    [left] = [u for u in compare([same_variable, hidden]).unexplained if u.finding == "gpu-hidden"]
    assert left.machine == "mine.json"


def test_no_verdict_is_not_explained_away() -> None:
    comparison = compare([GOOD, OPEN])
    assert not explained(comparison)
    assert {d.rank for d in comparison.differences} <= {"follows"}


def test_many_machines_make_groups() -> None:
    comparison = compare(FLEET)
    first, *others = comparison.groups
    assert set(first.machines) == {f"node{n}.json" for n in (0, 1, 2, 3, 4, 7)}
    assert not first.odd
    assert {group.machines: group.findings for group in others} == {
        ("node5.json",): ("gpu-hidden",), ("node6.json",): ("nvidia-driver-too-old",),
    }  # fmt: skip
    assert all(group.odd for group in others)
    assert explained(comparison) == {
        "gpu-hidden": {"environ.CUDA_VISIBLE_DEVICES"}, "nvidia-driver-too-old": {"nvidia-driver"},
    }  # fmt: skip
    python = next(d for d in comparison.differences if d.subject == "python")
    assert [v.machines for v in python.values][1] == ("node7.json",)


def test_every_fact_is_compared() -> None:
    """No field is in two subjects, and each leaf of the facts is in one or left out on purpose."""
    table = subjects((GOOD.facts, HIDDEN.facts))
    fields = [field for subject in table for field in subject.fields]
    assert len(fields) == len(set(fields))
    assert len({subject.id for subject in table}) == len(table)
    apart = ("live", "as_of", "operations", "threads", "signs", "asked_devices", "nvidia.sources", "amd.sources",
             "intel.sources")  # fmt: skip
    for name, _ in leaves(GOOD.facts):
        if not name.startswith(apart):
            assert any(name == f or name.startswith(f"{f}.") or f.startswith(f"{name}.") for f in fields), name
    assert _SINGLE


CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "driver": st.sampled_from(["470.256.02", "525.60.13", "550.90.07", "580.65.06"]),
        "torch": st.sampled_from(["2.6.0+cu124", "2.6.0+cpu", "1.12.1+cu102", "2.11.0+cu130"]),
        "works": st.booleans(),
        "python": st.sampled_from(["3.9.1", "3.12.4", "3.14.0"]),
        "numpy": st.sampled_from(["1.26.4", "2.1.3"]),
        "name": st.sampled_from(["NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 5090", "NVIDIA GeForce GTX 1080 Ti"]),
        "environ": st.sampled_from([{}, {"CUDA_VISIBLE_DEVICES": "-1"}, {"CUDA_VISIBLE_DEVICES": "0"}]),
    },
)


@given(st.lists(CHANGES, min_size=2, max_size=4))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_the_machines_are(changes: list[dict[str, object]]) -> None:
    machines = [report(facts(**one), f"m{n}") for n, one in enumerate(changes)]  # type: ignore[arg-type]
    comparison = compare(machines)
    names = {machine.name for machine in comparison.machines}
    ranks = [RANKS.index(d.rank) for d in comparison.differences]
    assert ranks == sorted(ranks)
    assert sorted(itertools.chain(*(g.machines for g in comparison.groups))) == sorted(names)
    by_name = {m.target.evidence[0]: m for m in machines}
    for difference in comparison.differences:
        told = [name for value in difference.values for name in value.machines]
        assert sorted((*told, *difference.unknown)) == sorted(names), "one value a machine, or none known"
        assert len(difference.values) > 1
        assert len({value.text for value in difference.values}) == len(difference.values)
        for one in difference.explains:  # proven, not guessed
            has, lacks = by_name[one.machine], by_name[one.reference]
            assert one.finding in {f.id for f in has.findings}
            assert one.finding not in {f.id for f in lacks.findings}
            if not one.together_with:
                subject = next(s for s in subjects((has.facts, lacks.facts)) if s.id == difference.subject)
                again = judged(with_value(has.facts, lacks.facts, subject))
                assert one.finding not in {f.id for f in again.account.findings}


@given(CHANGES, CHANGES)
@settings(max_examples=examples(25), deadline=None)
def test_taking_all_values_leaves_no_difference(one: dict[str, object], other: dict[str, object]) -> None:
    mine, theirs = facts(**one), facts(**other)  # type: ignore[arg-type]
    made: Facts = mine
    for subject in subjects((mine, theirs)):
        made = with_value(made, theirs, subject)
    for subject in subjects((made, theirs)):
        assert differing(subject, made, theirs) == (), subject.id
        for field in subject.fields:
            if value_of(theirs, field) is not None:
                assert value_of(made, field) == value_of(theirs, field)

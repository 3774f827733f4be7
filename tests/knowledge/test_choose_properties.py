"""What must hold for every machine, whatever the tables say."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.knowledge import lookup
from doctor.knowledge.choose import Choice, choose
from doctor.model.facts import Facts, Gpu, Nvidia
from tests.examples import linux, windows
from tests.knowledge.random_machines import CAPABILITIES, DRIVERS, GFX, PYTHONS, WINDOWS_DRIVERS, with_python

few = settings(max_examples=40, deadline=None, derandomize=True)
cards = st.lists(st.sampled_from(CAPABILITIES), min_size=1, max_size=3)
pythons = st.sampled_from(PYTHONS)


def machine(names: list[str], driver: str | None, python: str, on: Facts) -> Facts:
    gpus = tuple(Gpu(vendor="nvidia", name=f"card {i} of {c}", capability=c) for i, c in enumerate(names))
    return replace(with_python(on, python), gpus=gpus, nvidia=Nvidia(driver=driver))


def complete(choice: Choice) -> set[tuple[str, str]]:
    """The builds that leave nothing out."""
    return {(b.release, b.backend) for b in choice.builds if not b.leaves_out}


def known_by(driver: str, capability: str) -> bool:
    """Whether no branch after that of the driver is needed, and none before it was the last, for a GPU (Linux)."""
    first, last = lookup.branches_of(capability)
    branch = int(driver.split(".")[0])
    return (first is None or branch >= first) and (last is None or branch <= last)


@few
@given(cards, st.sampled_from(DRIVERS), st.sampled_from(DRIVERS), pythons)
def test_a_newer_driver_never_loses_a_build(names: list[str], one: str, other: str, python: str) -> None:
    older, newer = sorted((one, other), key=lambda d: [int(n) for n in d.split(".")])
    if all(known_by(newer, c) for c in names):
        before = complete(choose(machine(names, older, python, linux())))
        after = complete(choose(machine(names, newer, python, linux())))
        assert before <= after


@few
@given(cards, st.sampled_from(CAPABILITIES), st.sampled_from(WINDOWS_DRIVERS), pythons)
def test_another_card_never_adds_a_complete_build(names: list[str], more: str, driver: str, python: str) -> None:
    fewer = complete(choose(machine(names, driver, python, windows())))
    assert complete(choose(machine([*names, more], driver, python, windows()))) <= fewer


@few
@given(st.lists(st.sampled_from(GFX), min_size=1, max_size=3), st.sampled_from(GFX), pythons)
def test_another_amd_card_never_adds_a_complete_build(names: list[str], more: str, python: str) -> None:
    def of(gfx: list[str]) -> set[tuple[str, str]]:
        gpus = tuple(Gpu(vendor="amd", name=f"card {i} of {g}", gfx=g) for i, g in enumerate(gfx))
        return complete(choose(replace(with_python(linux(), python), gpus=gpus)))

    assert of([*names, more]) <= of(names)


@few
@given(cards, st.sampled_from((None, *DRIVERS)), pythons)
def test_every_card_is_covered_or_named(names: list[str], driver: str | None, python: str) -> None:
    facts = machine(names, driver, python, linux())
    for build in choose(facts).builds:
        assert set(build.covers) | set(build.leaves_out) == {g.name for g in facts.gpus or ()}
        assert not set(build.covers) & set(build.leaves_out)


@few
@given(cards, st.sampled_from((None, *DRIVERS)), pythons)
def test_only_what_the_tables_have(names: list[str], driver: str | None, python: str) -> None:
    choice = choose(machine(names, driver, python, linux()), companions=("torchvision", "torchaudio"))
    nearest = [n.candidate for n in choice.nearest if n.candidate]
    for build in (*choice.builds, *nearest):
        assert build.release in lookup.torch_versions()
        assert lookup.published(build.release, build.backend, "linux_x86_64") != "no"
        assert build.index in (None, lookup.index_url(build.backend, build.release))
        assert all(lookup.companion(build.release, name) == version for name, version in build.companions)


@few
@given(cards, st.sampled_from(DRIVERS), pythons)
def test_where_nothing_serves_something_is_offered(names: list[str], driver: str, python: str) -> None:
    choice = choose(machine(names, driver, python, linux()))
    assert choice.builds or choice.nearest


@few
@given(cards, st.sampled_from(DRIVERS), pythons)
def test_what_is_offered_for_the_driver_helps(names: list[str], driver: str, python: str) -> None:
    """A driver of the version that is offered does serve the candidate that is promised."""
    facts = machine(names, driver, python, linux())
    for near in choose(facts).nearest:
        if near.kind == "driver" and near.candidate:
            details = dict(near.details)
            with_it = replace(facts, nvidia=Nvidia(driver=details["minimum"]))
            offered = {(b.release, b.backend) for b in choose(with_it).builds}
            assert (near.candidate.release, near.candidate.backend) in offered

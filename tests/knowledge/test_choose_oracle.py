"""Random machines, 2,400 in all: the choice against the oracle's brute force over the same tables."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from doctor.knowledge.choose import choose
from doctor.knowledge.choosing import avoiding
from doctor.model.facts import ABSENT, Gpu, Nvidia
from tests.examples import linux
from tests.knowledge import oracle
from tests.knowledge.random_machines import MAKERS
from tests.sample import drawn


@pytest.fixture(autouse=True)
def without_errata(monkeypatch):
    """The oracle's newest is always its best; that errata come into it is tested in test_errata.py."""
    monkeypatch.setattr(avoiding, "grave", lambda *_: [])


@pytest.mark.parametrize("seed", drawn(6, range(24), "oracle"))
def test_random_machines(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(100):
        facts, machine = chance.choice(MAKERS)(chance)
        newest, right = oracle.best(machine)
        chosen = choose(facts).best
        if newest is None:
            assert chosen is None, (machine, chosen)
            continue
        assert chosen is not None, (machine, newest)
        assert chosen.release == newest, (machine, chosen)
        assert (chosen.release, chosen.backend) in right, (machine, chosen)


@pytest.mark.parametrize("seed", range(6))
def test_every_build_offered_works(seed: int) -> None:
    """Not only the first: whatever stands in `builds` runs, and names what it leaves out."""
    chance = random.Random(1000 + seed)
    for _ in range(50):
        facts, machine = chance.choice(MAKERS)(chance)
        found = oracle.works(machine)
        for build in choose(facts).builds:
            assert (build.release, build.backend) in found, (machine, build)
            if machine.cards:
                served, _ = found[(build.release, build.backend)]
                assert len(build.covers) == served, (machine, build)
                assert sorted((*build.covers, *build.leaves_out)) == sorted(str(g.name) for g in facts.gpus or ())


def test_no_driver_means_no_cuda_build() -> None:
    facts = replace(linux(), gpus=(Gpu(vendor="nvidia", name="x", capability="8.9"),), nvidia=Nvidia(driver=ABSENT))
    assert choose(facts).builds == ()

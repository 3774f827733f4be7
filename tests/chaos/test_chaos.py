"""A few dozen runs of scripts/prove_chaos.py, and the laws themselves: each must be able to be broken."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from random import Random

import pytest

from doctor.model.facts import ABSENT
from tests.chaos.faults import FAULTS
from tests.chaos.laws import broken
from tests.chaos.played import Machine, is_probe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the recorded tools are shell scripts")
NAME = "linux-rtx5090-driver-610"


@cache
def machine(name: str = NAME) -> Machine:
    return Machine.recorded(name)


def test_what_is_played_is_a_healthy_machine() -> None:
    assert machine().healthy.verdict == "healthy"
    assert not list(broken(machine(), {}, machine().healthy))


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("number", range(3))
def test_three_commands_go_wrong_at_once(fault: str, number: int) -> None:
    chance = Random(f"{fault} {number}")
    commands = chance.sample(machine().commands, k=3)
    spoiled = dict.fromkeys(commands, fault)
    report = machine().examined({c: lambda answer: FAULTS[fault](answer, chance) for c in commands})
    assert not list(broken(machine(), spoiled, report)), spoiled


@pytest.mark.parametrize("fault", ["fails", "hangs", "floods", "crashes"])
def test_without_its_probe_no_machine_is_healthy(fault: str) -> None:
    command = next(c for c in machine().commands if is_probe(c) and c[-1] != "facts")  # that child computes nothing
    report = machine().examined({command: lambda answer: FAULTS[fault](answer, Random(fault))})
    assert report.verdict != "healthy"


def test_the_laws_can_be_broken() -> None:
    healthy = machine().healthy
    no_driver = replace(healthy.facts, nvidia=replace(healthy.facts.nvidia, driver=ABSENT))
    assert "nvidia.driver is said to be absent" in " ".join(broken(machine(), {}, replace(healthy, facts=no_driver)))
    unproven = replace(healthy, facts=replace(healthy.facts, probes=()))
    assert "healthy, and cpu is not proven" in list(broken(machine(), {}, unproven))
    rtx4090 = machine("linux-rtx4090-driver-470").healthy
    assert any("nvidia-driver-too-old" in law for law in broken(machine(), {}, rtx4090))

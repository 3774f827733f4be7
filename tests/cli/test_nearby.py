"""Where a plan names the interpreter: from the current folder on the terminal, by its whole path everywhere else."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from doctor.cli.nearby import nearby
from doctor.model.facts import Facts
from tests.reports.samples import FAULTY, PYTHON

FOLDER = os.path.dirname(os.path.dirname(os.path.dirname(PYTHON)))  # /home/anna/ml
posix = pytest.mark.skipif(os.name != "posix", reason="the sample is of Linux")


def commands(report=FAULTY, folder: str = FOLDER) -> list[tuple[str, ...]]:
    plan = nearby(report.plan, report, folder)
    every = [fix for one in plan.fixes for fix in (one, *one.alternatives)]
    return [step.argv for fix in every for step in fix.steps if step.argv]


@posix
def test_below_the_current_folder_it_is_named_from_there() -> None:
    first, second = commands()
    assert first[0] == second[0] == os.path.join(".venv", "bin", "python")
    assert FAULTY.plan.fixes[0].steps[1].argv[0] == PYTHON  # the plan itself keeps it


@posix
@pytest.mark.parametrize("folder", ["/", "/home/anna/ml/.venv/bin", "/home/anna/other", "/home/anna/ml/.venv/bin/x"])
def test_elsewhere_it_keeps_its_path(folder: str) -> None:
    assert {argv[0] for argv in commands(folder=folder)} == {PYTHON}


@posix
def test_of_a_text_nothing_is_here() -> None:
    told = replace(FAULTY, facts=Facts(live=False))
    assert {argv[0] for argv in commands(told)} == {PYTHON}

"""From a broken state to a cured one with `fix --run`, and back with `--undo`: real pip, uv, poetry and PDM, stub
wheels, a recorded GPU. scripts/prove_cures.py shows the same as a table, and with real wheels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import Patient, tool
from tests.index.scenarios import PROJECTS, SCENARIOS, Scenario

Make = Callable[..., Patient]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("by", ["pip", "uv", "poetry", "pdm"])
def test_cured_and_back(patient: Make, by: str, scenario: Scenario) -> None:
    if by in PROJECTS and tool(by) is None:
        pytest.skip(f"{by} is not there: scripts/test makes an environment with it (TORCHDOCTOR_TEST_TOOLS)")
    sick = patient(pip=by == "pip")
    scenario.make(sick, by)
    assert scenario.finding in findings(sick)
    before, files = sick.content(), files_of(sick.env.parent)
    assert sick.torch() == scenario.before
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert "cured; the rest of the environment was not judged (--no-probe)." in done.stderr
    assert scenario.finding not in findings(sick)
    assert sick.torch() == scenario.after
    undone = sick.doctor("fix", "--undo")
    assert undone.returncode == 0, undone.stderr
    assert (sick.content(), files_of(sick.env.parent)) == (before, files)
    assert not list((sick.env / ".torchdoctor").glob("2*")), "the snapshot is of no more use"


def findings(patient: Patient) -> list[str]:
    return [f["id"] for f in json.loads(patient.doctor("check", "--no-probe", "--json").stdout)["findings"]]


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

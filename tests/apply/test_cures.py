"""From a broken state to a cured one with `fix --run`, and back with `--undo`: real pip, uv, poetry and PDM, stub
wheels, a recorded GPU. The suite runs every scenario with uv and those that differ most with the others, which take
longer; TORCHDOCTOR_TEST_ALL=1 all. scripts/prove_cures.py shows the same as a table, and with real wheels."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index.patient import Patient, tool
from tests.index.scenarios import PROJECTS, SCENARIOS
from tests.sample import drawn, only

Make = Callable[..., Patient]


CPU_BUILD, NO_TORCH, OTHER_TORCHVISION, DELETED, TWO = (scenario.name for scenario in SCENARIOS)
SAMPLE = (
    *(("uv", scenario.name) for scenario in SCENARIOS),
    ("pip", CPU_BUILD), ("pip", DELETED), ("pip", TWO),
    ("poetry", CPU_BUILD), ("poetry", NO_TORCH),
    ("pdm", NO_TORCH), ("pdm", OTHER_TORCHVISION),
)  # fmt: skip
CURES = drawn(5, only([(by, one.name) for by in ("pip", "uv", "poetry", "pdm") for one in SCENARIOS], SAMPLE), "cures")


@pytest.mark.parametrize(("by", "name"), CURES)
def test_cured_and_back(patient: Make, by: str, name: str) -> None:
    (scenario,) = (one for one in SCENARIOS if one.name == name)
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

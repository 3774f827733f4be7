"""`torchdoctor install --print-commands` for every reviewed machine: commands that name only what the tables have."""

from __future__ import annotations

import itertools
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.cli.install import advise
from doctor.cli.main import run
from doctor.fixes.plan import script
from doctor.knowledge import lookup, vendors
from doctor.model.facts import ABSENT
from doctor.model.fix import Plan
from tests.knowledge.machines import MACHINES, NOTHING
from tests.table import table

OTHER_INDEXES = {vendors.therock()["index"], "https://pypi.jetson-ai-lab.io/jp6/cu126"}


def check_command(argv: list[str]) -> None:
    for word, value in itertools.pairwise(argv):
        if word == "--index-url":
            backend = value.removeprefix("https://download.pytorch.org/whl/")
            assert value in OTHER_INDEXES or lookup.index_url(backend) == value
    for word in argv:
        name, pinned, version = word.partition("==")
        if pinned and name == "torch":
            assert version in lookup.torch_versions()
        elif pinned:
            assert lookup.torch_of_companion(name, version)


@pytest.mark.parametrize("tool", ["pip", "uv", "conda"])
@table("name", [*MACHINES, *NOTHING])
def test_commands_of_a_machine(name: str, tool: str) -> None:
    facts = replace((MACHINES.get(name) or NOTHING[name])[0], torch=ABSENT)
    fix, why = advise(facts, spec=None, backend=None, companions=("torchvision",), tool=tool)
    assert why
    assert fix is not None
    windows = facts.host.system == "windows"
    for line in script(Plan(fixes=(fix,)), windows=windows).splitlines():
        if not line.startswith("#"):
            check_command(line.replace("'", "").split() if windows else shlex.split(line))
    assert fix.action == "install-torch" or name in NOTHING


@pytest.mark.parametrize("name", ["5090, Python 3.8", "Rosetta", "4090 on 470"])
def test_wanted_companions_come_along_into_what_would_help(name: str) -> None:
    facts = replace(NOTHING[name][0], torch=ABSENT)
    fix, _ = advise(facts, spec=None, backend=None, companions=("torchvision",), tool="pip")
    assert fix is not None
    assert "torch==2.15.0 torchvision==0.29.2\n" in script(Plan(fixes=(fix,)), windows=False)


@pytest.mark.parametrize(
    ("name", "code", "command"),
    [
        ("linux-two-gpus", 0, "-m pip install torch==2.14.1 --index-url https://download.pytorch.org/whl/cu126"),
        ("linux-rtx4090-driver-470", 1, "-m pip install torch==2.15.0"),
        ("linux-rtx5090-driver-610", 0, "uv pip install --python /home/u/ml/.venv/bin/python torch==2.15.0"),
    ],
)
def test_a_replayed_machine(
    name: str, code: int, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(Path(__file__).parents[1] / "machines" / name))
    assert run(["install", "--print-commands"]) == code
    assert capsys.readouterr().out.rstrip().endswith(command)

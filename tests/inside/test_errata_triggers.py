"""The triggers of errata: none accuses a healthy torch on the CPU, and their helpers see what is wrong."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest

from doctor.knowledge import lookup
from doctor.knowledge.errata import Match
from doctor.pipeline import Request
from doctor.probes.errata import Trial, attempt
from doctor.probes.triggers import INSIDE, triggers
from tests.inside.conftest import Answered
from tests.table import table

PIECES = sorted((INSIDE / "errata").glob("*.py"))
OWN = [name for name, piece in triggers().items() if piece.startswith("errata/")]


@pytest.fixture(scope="module")
def said(answered: Answered) -> dict[str, Any]:
    return json.loads(answered("all_triggers.py", *OWN))


@pytest.mark.real_torch
@table("name", OWN)
def test_a_trigger_says_nothing_of_a_release_outside_its_range(said: dict[str, Any], name: str) -> None:
    answer = said["answers"][name]
    rows = [e for e in lookup.errata() if e.trigger == name and "cpu" in e.backends]
    if any(lookup.affects(e, said["version"]) is not False for e in rows):
        assert set(answer) in ({"seen"}, {"untried"})
    else:
        assert answer.get("seen", "") == ""
        assert answer.get("untried", "words") != ""


@pytest.mark.real_torch
def test_what_the_helpers_see(said: dict[str, Any]) -> None:
    helpers = said["helpers"]
    assert helpers["same"] == helpers["both nan"] == helpers["no error"] == ""
    assert helpers["wrong"].startswith("6 of 6 elements are wrong; element (0,) is 1.0, not 0.0")
    assert "shape" in helpers["shape"]
    assert helpers["nan"].startswith("6 of 6")
    assert helpers["integers"].startswith("6 of 6")
    assert helpers["error"].startswith("RuntimeError: shape")


@pytest.fixture(scope="module")
def beside_faults(answered: Answered) -> dict[str, Any]:
    return json.loads(answered("faulty_triggers.py"))


@pytest.mark.real_torch
def test_triggers_see_the_fault_that_is_there_and_only_then(beside_faults: dict[str, Any]) -> None:
    seen = {name: answer for name, answer in beside_faults["healthy"].items() if answer != {"seen": ""}}
    seen.pop("attention_of_nan", None)  # releases up to the newest have it, on CPUs with AVX-512
    assert seen == {}
    assert [name for name, answer in beside_faults["faulty"].items() if not answer.get("seen")] == []
    assert "Placeholder" in beside_faults["faulty"]["sort_of_nothing"]["seen"]


@pytest.mark.real_torch
def test_another_error_or_device_is_not_the_fault(beside_faults: dict[str, Any]) -> None:
    for answer in beside_faults["another error"].values():
        assert answer == {"untried": "RuntimeError: out of memory"}
    for answer in beside_faults["not this device"].values():
        assert answer == {"untried": "not for this type of device"}
    assert "no trigger no_such_trigger" in beside_faults["unknown"]["untried"]


def functions() -> list[ast.FunctionDef]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PIECES]
    return [node for tree in trees for node in tree.body if isinstance(node, ast.FunctionDef)]


def test_every_trigger_is_there_once() -> None:
    names = [node.name for node in functions()]
    assert len(names) == len(set(names))
    assert len(OWN) >= 60
    assert not set(names) & {name for name, piece in triggers().items() if piece == "silent"}


def test_the_pieces_stay_small() -> None:
    assert {path.name for path in PIECES if len(path.read_text(encoding="utf-8").splitlines()) > 400} == set()


def test_every_trigger_belongs_to_a_row() -> None:
    named = {e.trigger for e in lookup.errata()}
    assert [name for name in OWN if name not in named] == []


def test_every_trigger_says_which_row_it_shows() -> None:
    ids = {e.id for e in lookup.errata()}
    for node in functions():
        if node.name in OWN:
            first = (ast.get_docstring(node) or "").split(":")[0].split(",")[0].strip()
            assert first in ids, f"{node.name} begins its docstring with no id of a row"


@pytest.mark.real_torch
@pytest.mark.parametrize("trigger", ["sort_of_nothing", "max_int64"])
def test_a_trigger_runs_in_a_child_of_its_own(torch_python: str, trigger: str) -> None:
    row = next(e for e in lookup.errata() if e.trigger == trigger)
    (tried,) = attempt([Trial(Match(erratum=row, backends=("cpu",)), "cpu")], Request(python=torch_python), print)
    assert (tried.outcome, tried.detail) == ("not here", "")

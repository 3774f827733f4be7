"""check --require: what an image or a node counts on becomes findings and exit codes."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.checks._required import MEASURES, is_met, parse
from doctor.checks.runner import judge
from doctor.cli.main import run
from doctor.cli.topics import TOPICS
from doctor.model.facts import Facts
from tests.checks.run.requirement_unmet import CLOSED, ONE, requiring
from tests.tickets import WORKING


def checked(tmp_path: Path, capsys, *options: str, text: str = WORKING) -> tuple[int, dict]:
    file = tmp_path / "collect_env.txt"
    file.write_text(text)
    code = run(["check", "--from", str(file), "--json", "-q", *options])
    return code, json.loads(capsys.readouterr().out or "{}")


def requirements(report: dict) -> list[tuple[str, str]]:
    return [(f["severity"], f["values"]["required"]) for f in report["findings"] if f["id"] == "requirement-unmet"]


@pytest.mark.parametrize(
    ("demands", "code", "found"),
    [
        (["torch>=2.5", "driver>=550", "python>=3.10"], 0, []),
        (["torch>=2.7"], 1, [("fault", "torch>=2.7")]),
        (["torch>=2.5", "driver >= 570"], 1, [("fault", "driver >= 570")]),
        (["speed>=0.8"], 3, [("note", "speed>=0.8")]),
        (["speed>=0.8", "torch>=9"], 1, [("fault", "torch>=9"), ("note", "speed>=0.8")]),
    ],
)
def test_exit_codes(tmp_path: Path, capsys, demands: list[str], code: int, found: list) -> None:
    options = [word for demand in demands for word in ("--require", demand)]
    ended, report = checked(tmp_path, capsys, *options)
    assert (ended, requirements(report)) == (code, found)


def test_only_the_requirements(tmp_path: Path, capsys) -> None:
    broken = WORKING.replace("550.54.15", "440.33.01").replace("available: True", "available: False")
    assert checked(tmp_path, capsys, "--require", "torch>=2.5", text=broken)[0] == 1
    only = ("--only", "requirement-unmet", "--require", "torch>=2.5")
    assert checked(tmp_path, capsys, *only, text=broken)[0] == 0
    assert checked(tmp_path, capsys, *only, "--require", "speed>=0.8", text=broken)[0] == 3
    assert checked(tmp_path, capsys, *only, "--require", "torch>=2.7", text=broken)[0] == 1


def test_without_a_requirement_nothing_speaks_of_one(tmp_path: Path, capsys) -> None:
    _, report = checked(tmp_path, capsys)
    assert report["facts"]["required"] is None
    assert "requirement-unmet" not in {o["id"] for o in report["outcomes"]}


@pytest.mark.parametrize(
    "text",
    ["", "torch", "torch>=", "torch>=abc", "cuda>=many", "cuda>=-1", "gpus>=1", "memory>=16XB", "speed>=fast", ">=2",
     "torch=2.5", "cuda~=1", "torch>=2.5 # x", "torch>=2\n::error::x", "cuda>=1,", "memory>=99999999999999999999GB"],
)  # fmt: skip
def test_what_cannot_be_read_is_wrong_usage(capsys, text: str) -> None:
    assert run(["check", "--no-probe", "--require", text]) == 2
    said = capsys.readouterr().err
    assert len([line for line in said.splitlines() if line.startswith("Error")]) == 1
    assert not [line for line in said.splitlines() if line.startswith("::")]


@given(st.text(max_size=40) | st.from_regex(r"[a-z]{2,10}[<>=!~]{1,3}[\w.,%<>= ]{0,12}", fullmatch=True))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with contextlib.suppress(ValueError):
        demand = parse(text)
        answers = {is_met(demand, facts)[0] for facts in (Facts(), ONE)}
        assert answers <= {True, False, None}


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_known_is_not_met_and_not_missed(name: str) -> None:
    assert is_met(parse(f"{name}>=1"), Facts(live=False))[0] is None


def test_the_help_names_all_of_them() -> None:
    page = " ".join(f"{term} {text}" for term, text in TOPICS["requirements"].rows)
    assert [name for name in MEASURES if name not in page] == []
    for term, _ in TOPICS["requirements"].rows:
        parse(term)


def test_only_what_follows_from_another_fault_is_said_to() -> None:
    _, findings = judge(requiring(CLOSED, "cuda>=1", "torch>=9"))
    said = {f.values["required"]: f.explained_by for f in findings if f.id == "requirement-unmet"}
    assert said == {"cuda>=1": "gpu-permission-denied", "torch>=9": None}

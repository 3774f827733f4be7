"""The rules by which scripts/score_cases.py compares a report with a label."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "score_cases.py"
SPEC = importlib.util.spec_from_file_location("score_cases", SCRIPT)
assert SPEC is not None
assert SPEC.loader is not None
score_cases = importlib.util.module_from_spec(SPEC)

sys.modules["score_cases"] = score_cases
SPEC.loader.exec_module(score_cases)


def case(cause: str, action: str = "none", **label: Any) -> Any:
    fix = {"action": action, **label.pop("fix", {})}
    label = {"cause": cause, "also": [], "not": [], "fix": fix, **label}
    return score_cases.Ticket(Path("x"), "run/y", label, b"", Path("x/run/y/input.txt"))


def report(*findings: tuple[str, str], verdict: str = "faulty", fixes: Any = ()) -> dict[str, Any]:
    made = [{"finding": "", "alternatives": [], "details": {}, **f} for f in fixes]
    return {"findings": [{"id": i, "severity": s} for i, s in findings], "verdict": verdict, "plan": {"fixes": made}}


def test_the_first_fault_counts() -> None:
    said = score_cases.score(case("gpu-hidden"), report(("torch-cpu-only", "fault"), ("gpu-hidden", "fault")))
    assert (said.top1, said.recall) == (False, True)
    assert score_cases.score(case("x", also=["torch-cpu-only"]), report(("torch-cpu-only", "fault"))).top1


def test_without_a_fault_a_warning_counts() -> None:
    assert score_cases.score(case("program-error"), report(("program-error", "warning"), verdict="healthy")).top1


def test_healthy() -> None:
    good = score_cases.score(case("healthy"), report(("no-accelerator", "note"), verdict="healthy"))
    bad = score_cases.score(case("healthy"), report(("gpu-hidden", "fault")))
    assert (good.top1, good.specificity, good.recall) == (True, True, None)
    assert (bad.top1, bad.specificity) == (False, False)


def test_a_harmless_warning_says_what_healthy_says() -> None:
    noted = report(("harmless-warning", "note"), verdict="unknown")
    assert score_cases.score(case("healthy"), noted).top1
    assert score_cases.score(case("program-error", also=["healthy"]), noted).top1
    assert not score_cases.score(case("gpu-hidden"), noted).top1
    assert not score_cases.score(case("healthy"), report(("gpu-hidden", "fault"), ("harmless-warning", "note"))).top1
    doubted = report(("gpu-busy", "warning"), ("harmless-warning", "note"), verdict="unknown")
    assert not score_cases.score(case("healthy"), doubted).top1


def test_a_tempting_fault_is_wrong() -> None:
    assert score_cases.score(case("a", **{"not": ["b"]}), report(("b", "fault"))).wrong is True


def test_one_of_the_rows_must_be_named() -> None:
    label = case("a", errata=["mps-x", "mps-y"])
    said = report(("a", "fault"))
    assert score_cases.score(label, said).erratum is False
    said["findings"][0]["values"] = {"erratum": "mps-y"}
    assert score_cases.score(label, said).erratum is True
    assert score_cases.score(case("a"), said).erratum is None


@pytest.mark.parametrize(("wanted", "offered", "right"), [
    ("reinstall-torch", "upgrade-torch", True), ("pin-package", "remove-package", True),
    ("reboot", "load-module", False),
])  # fmt: skip
def test_families_of_actions(wanted: str, offered: str, right: bool) -> None:
    assert score_cases.score(case("a", wanted), report(("a", "fault"), fixes=({"action": offered},))).action is right


def test_the_backend_of_the_first_torch_action() -> None:
    label = case("a", "reinstall-torch", fix={"backend": ["cu121"]})
    fixes = ({"action": "reboot"}, {"action": "reinstall-torch", "details": {"backend": "cu121"}})
    assert score_cases.score(label, report(("a", "fault"), fixes=fixes)).backend is True
    assert score_cases.score(label, report(("a", "fault"), fixes=fixes[:1])).backend is False


def test_floors() -> None:
    scores = [score_cases.score(case("a"), report(("b", "fault")))]
    assert score_cases.below_floor(scores, {"top1": 0.5, "wrong": 0.0}) == ["top1 0.000, floor 0.5"]

"""scripts/accuracy.py, and that the recorded first run still is about the tickets and labels of then."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import accuracy
from scripts.tickets import Ticket, digest, line_of, tickets_below

UNSEEN = accuracy.CASES / accuracy.ROUNDS[-1]
FIRST = json.loads((UNSEEN / accuracy.FIRST_RUN).read_text(encoding="utf-8"))


def outcome(tmp_path: Path, cause: str, said: dict[str, Any], **label: Any) -> accuracy.Outcome:
    labelled = {"cause": cause, "also": [], "not": [], "fix": {"action": "none"}, **label}
    report = {"findings": [], "hypotheses": [], "questions": [], "plan": {"fixes": []}, **said}
    return accuracy.outcome(Ticket(tmp_path, "run/x", labelled, b"one\ntwo\n", tmp_path / "input.txt"), report)


def findings(*found: tuple[str, str]) -> list[dict[str, str]]:
    return [{"id": id, "severity": severity} for id, severity in found]


@pytest.mark.parametrize("name", accuracy.ROUNDS)
def test_tickets_and_labels_are_those_of_the_first_run(name: str) -> None:
    first = json.loads((accuracy.CASES / name / accuracy.FIRST_RUN).read_text(encoding="utf-8"))
    assert digest(accuracy.CASES / name) == first["digest"]


def test_no_unseen_ticket_is_in_another_collection() -> None:
    sources: dict[str, set[str]] = {}
    for ticket in tickets_below([accuracy.CASES]):
        parts = ticket.file.relative_to(accuracy.CASES).parts
        sources.setdefault(ticket.label["source"].lower(), set()).add(parts[0])
    assert not [source for source, found in sources.items() if found & {*accuracy.ROUNDS} and len(found) > 1]


def test_readme_quotes_the_first_run() -> None:
    readme = " ".join((accuracy.ROOT / "README.md").read_text(encoding="utf-8").split())
    counts = FIRST["counts"]
    share = f"{counts['right'] / counts['cases']:.0%}"
    assert f"On {counts['cases']} tickets from users' projects that it had never seen" in readme
    assert f"its first answer was right {counts['right']} times ({share})" in readme
    assert f"not know {counts['unknown']} times, named another fault {counts['other_fault']} times" in readme
    assert ("never called a broken machine healthy" in readme) == (counts["falsely_healthy"] == 0)


def test_healthy_beside_a_fault_is_counted(tmp_path: Path) -> None:
    assert outcome(tmp_path, "gpu-hidden", {"verdict": "healthy"}).falsely_healthy
    assert not outcome(tmp_path, "program-error", {"verdict": "healthy"}).falsely_healthy
    assert not outcome(tmp_path, "gpu-hidden", {"verdict": "healthy"}, also=["healthy"]).falsely_healthy
    assert not outcome(tmp_path, "gpu-hidden", {"verdict": "unknown"}).falsely_healthy


def test_wrong_faults(tmp_path: Path) -> None:
    faulty = {"verdict": "faulty", "findings": findings(("torch-missing", "fault"))}
    on_healthy = outcome(tmp_path, "healthy", faulty)
    assert on_healthy.wrong
    assert on_healthy.other_fault
    ruled_out = outcome(tmp_path, "gpu-hidden", faulty, **{"not": ["torch-missing"]})
    assert ruled_out.wrong
    assert ruled_out.other_fault
    another = outcome(tmp_path, "gpu-hidden", faulty)
    assert another.other_fault
    assert not another.wrong
    accepted = outcome(tmp_path, "wrong-environment", faulty, also=["torch-missing"])
    assert accepted.right
    assert not accepted.exact
    assert not accepted.other_fault


def test_a_hint_is_among_the_first_three(tmp_path: Path) -> None:
    ids = ["gpu-too-old-for-build", "gpu-too-new-for-build", "driver-hangs", "gpu-hidden"]
    unknown = {"verdict": "unknown", "hypotheses": [{"id": id} for id in ids], "questions": [{"text": "?"}]}
    third = outcome(tmp_path, "driver-hangs", unknown)
    assert third.hinted
    assert third.near
    assert third.asked
    assert third.said == "unknown"
    assert not outcome(tmp_path, "gpu-hidden", unknown).hinted
    warned = {"verdict": "unknown", "findings": findings(("program-error", "warning"))}
    right = outcome(tmp_path, "program-error", warned)
    assert right.hinted
    assert right.right
    assert not right.near
    assert not right.asked


def test_the_interval_is_wilsons() -> None:
    """Its closed forms: z²/(n+z²) is the upper end at 0, and z/(2√(n+z²)) the half-width at a half."""
    assert accuracy.interval(0, 10) == pytest.approx((0.0, 0.278), abs=1e-3)
    assert accuracy.interval(5, 10) == pytest.approx((0.237, 0.763), abs=1e-3)


def test_a_first_run_is_recorded_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["accuracy.py", "--record", str(UNSEEN), "--tool", "x"])
    with pytest.raises(SystemExit):
        accuracy.main()
    assert "there is one first run" in capsys.readouterr().err


def test_both_forms_of_a_round_are_the_same(tmp_path: Path) -> None:
    label = {"cause": "gpu-hidden", "also": [], "date": "2024"}
    folder, file = tmp_path / "folder/driver/one-1", tmp_path / "file" / "tickets.jsonl"
    folder.mkdir(parents=True)
    file.parent.mkdir()
    (folder / "input.txt").write_text("Grüße\n2", encoding="utf-8")
    (folder / "case.json").write_text(json.dumps(label, indent=1) + "\n", encoding="utf-8")
    (ticket,) = tickets_below([tmp_path / "folder"])
    file.write_text(line_of(ticket), encoding="utf-8")
    (read,) = tickets_below([file.parent])
    assert (read.name, read.label, read.said) == ("driver/one-1", label, ticket.said)
    assert digest(file.parent) == digest(tmp_path / "folder")

"""torchdoctor errata, check --errata, probe --errata, explain of an erratum."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from doctor import pipeline
from doctor.accounting.judgement import judged
from doctor.cli.main import run
from doctor.knowledge import errata as engine
from doctor.knowledge import load
from doctor.model.report import Report
from doctor.reports import terminal, verdict
from tests.checks.torch.known_errata import used_mac
from tests.knowledge.test_errata import erratum
from tests.reports.samples import HEALTHY, WARNING

ROWS = (
    erratum(id="mps-a", title="A product is wrong on MPS", workaround="Use the CPU."),
    erratum(id="mps-b", title="An attention with a very long name of its own is wrong here"),
    erratum(id="mps-c", title="A third is wrong"),
    erratum(id="mps-d", title="A crash", kind="crash"),
    erratum(id="mps-e", title="Nobody is sure of this one", status="unclear"),
    erratum(id="mps-f", title="It is of macOS alone", systems={"darwin": ">=20"}),
)  # fmt: skip


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    load.forget()
    monkeypatch.setattr(engine, "errata", lambda: ROWS)
    by_id = {e.id: e for e in ROWS}
    monkeypatch.setattr("doctor.knowledge.lookup.erratum_of", by_id.get)
    monkeypatch.setattr("doctor.knowledge.lookup.errata", lambda: ROWS)
    yield
    load.forget()


def report(version: str = "2.8.0") -> Report:
    facts = used_mac(version)
    made = judged(facts)
    return replace(
        HEALTHY, facts=facts, findings=made.account.findings, outcomes=made.outcomes, verdict=made.verdict.value,
    )  # fmt: skip


def test_silent_ones_warn_others_are_noted_and_the_verdict_stays_healthy() -> None:
    made = report()
    found = [(f.severity, f.values["errata"]) for f in made.findings if f.id == "known-errata"]
    assert found == [("warning", "mps-a mps-b mps-c"), ("note", "mps-d")]
    assert made.verdict == "healthy"


def test_they_do_not_count_for_strict_nor_in_the_sentence_of_the_verdict(monkeypatch) -> None:
    made = report()
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: made)
    assert run(["check", "--strict", "-q"]) == 0
    assert run(["fix"]) == 0
    assert verdict.sentence(made).startswith("No fault, but known errata: ")
    slow = replace(made, findings=(*made.findings, WARNING))
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: slow)
    assert run(["check", "--strict", "-q"]) == 1
    assert verdict.sentence(slow).startswith("No fault, but 1 warning: companion-mismatch: ")


def test_a_build_that_may_be_patched_gets_notes_only() -> None:
    found = [f.severity for f in report("2.9.0.dev20250901").findings if f.id == "known-errata"]
    assert found == ["note"]


def test_the_default_report_has_three_lines_more() -> None:
    with_them, without = terminal.render(report()), terminal.render(report("2.7.1"))
    assert len(with_them.splitlines()) - len(without.splitlines()) == 3
    assert max(map(len, with_them.splitlines())) <= 80
    assert "and 2 more: torchdoctor check --errata" in with_them
    assert "(fixed in 2.9.1)" in with_them
    assert "Nobody is sure" not in with_them


def test_errata_shows_all_of_them_with_the_release_that_serves() -> None:
    shown = terminal.render(report(), errata=True)
    assert all(id in shown for id in ("mps-a", "mps-b", "mps-c", "mps-d"))
    assert "Workaround: Use the CPU." in shown
    assert "torch 2.15.0 runs on this machine and is not affected." in shown


def shown(monkeypatch, capsys, *arguments: str, code: int = 0, facts=None) -> str:
    made = replace(HEALTHY, facts=facts or used_mac("2.8.0"))
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: made)
    assert run(["errata", *arguments]) == code
    return capsys.readouterr().out


def test_of_this_machine(monkeypatch, capsys) -> None:
    said = shown(monkeypatch, capsys)
    assert said.startswith("Known errata of torch 2.8.0: 4\n")
    assert "1 more may apply: -v lists them, and what is missing to tell." in said
    assert "It is uncertain which releases are affected." in shown(monkeypatch, capsys, "-v")


def test_of_another_torch(monkeypatch, capsys) -> None:
    assert "mps-f" in shown(monkeypatch, capsys, "--torch", "2.9.0", "--backend", "mps")
    assert "No erratum is known" in shown(monkeypatch, capsys, "--torch", "2.9.1", "--backend", "mps")
    assert "No erratum is known" in shown(monkeypatch, capsys, "--torch", "2.9.0", "--device", "RTX 4090")
    assert "mps-a" in shown(monkeypatch, capsys, "--torch", "2.9.0", "--device", "M3 Max")


def test_as_json(monkeypatch, capsys) -> None:
    said = json.loads(shown(monkeypatch, capsys, "--json"))
    assert [e["id"] for e in said["errata"]] == ["mps-a", "mps-b", "mps-c", "mps-d"]
    assert said["errata"][0]["fixed_in"] == "2.9.1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--torch", "main"], "is no version of torch"),
        (["--torch", "\x1b[31m"], "is no version of torch"),
        (["--device", "Voodoo 2"], "is no device that the tables know"),
        (["--device", "RTX 4090", "--backend", "mps"], "is not a device of mps"),
        (["--torch", "2.8.0", "--python", "x"], "name a torch of their own"),
    ],
)
def test_wrong_usage(capsys, arguments: list[str], message: str) -> None:
    assert run(["errata", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "\x1b" not in error


def test_explain(capsys) -> None:
    assert run(["explain", "mps-a"]) == 0
    said = capsys.readouterr().out
    assert "torch >=2.8,<2.9.1" in said
    assert "https://example.org/1" in said
    assert run(["explain", "mps-a", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "wrong-result"
    assert run(["explain", "mps-zzz"]) == 2


def test_probe_errata_excludes_the_other_modes(capsys) -> None:
    assert run(["probe", "--errata", "--full"]) == 2
    assert "exclude each other" in capsys.readouterr().err


@pytest.mark.real_torch
def test_probe_errata_on_a_real_torch(monkeypatch, capsys, torch_python: str) -> None:
    healthy = erratum(id="cpu-clamp", backends=("cpu",), versions=">=1.0", trigger="clamp_twice", fixed_in=None)
    missing = erratum(id="cpu-memory", backends=("cpu",), versions=">=1.0", trigger="bmm_beyond_2_32", fixed_in=None)
    none = erratum(id="cpu-none", backends=("cpu",), versions=">=1.0", fixed_in=None)
    monkeypatch.setattr(engine, "errata", lambda: (healthy, missing, none))
    assert run(["probe", "--errata", "--json", "--python", torch_python]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [(t["id"], t["outcome"], t["detail"]) for t in said["tried"]] == [
        ("cpu-clamp", "not here", ""), ("cpu-memory", "untried", "too large for a CPU"),
    ]  # fmt: skip
    assert said["without_trigger"] == 1

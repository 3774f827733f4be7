"""Harmless warnings: told of every row, and never in the way of anything else."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.accounting.account import Account
from doctor.accounting.harmless import AT_MOST
from doctor.accounting.judgement import Judgement, judged
from doctor.checks.run.harmless_warning import _short
from doctor.checks.runner import SEVERITIES
from doctor.evidence.read import read
from doctor.knowledge.messages import ErrorPattern, error_patterns, harmless_ids
from doctor.model.finding import Finding
from tests.table import table
from tests.tickets import collect_env

ID = "harmless-warning"
ROWS = {row.id: row for row in error_patterns() if row.id in harmless_ids()}
FLASH = "UserWarning: 1Torch was not compiled with flash attention."
REAL = "RuntimeError: operator torchvision::nms does not exist"
STRANGE = "RuntimeError: the frobnicator of torch failed on device cuda:7"
HEALTHY = collect_env("2.6.0+cu124")


def of(text: str, *, words: bool = False) -> Judgement:
    return judged(read((("ticket.txt", text.encode()),)).facts, words=text if words else "")


@cache
def of_row(id: str) -> Judgement:
    return of(f"{ROWS[id].example}\n")


def told(account: Account) -> list[Finding]:
    return [f for f in account.findings if f.id == ID]


@table("row", tuple(ROWS.values()), ids=lambda row: row.id)
def test_each_row_is_told_of_its_example(row: ErrorPattern) -> None:
    made = of_row(row.id)
    (found,) = told(made.account)
    assert found.values["message"] == row.id
    assert found.severity == "note"
    assert row.means in found.detail
    assert row.matters in found.detail
    assert found.remedies[0].text == row.remedy
    assert found.evidence[0].source == "message, line 1"
    assert [f.id for f in made.account.findings if f.severity == "fault"] == []


@table("row", tuple(ROWS.values()), ids=lambda row: row.id)
def test_no_row_alone_makes_a_verdict(row: ErrorPattern) -> None:
    assert of_row(row.id).verdict.value == "unknown"


@table("row", tuple(ROWS.values()), ids=lambda row: row.id)
def test_a_row_says_what_it_takes(row: ErrorPattern) -> None:
    assert row.harmless
    assert row.matters
    assert row.remedy
    assert row.causes[0] == ID
    assert row.matters.startswith("It ")


def test_the_rows_are_those_with_the_cause() -> None:
    from doctor.knowledge import lookup

    assert {row.id for row in lookup.error_patterns() if ID in row.causes} == harmless_ids()
    assert len(ROWS) >= 80


@pytest.mark.parametrize("row", [id for id, row in ROWS.items() if row.doubtful])
def test_what_may_have_ended_the_program_proves_no_health(row: str) -> None:
    assert of(HEALTHY).verdict.value == "healthy"
    made = of(f"{HEALTHY}\n\n{ROWS[row].example}\n")
    assert made.verdict.value == "unknown"
    assert "is harmless only if the program went on" in made.verdict.unproven[0]


def test_beside_a_healthy_report_it_is_a_note() -> None:
    made = of(f"{HEALTHY}\n\n{FLASH}\n")
    assert made.verdict.value == "healthy"
    assert told(made.account)


# ---- never in the way


def test_a_symptom_that_nothing_explains_stays() -> None:
    alone, both = of(f"{STRANGE}\n"), of(f"{FLASH}\n{STRANGE}\n")
    assert [s.text for s in both.account.left_over] == [s.text for s in alone.account.left_over] != []
    assert told(both.account)
    assert both.account.hypotheses == alone.account.hypotheses


def test_a_fault_comes_first_and_stays() -> None:
    made = of(f"{collect_env('2.6.0+cu124')}\n[pip3] torchvision==0.15.2\n{FLASH}\n{REAL}\n")
    assert made.account.findings[0].id == "companion-mismatch"
    assert made.account.findings[-1].id == ID
    assert made.verdict.value == "faulty"


def test_a_graver_meaning_that_was_found_silences_it() -> None:
    """The row of hipBLASLt names amd-gpu-unsupported."""
    from doctor.accounting.harmless import harmless
    from doctor.checks import check_of

    row = ROWS["hipblaslt-unsupported"]
    facts = read((("t", row.example.encode()),)).facts
    fault = check_of("amd-gpu-unsupported").found(facts, "The GPU is not supported.")
    assert harmless(facts, (), ())
    assert harmless(facts, (fault,), ()) == ()


def test_a_line_that_a_finding_quotes_is_not_harmless() -> None:
    from doctor.accounting.harmless import harmless
    from doctor.checks import check_of
    from doctor.checks.runner import quoted

    facts = read((("t", FLASH.encode()),)).facts
    (error,) = [e for e in facts.errors if e.pattern in harmless_ids()]
    fault = check_of("device-slow").found(facts, "The GPU is slow.", evidence=(quoted(error),))
    assert harmless(facts, (fault,), ()) == ()


def test_a_line_that_is_a_symptom_is_not_harmless() -> None:
    """torchvision's own warning speaks of a fault, and has no row among these."""
    said = "Failed to load image Python extension: libtorch_cuda_cu.so: cannot open shared object file"
    made = of(f"UserWarning: {said}\n")
    assert told(made.account) == []


def test_a_live_machine_is_told_nothing() -> None:
    facts = read((("t", FLASH.encode()),)).facts
    assert told(judged(replace(facts, live=True)).account) == []


def test_a_few_are_enough_each_kind_once() -> None:
    text = "\n".join(row.example for row in list(ROWS.values())[:6])
    made = told(of(f"{text}\n{text}\n").account)
    assert len(made) == AT_MOST
    assert len({f.values["message"] for f in made}) == AT_MOST


def test_it_can_be_asked_for_alone() -> None:
    facts = read((("t", FLASH.encode()),)).facts
    assert [f.id for f in judged(facts, only=(ID,)).account.findings] == [ID]


def test_where_nothing_else_is_said_no_ticket_is_compared() -> None:
    assert of(f"{FLASH}\n", words=True).account.hypotheses == ()
    resembles = "ImportError: undefined symbol in the extension that was built for another torch"
    assert of(f"{FLASH}\n{resembles}\n", words=True).account.hypotheses != ()


@given(st.lists(st.sampled_from([STRANGE, REAL, "Segmentation fault (core dumped)", "hello"]), max_size=3), st.data())
def test_nothing_is_hidden_by_it(lines: list[str], data: st.DataObject) -> None:
    """Whatever stands around it: no fault, symptom or doubt goes away by the warning."""
    at = data.draw(st.integers(0, len(lines)))
    before = [HEALTHY, *lines[:at]]
    without, beside = of("\n\n".join([*before, *lines[at:]])), of("\n\n".join([*before, FLASH, *lines[at:]]))
    faults = [f.id for f in beside.account.findings if f.severity == "fault"]
    assert faults == [f.id for f in without.account.findings if f.severity == "fault"]
    assert {s.text for s in without.account.left_over} <= {s.text for s in beside.account.left_over}
    assert beside.verdict.value != "healthy" or without.verdict.value == "healthy"
    ranks = [SEVERITIES.index(f.severity) for f in beside.account.findings]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("/a/b.py:3: UserWarning: TypedStorage is deprecated. It goes.", "TypedStorage is deprecated. It goes."),
        ("W tensorflow/x/dso_loader.cc:64] Could not load dynamic library 'a'", "Could not load dynamic library 'a'"),
        ("W0801 12:00:00.0 42 torch/_inductor/utils.py:1138] [0/0] Not enough SMs", "Not enough SMs"),
        ("Warning: short", "Warning: short"),
        ("x" * 300, "x" * 99 + "…"),
    ],
)
def test_a_line_is_shortened_to_its_words(line: str, words: str) -> None:
    assert _short(line) == words

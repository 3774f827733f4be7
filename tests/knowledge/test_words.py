"""The table of words by which texts are compared with labelled tickets."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.checks import all_checks
from doctor.knowledge.lookup import resemblances
from doctor.knowledge.words import terms_of
from scripts import count_words

CASES = Path(__file__).resolve().parents[1] / "cases"


def test_the_table_is_what_the_labelled_tickets_hold() -> None:
    made = json.loads(count_words.rendered(sorted(p for p in CASES.iterdir() if p.is_dir())))
    table = json.loads(count_words.TABLE.read_text(encoding="utf-8"))
    assert {**made, "date": ""} == {**table, "date": ""}, "run scripts/count_words.py tests/cases/* --write"


def test_tickets_that_measure_the_tool_do_not_teach_it() -> None:
    measuring = [p.parent for p in CASES.glob("*/first-run.json")]
    assert measuring
    assert not sum(count_words.counted(measuring)[0].values())


def test_every_cause_is_a_diagnosis() -> None:
    table = json.loads(count_words.TABLE.read_text(encoding="utf-8"))
    causes = {row["cause"] for row in table["causes"]}
    assert causes <= {c.id for c in all_checks()} | {"healthy"}
    assert all(set(row["counts"]) <= causes for row in table["terms"])


def test_terms_are_words_and_pairs_without_numbers_and_addresses() -> None:
    found = terms_of("CUDA 12.4 error 999, see https://example.org/a/page")
    assert found == {"cuda", "error", "see", "cuda error", "error see"}


@given(st.text(max_size=400))
def test_shares_are_those_of_one_whole(text: str) -> None:
    found = resemblances(f"{text} docker container nvidia")
    assert abs(sum(r.share for r in found) - 1) < 1e-9
    assert [r.share for r in found] == sorted((r.share for r in found), reverse=True)


def test_a_text_without_known_words_resembles_nothing() -> None:
    assert resemblances("xqzv 12 !?") == ()

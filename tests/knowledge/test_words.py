"""The table of words by which texts are compared with labelled tickets."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from doctor.checks import all_checks
from doctor.knowledge.lookup import resemblances
from doctor.knowledge.words import terms_of
from scripts import learn_words

CASES = Path(__file__).resolve().parents[1] / "cases"


def test_the_table_is_learned_from_the_labelled_tickets_that_there_are() -> None:
    table = json.loads(learn_words.TABLE.read_text(encoding="utf-8"))
    current = learn_words.source(learn_words.labelled(CASES.iterdir()))
    assert table["sources"] == {"cases": current}, "run scripts/learn_words.py tests/cases/* --write"


def test_a_round_teaches_nothing_before_its_first_run(tmp_path: Path) -> None:
    for collection in ("own", "unseen9"):
        case = tmp_path / collection / "run" / "one"
        case.mkdir(parents=True)
        (case / "input.txt").write_text(f"a ticket of {collection}", encoding="utf-8")
        (case / "case.json").write_text('{"cause": "gpu-hidden", "source": "a thread"}', encoding="utf-8")
    assert learn_words.labelled(tmp_path.iterdir()) == [("gpu-hidden", "a ticket of own")]
    (tmp_path / "unseen9" / "first-run.json").write_text("{}", encoding="utf-8")
    assert ("gpu-hidden", "a ticket of unseen9") in learn_words.labelled(tmp_path.iterdir())


def test_every_cause_is_a_diagnosis() -> None:
    table = json.loads(learn_words.TABLE.read_text(encoding="utf-8"))
    assert {row["cause"] for row in table["causes"]} <= {c.id for c in all_checks()} | {"healthy"}
    places = range(len(table["causes"]))
    named = {int(w.partition(":")[0]) for row in table["terms"] for w in row["weights"].split()}
    assert named <= set(places)


def test_terms_are_words_and_pairs_without_short_numbers_and_addresses() -> None:
    found = terms_of("CUDA 12.4 error 999, see https://example.org/a/page")
    assert found == {"cuda", "error", "999", "see", "cuda error", "error 999", "999 see"}


@given(st.text(max_size=400))
def test_shares_are_those_of_one_whole(text: str) -> None:
    found = resemblances(f"{text} docker container nvidia")
    assert abs(sum(r.share for r in found) - 1) < 1e-9
    assert [r.share for r in found] == sorted((r.share for r in found), reverse=True)


def test_a_text_without_known_words_resembles_nothing() -> None:
    assert resemblances("xqzv 12 !?") == ()

"""The table of words by which texts are compared with labelled tickets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.checks import all_checks
from doctor.knowledge import phrases, words
from doctor.knowledge.words import ELSEWHERE, HEALTHY, bucket, resemblances, terms_of
from scripts import learn_words
from scripts.tickets import Ticket

CASES = Path(__file__).resolve().parents[1] / "cases"


def test_the_table_is_learned_from_the_labelled_tickets_that_there_are() -> None:
    table = json.loads(learn_words.TABLE.read_text(encoding="utf-8"))
    current = learn_words.source(learn_words.labelled(CASES.iterdir()))
    others = learn_words.other_source(learn_words.elsewhere())
    assert table["sources"] == {"cases": current, ELSEWHERE: others}, "run scripts/learn_words.py tests/cases/* --write"


def test_a_round_teaches_nothing_before_its_first_run(tmp_path: Path) -> None:
    for collection in ("own", "unseen9"):
        case = tmp_path / collection / "run" / "one"
        case.mkdir(parents=True)
        (case / "input.txt").write_text(f"a ticket of {collection}", encoding="utf-8")
        (case / "case.json").write_text('{"cause": "gpu-hidden", "source": "a thread"}', encoding="utf-8")
    assert [ticket.said for ticket in learn_words.labelled(tmp_path.iterdir())] == [b"a ticket of own"]
    (tmp_path / "unseen9" / "first-run.json").write_text("{}", encoding="utf-8")
    assert b"a ticket of unseen9" in [ticket.said for ticket in learn_words.labelled(tmp_path.iterdir())]


def test_that_a_text_only_asks_is_learned_as_healthy_before_any_check_is_loaded() -> None:
    code = "from scripts.learn_words import learned_as; print(learned_as('no-fault-described'))"
    root = CASES.parents[1]
    said = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == "healthy\n"


def test_the_terms_of_a_ticket_tell_that_its_label_names_as_a_reason() -> None:
    terms = terms_of("Training stops\nOSError: Too many open files\nany idea?")
    label = {"cause": "process-limits", "also": [], "why": "Too many open files: a limit of the process."}
    reason = learn_words.reason(Ticket(Path(), "run/one", label, b"", Path()))
    assert {"limit", "of the", "open files"} <= reason
    told = {"too", "many", "open", "files", "too many", "many open", "open files"}
    assert set(learn_words.telling(terms, reason)) == told | {f"exception {term}" for term in told}


def test_a_term_that_is_given_as_a_reason_counts_more_than_one_that_only_stands_there() -> None:
    pytest.importorskip("sklearn")
    said = ["Hello zombie gpu", "Hello pagefile gpu"] * 4
    tickets = [
        Ticket(Path(), f"run/{place}", {"cause": cause, "also": [], "why": f"It is a {why}."}, text.encode(), Path())
        for place, (text, cause, why) in enumerate(
            zip(said, ["gpu-busy", "windows-paging-file"] * 4, ["zombie", "pagefile"] * 4, strict=True)
        )
    ]
    model = learn_words.Model(tickets, [terms_of(f"{text} {place % 3}") for place, text in enumerate(said)])
    counts = dict(zip(model.vectors.get_feature_names_out(), model.rarity / model.vectors.idf_, strict=True))
    assert counts["zombie"] > 1 > counts["hello zombie"]
    odds = {cause: odds for cause, odds, place in model.odds([terms_of("zombie")])}
    assert odds["gpu-busy"] > 0.5 > odds["windows-paging-file"]


def test_every_cause_is_a_diagnosis() -> None:
    table = json.loads(learn_words.TABLE.read_text(encoding="utf-8"))
    assert {row["cause"] for row in table["causes"]} <= {c.id for c in all_checks()} | {HEALTHY, ELSEWHERE}
    places = range(len(table["causes"]))
    lines = [line for row in table["terms"] for line in row["lines"].split("|") if line]
    assert {int(w.partition(":")[0]) for line in lines for w in line.split("~")[2].split()} <= set(places)


def test_every_term_lies_in_its_bucket() -> None:
    rows = json.loads(learn_words.TABLE.read_text(encoding="utf-8"))["terms"]
    for place, row in enumerate(rows):
        terms = [line.split("~")[0] for line in row["lines"].split("|") if line]
        assert {bucket(term, len(rows)) for term in terms} <= {place}


def test_terms_are_words_letters_pairs_and_words_of_the_title_and_the_exception_without_addresses() -> None:
    found = terms_of("CUDA 12.4 error\nsee https://example.org/a/page\nValueError: cu121")
    words = {"cuda", "12.4", "error", "see", "valueerror", "cu121", "cu"}
    pairs = {"cuda 12.4", "12.4 error", "error see", "see valueerror", "valueerror cu121"}
    title = {"title cuda", "title 12.4", "title error", "title cuda 12.4", "title 12.4 error"}
    raised = {"exception valueerror", "exception cu121", "exception valueerror cu121"}
    assert found == words | pairs | title | raised


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=200))
def test_an_ascii_text_has_the_same_words_and_pieces_by_the_shorter_expressions(text: str) -> None:
    low = text.lower()
    assert words._ASCII_WORD.compiled.findall(low) == words._WORD.compiled.findall(low)
    assert phrases._ASCII_TOKEN.compiled.findall(low) == phrases._TOKEN.compiled.findall(low)


def test_languages_without_spaces_are_taken_apart() -> None:
    assert {"显存", "存不", "不足"} <= terms_of("显存不足")
    assert "видеокарта" in terms_of("Видеокарта не видна")


@given(st.text(max_size=400))
def test_shares_fall_and_are_shares(text: str) -> None:
    said = f"{text} docker container nvidia"
    shares = [r.share for r in resemblances(said, terms_of(said), ("system=linux",))]
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)


def test_what_was_understood_counts_beside_the_words() -> None:
    def share(traits: tuple[str, ...]) -> float:
        said = "my model runs on the cpu only"
        found = resemblances(said, terms_of(said), traits)
        return next(r.share for r in found if r.cause == "torch-cpu-only")

    assert share(("build=cpu", "gpu=nvidia")) > share(()) > share(("build=cuda", "available=True"))


def test_a_text_without_known_words_resembles_nothing() -> None:
    assert resemblances("xqzv 12 !?", terms_of("xqzv 12 !?")) == ()

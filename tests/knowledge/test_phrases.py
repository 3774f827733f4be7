"""The network by which the phrases of a text are compared with those of labelled tickets."""

from __future__ import annotations

import base64
import json
import math
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.checks import all_checks
from doctor.knowledge import phrases
from doctor.knowledge.load import BUILT_IN
from doctor.knowledge.phrases import GAP, PLACES, UNKNOWN, pieces_of, says, sentences_of
from doctor.knowledge.words import joined_odds
from scripts import learn_phrases

KNOWN = {piece: place for place, piece in enumerate((UNKNOWN, "the", "gp", "##u", "is", "不", "ui", ".", "!"))}


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    read: dict[str, Any] = json.loads((BUILT_IN / "phrases.json").read_text(encoding="utf-8"))
    return read


def written(text: str) -> list[str]:
    names = list(KNOWN)
    return [names[place] for place in pieces_of(text, KNOWN)]


def test_words_are_taken_apart_into_the_longest_known_pieces() -> None:
    assert written("The GPU is üi 不不 xq!") == ["the", "gp", "##u", "is", "ui", "不", "不", UNKNOWN, "!"]


def test_sentences_end_at_marks_and_lines_and_addresses_do_not_count() -> None:
    found = list(sentences_of("the gpu. is the\nhttps://the.example/is ui\n\n.", KNOWN))
    assert found == [(1, 2, 3, 7), (4, 1), (6,), (7,)]


@given(st.text(max_size=3000))
def test_any_text_has_few_enough_pieces(text: str) -> None:
    found = list(sentences_of(text, KNOWN))
    assert sum(len(one) + GAP for one in found) + GAP <= PLACES
    assert all(math.isfinite(said) for said in says(text).values())


def plainly(text: str, table: dict[str, Any]) -> dict[str, float]:
    """What phrases.says gives, from its docstring: one number after the other."""
    parts = {row["part"]: base64.b64decode(row["numbers"]) for row in table["network"]}
    start = memoryview(parts["start"]).cast("i").tolist()
    units = len(start)
    layer = [one - (1 << 31) for one in memoryview(parts["layer"]).cast("I").tolist()]
    vectors, last = memoryview(parts["vectors"]).cast("b").tolist(), memoryview(parts["last"]).cast("Q").tolist()
    size = len(layer) // (4 * units)

    def told(piece: int, by: int, unit: int) -> int:
        return sum(vectors[piece * size + d] * layer[(d * 4 + by) * units + unit] for d in range(size))

    places = {piece: place for place, piece in enumerate(table["pieces"][0]["lines"].split(" "))}
    sentences = list(sentences_of(text, places))
    most = []
    for unit in range(units):
        of_sentence = []
        for one in sentences:
            sums = []
            for place in range(len(one)):
                near = [(n, other) for n, other in enumerate(one) if abs(n - place) <= GAP]
                by = {0: 0, -1: 1, 1: 2}
                sums.append(start[unit] + sum(told(other, by.get(n - place, 3), unit) for n, other in near))
            of_sentence.append(max(0, *sums, 0))
        most.append((max(of_sentence), of_sentence[0]))
    row = [one for one, _ in most] + [one for _, one in most]
    scale = table["network"][0]["scale"]
    return {
        cause["cause"]: cause["begins"]
        + scale * sum(a * (b - (1 << 63)) for a, b in zip(row, last[n :: len(table["causes"])], strict=True))
        for n, cause in enumerate(table["causes"])
    }


def test_whole_numbers_side_by_side_say_what_one_after_the_other_does(table: dict[str, Any]) -> None:
    text = "GPU idle.\nOnly CPU"
    by_hand, found = plainly(text, table), says(text)
    assert found == {cause: pytest.approx(said, abs=1e-6) for cause, said in by_hand.items()}


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("As soon as the training begins the whole workstation reboots by itself", "gpu-hardware-fault"),
        ("While it trains, my graphics card is never touched and all the work is done by the CPU", "accelerator-unusable"),
        ("The script is killed while the data is read, 64 GB of RAM are full", "process-limits"),
        ("Every picture that it makes is black", "device-wrong-results"),
        ("Half way through the epoch the video memory of the card is full and it stops", "cuda-out-of-memory"),
    ],
)
def test_a_complaint_is_understood_in_other_words_than_those_of_a_ticket(text: str, cause: str) -> None:
    said = says(text)
    assert cause in sorted(said, key=lambda one: -said[one])[:2]


def test_a_text_without_words_says_nothing() -> None:
    assert says(" \n ") == {}


def test_every_cause_is_a_diagnosis_and_no_sum_leaves_its_lane(table: dict[str, Any]) -> None:
    assert {row["cause"] for row in table["causes"]} <= {c.id for c in all_checks()} | {"healthy"}
    network = phrases._network()
    parts = {row["part"]: base64.b64decode(row["numbers"]) for row in table["network"]}
    numbers = [abs(one - (1 << 31)) for one in memoryview(parts["layer"]).cast("I").tolist()]
    at_most = [0] * network.units  # if every dimension of a piece and of all its neighbours were the largest
    for place, number in enumerate(numbers):
        by = place // network.units % 4
        at_most[place % network.units] += 127 * number * (1 if by < 3 else 2 * GAP - 2)
    assert max(at_most) < phrases.MIDDLE


def test_what_odds_are_worth_rises(table: dict[str, Any]) -> None:
    rows = table["shares"]
    assert (rows[0]["odds"], rows[-1]["odds"]) == (0, 1)
    assert all(low["odds"] < high["odds"] and low["share"] <= high["share"] for low, high in pairwise(rows))
    assert rows[-1]["share"] < 1


def test_odds_are_joined_by_their_logarithms() -> None:
    assert joined_odds(0.0, 0.0) == 0.5
    assert joined_odds(-50.0, 50.0) == pytest.approx(1 / (1 + math.exp(-9.2 * 0.2)))


def test_texts_are_made_of_sentences_of_tickets() -> None:
    import random

    texts = [[[1], [2], [3]], [[4], [5]]]
    for made in learn_phrases.more(texts, 200, random.Random(0)):
        assert made
        assert all(any(sentence in text for text in texts) for sentence in made)

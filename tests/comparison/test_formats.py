"""A comparison in each format: its looks, its schema, hostile names and values, and what may not leave."""

from __future__ import annotations

import json as stdlib_json
import re
import unicodedata

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.comparison import compare
from doctor.decode import Refused
from doctor.evidence.refusals import refusal
from doctor.redaction.report import comparison_redaction
from doctor.reports import json as report_json
from doctor.reports.compare import json, layout, markdown, text
from tests.comparison.machines import EVIL, GOOD, HIDDEN, PAIRS, facts, report
from tests.reports.hostile import PIECES, live_commands
from tests.reports.test_sinks import ALIVE, INLINE, MARKDOWN, inline_tokens
from tests.sample import examples

HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=7).map("".join)


@pytest.mark.parametrize("name", PAIRS)
def test_text(name: str, snapshot) -> None:
    shown = text.render(compare(PAIRS[name]))
    assert shown == snapshot
    assert all(len(line) <= 80 for line in shown.splitlines())
    if name != "fleet":
        assert len(shown.splitlines()) <= (30 if name == "many" else 24), "one screen"


@pytest.mark.parametrize("name", PAIRS)
def test_markdown(name: str, snapshot) -> None:
    assert markdown.render(compare(PAIRS[name])) == snapshot


@pytest.mark.parametrize("name", PAIRS)
def test_json_is_valid_and_comes_back(name: str) -> None:
    comparison = compare(PAIRS[name])
    jsonschema.validate(stdlib_json.loads(json.render(comparison)), json.schema(), jsonschema.Draft202012Validator)
    if name != "hostile":
        assert json.parse(json.render(comparison)) == comparison
    with pytest.raises(Refused, match="compare-1"):
        json.parse(report_json.render(GOOD))


def hostile(words: str):
    """A comparison with these words wherever a file can put them."""
    bad = report(facts(works=False, environ={"CUDA_VISIBLE_DEVICES": words, words: "1"}, python=words, numpy=words,
                       driver=words, os_name=words), words)  # fmt: skip
    return compare([GOOD, bad, HIDDEN], [words, f"{words}2", "mine.json"])


@given(HOSTILE)
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_is_alive_in_any_format(words: str) -> None:
    comparison = hostile(words)
    for shown in (text.render(comparison, every=True), markdown.render(comparison), json.render(comparison)):
        assert live_commands(shown) == []
    document = markdown.render(comparison)
    assert {t.type for t in inline_tokens(document)} <= INLINE
    for token in inline_tokens(document):
        assert token.type != "text" or not ALIVE.search(token.content), token.content
    blocks = [t.content for t in MARKDOWN.parse(document) if t.type == "html_block"]
    assert all(re.fullmatch(r"<details><summary>[\w ,:()'-]*</summary>\s*|</details>\s*", block) for block in blocks)
    lines = text.render(comparison, every=True).splitlines()
    assert all(unicodedata.category(c) not in ("Cc", "Cf") for line in lines for c in line)


def test_values_of_ten_megabytes_stay_short() -> None:
    comparison = compare([GOOD, report(facts(works=False, environ={"CUDA_VISIBLE_DEVICES": "x" * 10_000_000}), "m")])
    assert len(text.render(comparison, every=True)) < 8_000
    assert len(markdown.render(comparison)) <= markdown.LENGTH


def test_what_may_not_leave_is_replaced() -> None:
    secret = "hf_" + "aB3" * 12
    bad = report(facts(works=False, environ={"CUDA_VISIBLE_DEVICES": secret, "LD_LIBRARY_PATH": "/home/tgarcia/lib"}),
                 "/home/tgarcia/mine.json")  # fmt: skip
    comparison, stand_ins = comparison_redaction(compare([GOOD, bad]), names=(("host", "buildbox77"),))
    assert comparison.redacted
    assert {s.kind for s in stand_ins} >= {"secret", "user"}
    for shown in (json.render(comparison), markdown.render(comparison)):
        assert "aB3aB3" not in shown
        assert "tgarcia" not in shown


def test_versions_are_no_addresses() -> None:
    one, other = report(facts(numpy="9.1.0.70"), "a"), report(facts(numpy="9.5.1.17"), "b")
    redacted, _ = comparison_redaction(compare([one, other]))
    assert [v.text for d in redacted.differences for v in d.values] == ["9.1.0.70", "9.5.1.17"]


def test_the_sentence_on_top_names_the_cause() -> None:
    assert layout.verdict(compare([GOOD, HIDDEN])) == "gpu-hidden is explained by CUDA_VISIBLE_DEVICES."
    assert layout.verdict(compare([GOOD, GOOD])).startswith("Nothing differs")
    assert layout.verdict(compare([HIDDEN, HIDDEN])).startswith("Nothing differs")
    assert layout.verdict(compare([GOOD, EVIL])).endswith("there is no verdict on <img src=x>\x1b]0;t\x07@team|.json.")


REPORT = report_json.render(GOOD)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (REPORT, None),
        ("torch 2.6.0, CUDA is not available", None),
        ('{"some": "json", "torch": "2.6"}', None),
        (REPORT.replace('"schema": "1"', '"schema": "2"'), 'schema "2", and this version of torchdoctor reads'),
        (REPORT.replace('"schema": "1"', '"schema": "\\u001b[31m"'), 'schema "?"'),
        (REPORT[: len(REPORT) // 2], "cut short"),
        (REPORT.replace('"duration_ms": 1.0', f'"duration_ms": 1.0, "x": "{"y" * 10_000_000}"'), "longer than"),
        (REPORT.replace('"duration_ms": 1.0', '"duration_ms": ' + "[" * 2000), "cut short"),
        ('{"schema": "bench-1", "tool": "torchdoctor 1.0"}', "bench --compare"),
        ('{"schema": "fleet-1", "tool": "torchdoctor 1.0"}', "fleet"),
        (json.render(compare([GOOD, HIDDEN])), "it is a comparison"),
        ('{"schema": "facts-1", "facts": []}', "--facts"),
    ],
    ids=["report", "text", "other json", "newer", "hostile schema", "cut", "10 MB", "deep", "bench", "fleet", "compare",
         "facts"],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused_in_one_line(data: str, why: str | None) -> None:
    said = refusal(data.encode())
    if why is None:
        assert said is None
    else:
        assert said is not None
        assert why in said
        assert said.isprintable()
        assert len(said) < 200


@given(st.binary(max_size=200) | HOSTILE.map(lambda t: t.encode("utf-8", "replace")))
def test_no_bytes_make_it_raise(data: bytes) -> None:
    for text_ in (data, b"{" + data, b'{"schema": "1", "tool": "torchdoctor 1.0", ' + data):
        said = refusal(text_)
        assert said is None or said.isprintable()

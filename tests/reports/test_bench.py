"""Benchmarks in each format: what they show, that they are read back, and that foreign text is inert in them."""

from __future__ import annotations

import csv as csv_module
import dataclasses
import io
import json as json_module
from typing import Any

import html5lib
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from doctor.bench.compare import compare, merge
from doctor.bench.suites import SUITES
from doctor.decode import Refused
from doctor.knowledge import published
from doctor.model.bench import BenchReport
from doctor.redaction.report import redact_bench
from doctor.reports.bench import csv, html, json, layout, markdown, text
from tests.bench.samples import ALL, FIVE, VGG, explained, report, row, timing
from tests.reports.hostile import PIECES, live_commands
from tests.reports.test_formats import body_of
from tests.reports.test_sinks import ALIVE

HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=5).map("".join)
MARKDOWN = MarkdownIt("gfm-like", {"linkify": True, "html": True})
RENDERERS = {"text": text, "csv": csv, "markdown": markdown, "html": html, "json": json}


def hostile(value: Any, words: str) -> Any:
    """The same with these words in every text that is of no closed vocabulary."""
    if isinstance(value, str):
        return words
    if isinstance(value, tuple):
        return tuple(hostile(v, words) for v in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        kept = {"schema", "status", "phase", "dtype", "dtypes", "stopped", "effort", "bound", "taken_at"}
        return dataclasses.replace(value, **{
            f.name: hostile(getattr(value, f.name), words)
            for f in dataclasses.fields(value) if f.name not in kept
        })  # fmt: skip
    return value


def unique(value: BenchReport) -> BenchReport:
    """Rows keep keys of their own."""
    rows = tuple(dataclasses.replace(r, key=f"{r.key}{n}") for n, r in enumerate(value.rows))
    return dataclasses.replace(value, rows=rows)


@pytest.mark.parametrize("format", RENDERERS)
@pytest.mark.parametrize("name", ALL)
def test_formats(name: str, format: str, snapshot: SnapshotAssertion) -> None:
    shown = RENDERERS[format].render(explained(ALL[name]))
    assert (body_of(shown) if format == "html" else shown) == snapshot


def test_comparison_and_merged_table(snapshot: SnapshotAssertion) -> None:
    rows = (VGG.rows[0], dataclasses.replace(VGG.rows[1], timing=None, gate=VGG.rows[3].gate), VGG.rows[2])
    result = compare(VGG, dataclasses.replace(VGG, rows=rows, taken_at="2026-11-23T10:00:00Z"))
    assert text.render_comparison(result) + markdown.render_comparison(result) == snapshot(name="comparison")
    table = merge([VGG, FIVE])
    shown = text.render_merged(table) + markdown.render_merged(table) + csv.render_merged(table)
    assert shown == snapshot(name="merged")
    assert json_module.loads(json.render(result))["schema"] == "bench-compare-1"
    assert json_module.loads(json.render(table))["schema"] == "bench-merge-1"


@pytest.mark.parametrize("name", ALL)
def test_json_is_read_back_and_fits_its_schema(name: str) -> None:
    written = json.render(explained(ALL[name]))
    assert json.parse(written) == explained(ALL[name])
    jsonschema.Draft202012Validator(json.schema()).validate(json_module.loads(written))


def test_the_schema_refuses_something() -> None:
    data = json_module.loads(json.render(VGG))
    data["rows"][0]["gate"]["status"] = "fine"
    assert list(jsonschema.Draft202012Validator(json.schema()).iter_errors(data))


WRONG = {
    "cut off": (json.render(VGG)[:-200], "it is not JSON"),
    "empty": ("", "it is not JSON"),
    "newer": (json.render(VGG).replace('"bench-1"', '"bench-2"', 1), "made by a newer torchdoctor"),
    "a check's report": ('{"schema": "1"}', "report of an examination"),
    "something else": ('{"a": 1}', "not a report of torchdoctor bench"),
    "a list": ("[1]", "not a report of torchdoctor bench"),
    "deep": ("[" * 100 + "]" * 100, "nested too deeply"),
    "no time": (json.render(report(row())).replace('"median_ms": 100.0', '"median_ms": -1.0'), "row 1: its median"),
    "infinite": (json.render(report(row())).replace('"median_ms": 100.0', '"median_ms": 1e999'), "too large"),
    "batch": (json.render(report(row())).replace('"batch": 32', '"batch": 0'), "row 1: its batch"),
    "twice": (json.render(report(row(), row())), "row 2: the same key"),
    "time of an invalid row": (json.render(report(row())).replace('"ok"', '"INVALID"', 1), "row 1: it says INVALID"),
    "text for a number": (json.render(report(row())).replace('"batch": 32', '"batch": "32"'), "is not a whole number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_report_is_refused_in_one_line(name: str) -> None:
    content, words = WRONG[name]
    with pytest.raises(Refused, match=words) as refused:
        json.parse(content)
    assert "\n" not in str(refused.value)


@given(HOSTILE, st.sampled_from(sorted(ALL)))
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_foreign_text_is_inert(words: str, name: str) -> None:
    sample = hostile(ALL[name], words)
    assert live_commands(text.render(sample)) == []
    assert live_commands(json.render(unique(sample))) == []
    assert json.parse(json.render(unique(sample)))
    page = markdown.render(sample)
    inline = [c for t in MARKDOWN.parse(page) if t.type == "inline" for c in t.children or ()]
    assert {t.type for t in inline} <= {"text", "code_inline", "softbreak", "strong_open", "strong_close"}
    assert not any(t.type == "text" and ALIVE.search(t.content) for t in inline), page
    lines = list(csv_module.reader(io.StringIO(csv.render(sample))))
    assert {len(line) for line in lines} == {len(csv.COLUMNS)}
    assert not any(cell.lstrip().startswith(("=", "@")) for line in lines for cell in line)


@given(HOSTILE, st.sampled_from(sorted(ALL)))
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_page_has_the_same_elements_whatever_it_quotes(words: str, name: str) -> None:
    def shape(document: str) -> list[tuple[str, list[str]]]:
        parser = html5lib.HTMLParser(strict=False, namespaceHTMLElements=False)
        tree = parser.parse(document)
        assert [e for e in parser.errors if e[1] != "control-character-in-input-stream"] == []
        return [(str(e.tag), sorted(e.attrib)) for e in tree.iter()]

    assert shape(html.render(hostile(ALL[name], words))) == shape(html.render(hostile(ALL[name], "word")))


def test_a_product_is_held_against_healthy_devices_of_the_model() -> None:
    product = row("matmul", "cuda:0", 1, 2.5, phase="product", size="4096", tflops=48.0)
    [(name, said)] = layout.standing(report(product))
    assert name == "matmul 4096, cuda:0"
    assert said.startswith("48 TFLOP/s FP32, 94 % of the 51.2 that a healthy NVIDIA H200 reaches")


def test_the_nearest_published_row_names_what_differs() -> None:
    [(_, said)] = layout.standing(report(row(device="cuda:0", batch=32, ms=100.0)))
    assert "nearest published: 224 on RTX 3090" in said or "nearest published" in said
    assert "differs: another device" in said


def test_html_asks_nobody() -> None:
    page = html.render(VGG)
    assert "default-src 'none'" in page
    for word in ("src=", "@import", "url(", "<link"):
        assert word not in page


def test_no_time_is_shown_where_the_result_is_wrong() -> None:
    shown = text.render(VGG)
    assert "INVALID" in shown
    m1 = [line for line in shown.splitlines() if "M1 (plain)" in line]
    assert m1
    assert all("WRONG" in line and " ms" not in line for line in m1)


def test_what_may_not_leave_is_replaced() -> None:
    noted = dataclasses.replace(VGG, notes=("RuntimeError in /home/anna/ml/run.py at 10.1.2.3",))
    assert "anna" not in json.render(redact_bench(noted, names=(("user", "anna"), ("home", "/home/anna"))))
    assert redact_bench(VGG) == VGG


def test_known_names_source_and_reason() -> None:
    shown = text.render_known(width=100)
    flat = " ".join(shown.split())
    for known in published.known():
        assert " ".join(known.reason.split()) in flat
        assert (known.work.address or "no address on record") in flat
    assert len(layout.references().lines) == len(published.known())


def test_commands_that_are_named_exist() -> None:
    """A suite and options that `bench` has."""
    from doctor.cli import bench

    options = {o for p in bench.command.params for o in p.opts}
    for known in published.known():
        words = known.see.split()
        assert words[:2] in ([], ["torchdoctor", "bench"])
        assert {w for w in words if w.startswith("--")} <= options
        if "--suite" in words:
            assert words[words.index("--suite") + 1] in SUITES
    assert {s for w in published.works().values() for s in w.suites} <= set(SUITES)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wider_than_the_terminal(name: str) -> None:
    shown = text.render(explained(ALL[name]), width=80)
    wide = [line for line in shown.splitlines() if len(line) > 80 and "://" not in line]
    assert not wide


@pytest.mark.parametrize(("blocks", "steps", "stopped", "words"), [
    (3, 1, "time-over", "±1.0 % (3 steps)"), (4, 2, "time-over", "±1.0 % (8 steps)"),
    (30, 1, "time-over", "±1.0 % (time over)"), (30, 1, "precise", "±1.0 %"),
])  # fmt: skip
def test_how_many_steps_a_short_row_has_is_shown(blocks: int, steps: int, stopped: str, words: str) -> None:
    assert layout.spread_of(timing(100.0, blocks=blocks, steps_per_block=steps, stopped=stopped)) == words

"""Markdown, JUnit and GitHub annotations: their looks, and that foreign text stays text."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
import sys
from xml.etree import ElementTree

import click
import html5lib
import pytest
from rich.cells import cell_len

from doctor.checks import all_checks
from doctor.cli import output
from doctor.cli.main import run
from doctor.model.fix import Fix
from doctor.reports import github, html, junit, markdown, measured, summary, terminal
from tests.reports.samples import ALL, FAULTY, HEALTHY, HOSTILE
from tests.table import table


@pytest.mark.parametrize("format", [markdown, junit, github], ids=lambda m: m.__name__.rpartition(".")[2])
@pytest.mark.parametrize("name", ["faulty", "healthy", "hostile", "unexplained", "hostile-unexplained"])
def test_looks(format, name: str, snapshot) -> None:
    assert format.render(ALL[name]) == snapshot


@pytest.mark.parametrize("name", ALL)
def test_junit_is_xml_and_counts(name: str) -> None:
    suite = ElementTree.fromstring(junit.render(ALL[name]))[0]
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert int(suite.get("tests")) == len(suite.findall("testcase"))


@pytest.mark.parametrize(
    ("fix", "offer"),
    [
        ({}, "Do it."),
        ({"needs_root": True, "needs_reboot": True}, "Do it (root, reboot)."),
        ({"downloads_mb": 2650}, "Do it (downloads about 2.6 GB)."),
        ({"downloads_mb": 137}, "Do it (downloads about 140 MB)."),
        ({"downloads_mb": 3}, "Do it (downloads about 3 MB)."),
        ({"changes": ("torchvision 0.22.1",)}, "Do it (also changes torchvision 0.22.1)."),
    ],
)
def test_an_offer_has_its_price(fix: dict[str, object], offer: str) -> None:
    assert summary.offer(Fix(finding="a", action="none", title="Do it.", **fix)) == offer


@pytest.mark.parametrize("format", [markdown, html, terminal])
def test_alternatives_show_their_price(format) -> None:
    words = " ".join(format.render(FAULTY).split())
    assert "Or: a torch build that this driver can run (downloads about 2.6 GB, also changes torchvision" in words


def test_github_levels() -> None:
    lines = github.render(FAULTY).splitlines()
    assert [line.split()[0] for line in lines[:3]] == ["::error", "::warning", "::notice"]
    assert lines[-1] == "1 fault: nvidia-driver-too-old; 1 warning: companion-mismatch."


def test_foreign_text_starts_no_workflow_command() -> None:
    text = github.render(HOSTILE)
    assert [line for line in text.splitlines() if line.lstrip().startswith("::error::")] == []
    assert text.count("\n") == 2


def test_markdown_has_no_foreign_markup() -> None:
    assert "script" in markdown.render(HOSTILE)
    text = re.sub(r"```.*?```|`[^`\n]*`", "", markdown.render(HOSTILE), flags=re.DOTALL)
    assert "<script>" not in text
    assert "@you" not in text


def test_healthy_markdown_begins_with_the_verdict() -> None:
    assert markdown.render(HEALTHY, block=False).startswith("**Nothing is wrong: torch can use the RTX 4090.**")


@table("check", all_checks(), ids=lambda c: c.id)
def test_pages(check) -> None:
    assert check.id in markdown.render_page(check)
    page = terminal.render_page(check)
    for heading in ("What it means", "How to see it yourself", "What to do", "References"):
        assert heading in page
    assert too_wide(page) == []


def too_wide(text: str) -> list[str]:
    """Lines of more than 80 columns that could be wrapped."""
    return [line for line in text.splitlines() if cell_len(line) > 80 and " " in line.strip()]


def test_the_list_of_all_diagnoses_fits_80_columns(capsys) -> None:
    assert run(["explain", "--list"]) == 0
    said = capsys.readouterr().out
    assert too_wide(said) == []
    assert {check.id for check in all_checks()} <= set(said.split())


def test_what_a_message_can_mean_fits_80_columns(capsys) -> None:
    assert run(["explain", "CUDA error: no kernel image is available for execution on the device"]) == 0
    commands = [line for line in too_wide(capsys.readouterr().out) if "python -c" not in line]
    assert commands == []  # which are never wrapped


def body_of(page: str) -> str:
    """What is in a page beside what all pages share: from its header to its script."""
    begin, end = page.index("<header>"), page.index("<p class=\"said\" id=\"said\"")
    return page[begin:end]


@pytest.mark.parametrize("name", ["faulty", "many", "measured", "unknown"])
def test_html_looks(name: str, snapshot) -> None:
    assert body_of(html.render(ALL[name])) == snapshot


@pytest.mark.parametrize("name", ALL)
def test_html_stands_alone(name: str) -> None:
    text = html.render(ALL[name])
    body = body_of(text)
    assert summary.verdict(ALL[name]).split(":")[0] in text
    assert not re.search(r"<(script|img|link|iframe|style)\b|\bhttps?://(?!download\.pytorch\.org)", body)
    assert not re.search(r" (src|style|on\w+)=", body)
    assert not re.search(r"\burl\(|@import|fetch\(|https?:", text.replace(body, ""))
    for row in summary.rows(ALL[name]):
        assert f'<th scope="row">{row.layer}</th>' in text


@pytest.mark.parametrize("name", ["faulty", "hostile"])
def test_a_page_allows_its_own_style_and_script_alone(name: str) -> None:
    """By their hashes: whatever else got in would not run."""
    text = html.render(ALL[name])
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        [inside] = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ALL)
def test_a_page_names_its_parts(name: str) -> None:
    """Landmarks, one first heading, no heading skipped, no id twice, and every link within the page leads somewhere."""
    tree = html5lib.parse(html.render(ALL[name]), namespaceHTMLElements=False)
    tags = [e.tag for e in tree.iter() if isinstance(e.tag, str)]
    assert [tags.count(t) for t in ("header", "nav", "main", "footer", "h1")] == [1] * 5
    levels = [int(t[1]) for t in tags if re.fullmatch(r"h[1-6]", t)]
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    assert {e.get("href")[1:] for e in tree.iter("a")} <= set(ids)


def test_causes_are_drawn_in_their_order() -> None:
    [driver, numpy] = html.causes(ALL["many"])
    assert driver.finding.id == "nvidia-driver-too-old"
    [build] = driver.consequences
    [asked] = build.consequences
    assert [build.finding.id, asked.finding.id] == ["torch-cpu-only", "requested-device-missing"]
    assert [s.line for s in asked.symptoms] == [12]
    assert [s.line for s in numpy.symptoms] == [3]


def test_bars_say_what_they_show() -> None:
    """Every bar's length and mark is per cent of its room, and a rate without an expected one has no bar."""
    first, second, cpu = measured.devices(ALL["measured"])
    bars = {bar.name: bar for bar in (*first.bars, *first.transfers)}
    assert bars["fp64"].width is None
    assert bars["host to device, pinned"].said.startswith("not judged: GPUs that were probed together")
    assert bars["bf16"].verdict == "ok"
    assert bars["bf16"].width > bars["bf16"].expected_at
    assert [bar.verdict for bar in second.bars] == ["very slow", "below"] or all(
        bar.width < bar.expected_at for bar in second.bars
    )
    assert cpu.bars[-1].said.startswith("133% of at least")
    for device in measured.devices(ALL["measured"]):
        for bar in device.bars:
            assert bar.width is None or max(bar.width, bar.expected_at) == pytest.approx(100 / measured.ROOM, abs=0.01)


def test_a_busy_device_is_not_called_slow() -> None:
    from dataclasses import replace

    busy = tuple(replace(p, data={**p.data, "busy": True}) for p in ALL["measured"].facts.probes)
    report = replace(ALL["measured"], facts=replace(ALL["measured"].facts, probes=busy))
    bars = [bar for device in measured.devices(report) for bar in (*device.bars, *device.transfers)]
    assert {bar.verdict for bar in bars} <= {"ok", ""}
    assert any("other programs used the device" in bar.said for bar in bars)


def test_html_escapes() -> None:
    text = body_of(html.render(HOSTILE))
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "\x1b" not in text


def test_html_without_jinja2_is_wrong_usage(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for module in ("doctor.reports.html", "doctor.reports.pages"):
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(click.UsageError, match=r"torchdoctor\[html\]"):
        output.text_of(FAULTY, "html", {})


@pytest.mark.parametrize("severity", ["fault", "warning", "note"])
def test_a_remedy_that_is_words_only_is_always_shown(severity: str) -> None:
    from dataclasses import replace

    from doctor.fixes.plan import plan
    from tests.fixes.situations import finding

    words = "Let the program choose its device at run time; here that is mps."
    found = replace(finding("backend-impossible-here", ("none", {"reason": words}), layer="run"), severity=severity)
    made = plan([found], HEALTHY.facts)
    report = replace(HEALTHY, findings=(found,), plan=made)
    for format in (terminal, markdown, html):
        assert "choose its device at run time" in " ".join(format.render(report).split()), format.__name__

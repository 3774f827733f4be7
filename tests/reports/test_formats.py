"""Markdown, JUnit and GitHub annotations: their looks, and that foreign text stays text."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import click
import pytest

from doctor.checks import all_checks
from doctor.cli import output
from doctor.model.fix import Fix
from doctor.reports import github, html, junit, markdown, summary, terminal
from tests.reports.samples import ALL, FAULTY, HEALTHY, HOSTILE


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
    assert markdown.render(HEALTHY).startswith("**Nothing is wrong: torch can use the RTX 4090.**")


@pytest.mark.parametrize("check", all_checks(), ids=lambda c: c.id)
def test_pages(check) -> None:
    assert check.id in markdown.render_page(check)
    page = terminal.render_page(check)
    for heading in ("What it means", "How to see it yourself", "What to do", "References"):
        assert heading in page


@pytest.mark.parametrize("name", ALL)
def test_html_stands_alone(name: str) -> None:
    text = html.render(ALL[name])
    assert summary.verdict(ALL[name]).split(":")[0] in text
    assert not re.search(r"<(script|img|link|iframe)\b|\bhttps?://(?!download\.pytorch\.org)", text.replace("&lt;", ""))
    for row in summary.rows(ALL[name]):
        assert f"<td>{row.layer}</td>" in text


def test_html_escapes() -> None:
    text = html.render(HOSTILE)
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "\x1b" not in text


def test_html_without_jinja2_is_wrong_usage(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "doctor.reports.html")
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

"""Every form of a fleet's report: valid in its own format, foreign names inert, hosts replaced where that is wanted."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import html5lib
import jsonschema
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from syrupy.assertion import SnapshotAssertion

from doctor.fleet.judge.judgement import judge
from doctor.fleet.judge.ranks import Expected
from doctor.model.fleet import FleetReport
from doctor.redaction.report import redact_fleet
from doctor.reports.fleet import html, junit, layout, lists, markdown, openmetrics, text
from doctor.reports.fleet import json as fleet_json
from tests.fleet import simulated as sim


def sick(evil: str = "") -> FleetReport:
    """A slow link, a slow GPU, a missing node, one pair that is wrong; `evil` in a host's and a device's name."""
    records = sim.fleet(5, 4)
    sim.slow_link(records, "node0003", sim.link_to(records, "node0003"), 0.5)
    sim.slow_gpu(records, 5)
    sim.missing_node(records, "node0004")
    wrong = replace(records[3].pairs[0], state="wrong", wrong=1, why="1 of 9 elements differ" + evil)
    records[3] = replace(records[3], pairs=(wrong, *records[3].pairs[1:]))
    if evil:
        records = {r: replace(x, host=evil if x.host == "node0002" else x.host, name=f"{x.name} {evil}")
                   for r, x in records.items()}  # fmt: skip
    expected = Expected(world=20, hosts={r: f"node{r // 4:04d}" for r in range(20)}, unreadable={})
    return judge(records.values(), expected, tool="torchdoctor 1.0", taken_at="2026-11-22T10:02:00Z")


def test_text(snapshot: SnapshotAssertion) -> None:
    shown = text.render(sick())
    assert shown == snapshot
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("Exclude"))


def test_markdown(snapshot: SnapshotAssertion) -> None:
    assert markdown.render(sick()) == snapshot


def test_json_is_valid_and_comes_back() -> None:
    report = sick()
    jsonschema.validate(json.loads(fleet_json.render(report)), fleet_json.schema())
    assert fleet_json.parse(fleet_json.render(report)) == report


def test_junit() -> None:
    suite = ElementTree.fromstring(junit.render(sick()))[0]
    assert int(suite.get("tests", "0")) == len(suite) > 5
    failed = {case.get("name") for case in suite if case.find("failure") is not None}
    assert {"node0001", "node0004"} <= failed


def test_openmetrics_is_what_prometheus_reads() -> None:
    for report in (sick(), sick("a\"b\\c\nd")):
        families = {f.name: f for f in text_string_to_metric_families(openmetrics.render(report))}
        assert len(families["torchdoctor_fleet_node_verdict"].samples) == len(report.nodes)
        found = {s.labels["id"] for s in families["torchdoctor_fleet_finding"].samples}
        assert found
        assert found <= {f.id for f in report.findings}


def test_openmetrics() -> None:
    lines = openmetrics.render(sick("a\"b\\c")).splitlines()
    assert lines[-1] == "# EOF"
    assert "torchdoctor_fleet_verdict 2" in lines
    for line in lines:
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            float(value)
            assert name.startswith("torchdoctor_fleet_")


def test_lists() -> None:
    report = sick()
    assert lists.bad(report) == "node0000,node0004\n"
    assert lists.good(report) == "node0002,node0003\n"
    assert lists.drain(report).splitlines()[0].split("\t")[0] == "node0000"
    conditions = json.loads(lists.conditions(report))
    status = {host: body["status"]["conditions"][0]["status"] for host, body in conditions.items()}
    assert status == {"node0000": "False", "node0001": "False", "node0002": "True", "node0003": "True",
                      "node0004": "False"}  # fmt: skip


def test_html_has_a_map_of_each_node_and_between_them() -> None:
    report = sick()
    document = html5lib.parse(html.render(report), namespaceHTMLElements=False)
    maps = [t for t in document.iter("table") if t.get("class") == "map"]
    assert len(maps) == 5
    bad = [cell for cell in document.iter("td") if "bad" in (cell.get("class") or "").split()]
    assert len(bad) == 3  # the wrong pair, and both directions of the slow link
    assert len(list(document.iter("script"))) == 1  # the page's own


EVIL = ["<script>alert(1)</script>", "x\x1b[31m", "@someone #12 |", "a,b --exclude", "::set-output x", "=cmd()"]


@pytest.mark.parametrize("evil", EVIL)
def test_foreign_names_are_inert_everywhere(evil: str) -> None:
    report = sick(evil)
    for form in (text, markdown, junit, openmetrics):
        assert "\x1b" not in form.render(report)
    document = html5lib.parse(html.render(report), namespaceHTMLElements=False)
    assert len(list(document.iter("script"))) == 1  # the page's own
    ElementTree.fromstring(junit.render(report))
    assert evil not in lists.bad(report) + lists.good(report)
    for line in lists.drain(report).splitlines():
        assert line.count("\t") == 1


def test_hosts_are_named_unless_they_are_to_be_replaced() -> None:
    report = sick()
    assert "node0003" in fleet_json.render(report)
    shown = fleet_json.render(redact_fleet(report))
    assert "node0003" not in shown
    assert "node0001" not in shown
    assert json.loads(shown)["verdict"] == "fail"


def test_large_fleets_are_shown_in_part() -> None:
    records = sim.fleet(80, 2)
    expected = Expected(world=160, hosts={}, unreadable={})
    report = judge(records.values(), expected, tool="t", taken_at="2026-11-22T10:02:00Z")
    assert len(text.render(report).splitlines()) < 60
    assert len(layout.maps(report)) == 17
    assert len(report.nodes) == 80

"""Every format for a healthy machine, one fault, many, a likely one, and no verdict: reviewed, and read by tools of
those whose format it is."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from doctor import agents
from doctor.cli import fix, options
from doctor.fixes.quoting import SHELLS, Shell
from doctor.model.facts import Declaration, Origin
from doctor.model.finding import Evidence, Remedy
from doctor.model.report import Report, Target
from doctor.redaction.report import redact
from doctor.reports import env, github, html, junit, markdown, openmetrics, sarif, terminal
from doctor.reports import json as json_format
from doctor.reports.places import Place, places
from tests.reports.samples import (
    ALL,
    DECLARED,
    FACTS,
    FAULTY,
    HEALTHY,
    HOSTILE_TEXT,
    NOTE,
    STATES,
    TOO_OLD,
    UNEXPLAINED,
)
from tests.reports.test_formats import body_of

SCHEMAS = Path(__file__).parent / "schemas"


def _fix(report: Report, shell: Shell | None = None) -> str:
    """What `fix` says on stdout and stderr, and its exit code; with a shell, `fix --print-commands --shell`."""
    said = io.StringIO()
    given = {"shell": shell, "color": None, "output": None}
    with redirect_stdout(said), redirect_stderr(said):
        code = fix._told(report, "terminal", shell is not None, given)
    return f"{said.getvalue()}exit code {code}"


FORMATS = {
    "terminal": SimpleNamespace(render=lambda report: terminal.render(report, color=False, width=80)),
    "json": json_format, "markdown": markdown, "junit": junit, "github": github, "sarif": sarif,
    "job-summary": SimpleNamespace(render=github.job_summary), "openmetrics": openmetrics,
    "html": SimpleNamespace(render=lambda report: body_of(html.render(report))),
    **{f"ticket --as {name}": SimpleNamespace(render=render) for name, render in env.SHAPES.items()},
    "fix": SimpleNamespace(render=_fix),
    **{f"fix --shell {name}": SimpleNamespace(render=partial(_fix, shell=name)) for name in SHELLS},
    "mcp": SimpleNamespace(render=lambda report: json.dumps(agents._told(report), indent=1)),
}  # fmt: skip


@cache
def sarif_validator() -> jsonschema.Draft4Validator:
    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER)


@cache
def junit_schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(str(SCHEMAS / "junit-10.xsd"))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("state", STATES)
def test_looks(format: str, state: str, snapshot) -> None:
    """`fix` and its scripts as a user sees them: with the real names."""
    report = STATES[state] if format.startswith("fix") else redact(STATES[state])
    assert FORMATS[format].render(report) == snapshot


def test_no_format_is_left_out() -> None:
    assert set(options.FORMATS) <= set(FORMATS)


@pytest.mark.parametrize("name", [*STATES, *ALL])
def test_sarif_is_valid(name: str) -> None:
    log = json.loads(sarif.render({**STATES, **ALL}[name]))
    sarif_validator().validate(log)
    run = log["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [rules[r["ruleIndex"]] for r in run["results"]] == [r["ruleId"] for r in run["results"]]
    for result in run["results"]:  # what GitHub wants beside the schema
        assert result["message"]["text"]
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


def test_an_invalid_sarif_is_refused() -> None:
    log = sarif.document(FAULTY)
    log["runs"][0]["results"][0]["level"] = "fault"
    with pytest.raises(jsonschema.ValidationError):
        sarif_validator().validate(log)


@pytest.mark.parametrize("name", [*STATES, *ALL])
def test_junit_is_what_jenkins_accepts(name: str) -> None:
    junit_schema().validate(ElementTree.fromstring(junit.render({**STATES, **ALL}[name])))


@pytest.mark.parametrize("name", [*STATES, *ALL])
@pytest.mark.parametrize("parse", [text_string_to_metric_families, prometheus_families])
def test_openmetrics_is_what_prometheus_reads(name: str, parse) -> None:
    report = {**STATES, **ALL}[name]
    families = {family.name: family for family in parse(openmetrics.render(report))}
    assert families["torchdoctor_verdict"].samples[0].value == openmetrics.VERDICTS[report.verdict]
    said = {s.labels["id"] for s in families["torchdoctor_finding"].samples} if report.findings else set()
    assert said == {f.id for f in report.findings}


def test_openmetrics_keeps_hostile_labels_whole() -> None:
    facts = replace(FACTS, interpreter=replace(FACTS.interpreter, version='3\\n"} 1\nx{a="'))
    families = list(text_string_to_metric_families(openmetrics.render(replace(FAULTY, facts=facts))))
    assert {f.name for f in families} >= {"torchdoctor_info", "torchdoctor_verdict"}
    assert not any(f.name == "x" for f in families)


# ---- where a finding belongs


def declaring(*declared: Declaration) -> Report:
    return replace(FAULTY, facts=replace(FACTS, declared=declared))


def test_a_finding_points_at_the_line_that_brings_torch_in() -> None:
    assert places(declaring(*DECLARED), TOO_OLD) == (Place("requirements.txt", 4), Place("docker/Dockerfile", 9))


def test_a_package_of_its_own_comes_first() -> None:
    finding = replace(TOO_OLD, remedies=(Remedy(action="install-package", details={"package": "Torchvision"}),))
    assert places(declaring(*DECLARED), finding)[0] == Place("requirements.txt", 5)


def test_without_torch_it_is_the_image() -> None:
    assert places(declaring(DECLARED[2]), TOO_OLD) == (Place("docker/Dockerfile", 1),)
    assert places(declaring(), TOO_OLD) == ()


def test_of_a_text_it_is_the_quoted_line() -> None:
    target = Target(python=None, reason="evidence", evidence=("log.txt",))
    facts = replace(FACTS, live=False, origins={"torch.version": Origin(source="collect_env", line=7)})
    quoted = replace(TOO_OLD, evidence=(Evidence(fact="message", value="x", source="log.txt, line 12"),))
    by_origin = replace(TOO_OLD, evidence=(Evidence(fact="torch.version", value="2.6"),))
    report = replace(FAULTY, facts=facts, target=target)
    assert places(report, quoted)[0] == Place("log.txt", 12)
    assert places(report, by_origin)[0] == Place("log.txt", 7)
    assert places(report, replace(TOO_OLD, evidence=())) == (Place("log.txt", 1),)


def test_sarif_has_the_other_lines_as_related_ones() -> None:
    result = sarif.document(declaring(*DECLARED))["runs"][0]["results"][0]
    assert [one["physicalLocation"]["artifactLocation"]["uri"] for one in result["locations"]] == ["requirements.txt"]
    assert [one["physicalLocation"]["region"]["startLine"] for one in result["relatedLocations"]] == [9]


def test_sarif_messages_have_no_foreign_links() -> None:
    finding = replace(TOO_OLD, detail="see [here](javascript:alert(1)) and [2][ref]")
    text = sarif.document(replace(FAULTY, findings=(finding,)))["runs"][0]["results"][0]["message"]["text"]
    assert "](" not in text
    assert "][" not in text


# ---- GitHub's limits


def many(count: int, severity: str = "fault") -> Report:
    findings = tuple(replace(TOO_OLD, severity=severity, title=f"Fault {n}.") for n in range(count))
    return replace(FAULTY, findings=findings)


@pytest.mark.parametrize(("severity", "level"), [("fault", "error"), ("warning", "warning"), ("note", "notice")])
@pytest.mark.parametrize("count", [9, 10, 11, 200])
def test_ten_annotations_of_a_kind(severity: str, level: str, count: int) -> None:
    lines = [x for x in github.render(many(count, severity)).splitlines() if x.startswith(f"::{level}")]
    assert len(lines) == min(count, 10)
    assert lines[-1].endswith(f"::{count - 9} more: nvidia-driver-too-old") == (count > 10)


def test_a_missing_verdict_is_among_the_ten_warnings() -> None:
    report = replace(UNEXPLAINED, findings=many(20, "warning").findings)
    warnings = [x for x in github.render(report).splitlines() if x.startswith("::warning")]
    assert len(warnings) == 10
    assert "No verdict" in warnings[-1] or "no verdict" in warnings[-1].lower()


def test_an_annotation_names_file_and_line_and_nothing_can_break_out() -> None:
    declared = Declaration(file="a,b:c%d/requirements.txt\n::error::x", line=3, what="torch")
    line = github.render(declaring(declared)).splitlines()[0]
    assert line.startswith("::error file=a%2Cb%3Ac%25d/requirements.txt ")
    assert ",line=3,title=torchdoctor nvidia-driver-too-old::" in line


@pytest.mark.parametrize("text", ["x" * 5_000_000, HOSTILE_TEXT * 10_000], ids=["long", "hostile"])
def test_a_long_text_fits_everywhere(text: str) -> None:
    finding = replace(TOO_OLD, detail=text, title=text)
    report = replace(FAULTY, findings=(finding, *(replace(NOTE, detail=text),) * 3))
    assert max(map(len, github.render(report).splitlines())) < 3 * github.MESSAGE_LENGTH
    assert len(github.job_summary(report).encode()) <= github.SUMMARY_BYTES
    assert len(sarif.render(report)) < 200_000


def test_a_summary_goes_into_the_room_that_is_left() -> None:
    assert "<!-- torchdoctor" not in github.job_summary(FAULTY)
    assert len(github.job_summary(FAULTY, 300).encode()) <= 300
    assert github.job_summary(FAULTY, 10) == ""
    assert github.job_summary(HEALTHY).startswith("**Nothing is wrong")

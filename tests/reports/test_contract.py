"""JSON is a contract: every case of the bank gives a report that is valid by the schema and can be read again, and
reports of other versions are read. The suite takes every third case (all with TORCHDOCTOR_TEST_ALL=1)."""

from __future__ import annotations

import copy
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.decode import check_shapes
from doctor.evidence import own_report
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.model.symptom import RESEMBLES
from doctor.pipeline import examine
from doctor.redaction.report import redact
from doctor.reports import block, markdown
from doctor.reports import json as report_json
from tests.sample import every

HERE = Path(__file__).parent
BANK = sorted((HERE.parent / "cases" / "bank").glob("*/*/input.txt"))
RECORDED = sorted((HERE / "recorded").glob("*.json"))
PYTHON = re.compile(  # what only a program would say
    r"\b(?:Gpu|Torch|Package|Source|Origin|Gap|ProbeResult|Limits|StartFailure|ImportFailure)\(|Absent\.|<Absent"
    r"|\| (?:None|darwin)\b|\| `!!` \| \w+ \| not (?:known|in the evidence) \|"
)
VALIDATOR = jsonschema.Draft202012Validator(report_json.schema())


@cache
def report_of(path: Path) -> Report:
    return examine(Request(evidence=((path.parent.name, path.read_bytes()),)))


def found(report: Report) -> tuple[object, ...]:
    """The verdict and the findings, without what the words of a text resemble: a report's are its own."""
    told = (f for f in report.findings if all(e.fact != RESEMBLES for e in f.evidence))
    return report.verdict, [(f.id, f.severity, f.root, f.confidence) for f in told]


def read_back(text: str) -> Report:
    return examine(Request(evidence=(("issue.md", text.encode()),)))


def test_the_bank_is_there() -> None:
    assert len(BANK) >= 100


@pytest.mark.parametrize("path", every(3, BANK), ids=lambda p: p.parent.name)
def test_a_case_of_the_bank_is_valid_and_comes_back(path: Path) -> None:
    """By the schema; as values; and from a ticket with the same findings, after redaction, quoted."""
    report = report_of(path)
    check_shapes(report.facts)
    redacted = redact(report)
    VALIDATOR.validate(json.loads(report_json.render(redacted)))
    text = markdown.render(redacted)
    assert len(text) <= markdown.LENGTH
    assert not PYTHON.search(text.partition("<details>")[0])
    assert len(block.made(redacted)[0]) <= block.SIZE
    quoted = "\r\n".join(f"> {line}" for line in f"Hello,\n{text}".splitlines())
    assert found(read_back(quoted)) == found(report)


# ---- other versions: live-first and text-first are what the first version printed, the others a later one


def said_by(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_recorded_reports_are_read(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    said = json.loads(text)
    faults = [f["id"] for f in said["findings"] if f["severity"] == "fault"]
    assert faults
    again = read_back(text)
    assert [f.id for f in again.findings if f.severity == "fault"] == faults
    assert again.verdict == said["verdict"]
    assert not [gap for gap in again.facts.gaps if gap.source == "report"]
    assert again.facts.live is said["facts"]["live"]
    assert report_json.parse(text).verdict == said["verdict"]


def with_more(value: Any) -> Any:
    """A report as a later version may print it: a key more in every object of a known type."""
    if isinstance(value, dict):
        return {**{k: with_more(v) if k not in ("environ", "data") else v for k, v in value.items()},
                **({} if "absent" in value else {"later": {"x": [1, None, "y"]}})}  # fmt: skip
    return [with_more(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_unknown_keys_are_ignored(path: Path) -> None:
    said = said_by(path)
    more = copy.deepcopy(said)
    more["later"] = "x"
    # where keys are names, a new one is data
    kept = {name: more["facts"].pop(name) for name in ("origins", "environ")}
    more["facts"] = {**with_more(more["facts"]), **kept}
    assert found(read_back(json.dumps(more))) == found(read_back(json.dumps(said)))
    assert own_report.read(json.dumps(more).encode()).facts == own_report.read(json.dumps(said).encode()).facts  # type: ignore[union-attr]


def test_a_value_that_only_a_later_version_knows_is_not_known_here() -> None:
    said = said_by(HERE / "recorded" / "text-first.json")
    said["facts"]["gpus"][0]["vendor"] = "qualcomm"
    again = read_back(json.dumps(said))
    assert again.facts.gpus is None
    assert any(gap.fact == "gpus" and gap.source == "report" for gap in again.facts.gaps)
    assert again.verdict != "healthy"


def test_a_newer_schema_is_no_report_of_ours() -> None:
    said = said_by(HERE / "recorded" / "text-first.json")
    said["schema"] = "2"
    assert own_report.read(json.dumps(said).encode()) is None
    assert read_back(json.dumps(said)).verdict != "healthy"


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.99])
def test_a_report_that_was_cut_is_never_healthy(share: float) -> None:
    text = (HERE / "recorded" / "live-accounted.json").read_text(encoding="utf-8")
    assert read_back(text[: int(len(text) * share)]).verdict != "healthy"

"""JSON and back, and the schema."""

from __future__ import annotations

import dataclasses
import json as stdlib_json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.model.facts import ABSENT, Facts, Gpu, ProbeResult, Torch
from doctor.reports import json
from tests.reports.samples import ALL, FAULTY, HEALTHY

SCHEMA = json.schema()


@pytest.mark.parametrize("name", ALL)
def test_round_trip(name: str) -> None:
    assert json.parse(json.render(ALL[name])) == ALL[name]


@pytest.mark.parametrize("name", ALL)
def test_valid_by_the_schema(name: str) -> None:
    jsonschema.validate(stdlib_json.loads(json.render(ALL[name])), SCHEMA, jsonschema.Draft202012Validator)


def test_the_schema_is_one_and_refuses() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    data = stdlib_json.loads(json.render(FAULTY))
    data["findings"][0]["severity"] = "fatal"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_packaged_schema_is_current() -> None:
    packaged = Path(json.__file__).with_name("report-1.schema.json").read_text(encoding="utf-8")
    assert stdlib_json.loads(packaged) == SCHEMA


def test_absent_unknown_and_empty_differ() -> None:
    unknown, absent, known = (json.encode(Facts(torch=t))["torch"] for t in (None, ABSENT, Torch(version="absent")))
    assert unknown is None
    assert absent == {"absent": True}
    assert known["version"] == "absent"
    for value in (None, ABSENT, "absent", "2.6.0"):
        torch = Torch(version="2.6.0", cuda=value)
        assert json.decode(Torch, json.encode(torch)) == torch


def test_contract_of_the_design() -> None:
    data = stdlib_json.loads(json.render(FAULTY))
    assert data["schema"] == "1"
    assert data["verdict"] == "faulty"
    assert data["target"]["python"]
    assert data["findings"][1]["explained_by"] == "nvidia-driver-too-old"
    assert {"id", "layer", "severity", "root", "explained_by", "title", "detail", "evidence"} <= data["findings"][
        0
    ].keys()
    assert {"finding", "action", "details", "steps", "alternatives"} <= data["plan"]["fixes"][0].keys()
    assert {"text", "argv"} <= data["plan"]["fixes"][0]["steps"][0].keys()


def test_no_nan() -> None:
    probe = ProbeResult(id="cpu", device="cpu", status="ok", data={"a": float("nan"), "b": [float("inf"), 1.5]})
    assert json.encode(probe)["data"] == {"a": None, "b": [None, 1.5]}


def test_stable_order() -> None:
    first = ProbeResult(id="cpu", device="cpu", status="ok", data={"b": 1, "a": 2})
    second = dataclasses.replace(first, data={"a": 2, "b": 1})
    assert stdlib_json.dumps(json.encode(first)) == stdlib_json.dumps(json.encode(second))


def test_undecodable_file_names_are_text() -> None:
    text = stdlib_json.dumps(json.encode(Gpu(vendor="nvidia", name="a\udcffb")))
    assert stdlib_json.loads(text)["name"] == "a\\udcffb"


def test_one_line() -> None:
    assert json.render(HEALTHY, indent=None).count("\n") == 1


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"schema": "2"}', '{"schema": "1"}', '{"schema": "1", "tool": 3}', "nothing"]
)
def test_no_report_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json.parse(text)


def test_fields_of_later_versions_are_ignored() -> None:
    data = stdlib_json.loads(json.render(HEALTHY))
    data["invented"] = data["facts"]["invented"] = {"x": 1}
    assert json.parse(stdlib_json.dumps(data)) == HEALTHY


@given(
    st.builds(
        Gpu,
        vendor=st.sampled_from(["nvidia", "amd"]),
        name=st.none() | st.text(),
        memory_bytes=st.none() | st.integers(),
    )
)
def test_any_gpu_comes_back(gpu: Gpu) -> None:
    back = json.decode(Gpu, stdlib_json.loads(stdlib_json.dumps(json.encode(gpu))))
    if gpu.name is None or not any("\ud800" <= c <= "\udfff" for c in gpu.name):
        assert back == gpu

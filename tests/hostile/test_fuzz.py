"""A short run of scripts/fuzz_inputs.py, and the inputs that once ended in a bug."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from doctor.decode import Refused, check_shapes, decode, decode_fields, loads
from doctor.evidence import own_report
from doctor.model.facts import ABSENT, Facts, Gpu, Nvidia, Stage, Torch
from doctor.model.report import Report
from doctor.pipeline import Request, examine
from doctor.probes.said import line_of
from tests.sample import ALL

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_inputs", ROOT / "scripts" / "fuzz_inputs.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.platform == "win32", reason="recorded machines are shell scripts")
def test_a_few_mutations_of_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code = script().fuzz(1400 if ALL else 700, 20, share=0.05, machines=2)
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize(("text", "reason"), [
    ("[" * 100_000, "it is nested too deeply"),
    ("[" * 40 + "]" * 40, "it is nested too deeply"),
    ('{"a": ' * 900 + "1" + "}" * 900, "it is nested too deeply"),
    ("9" * 5000, "it has a number of 5000 digits"),
    ("1e999", "it has a number that is too large"),
    ("NaN", "NaN is no number"),
    ("{", "it is not JSON"),
    ("", "it is not JSON"),
    ("[" + "1," * 300_000 + "1]", "it has more than 200000 values"),
    (" " * (5 << 20), "it is longer than 4194304 bytes"),
    (b"\xff\xfe", "it is not UTF-8"),
])  # fmt: skip
def test_what_is_no_value_is_refused_with_the_reason(text: str | bytes, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        loads(text)
    assert str(refused.value) == reason


def test_lone_surrogates_do_not_come_through() -> None:
    assert loads('{"\\ud800": ["\\udfff"]}') == {"?": ["?"]}


@pytest.mark.parametrize(("kind", "data"), [
    (Gpu, {"vendor": "other"}), (Gpu, {"vendor": ["nvidia"]}), (Gpu, {}), (Gpu, []), (Gpu, None),
    (Nvidia, {"gpus_seen": True}), (Nvidia, {"gpus_seen": 1.0}), (Nvidia, {"driver": {"absent": 1}}),
    (Torch, {"arch_list": "sm_80"}), (Torch, {"arch_list": [5]}), (Stage, {"name": "x", "ok": 1, "ms": 1.0}),
    (Facts, {"torch": {"copies": [{}]}}),
])  # fmt: skip
def test_what_is_of_another_type_is_refused(kind: type, data: object) -> None:
    with pytest.raises(Refused):
        decode(kind, data)


def test_absent_and_unknown_are_told_apart() -> None:
    assert decode(Nvidia, {"driver": {"absent": True}}).driver is ABSENT
    assert decode(Nvidia, {"driver": None}).driver is None


def test_a_field_is_refused_for_itself() -> None:
    values, refused = decode_fields(Torch, {"version": "2.6.0", "arch_list": 5, "unheard_of": 1})
    assert values == {"version": "2.6.0"}
    assert refused == {"arch_list": "arch_list is not an array"}


@pytest.mark.parametrize("value", [
    Gpu(vendor="nvidia", capability="8.x"), Nvidia(gpus_seen=10**18), Torch(version="x"), Torch(version="1" * 99),
    Facts(gpus=(Gpu(vendor="amd", gfx="gfx"),)), Gpu(vendor="nvidia", memory_bytes=-1),
])  # fmt: skip
def test_what_cannot_be_is_refused(value: object) -> None:
    with pytest.raises(Refused):
        check_shapes(value)


@pytest.mark.parametrize("line", [
    '{"event": "begin"}', '{"event": "end", "stage": "open"}', '{"event": "share", "share": 2}', '{"event": "share"}',
    '{"event": "end", "stage": "open", "ok": true, "ms": 1, "data": {"wrong": "x"}}', "[]", "5", '{"event": ["begin"]}',
    '{"event": "end", "stage": "speed", "ok": true, "ms": 1, "data": {"pairs": [{"gbs": "x"}]}}',
])  # fmt: skip
def test_a_line_that_is_none_is_refused(line: str) -> None:
    with pytest.raises(Refused):
        line_of(line)


def own(**facts: object) -> bytes:
    return json.dumps({"schema": "1", "tool": "torchdoctor 1.0", "facts": facts}).encode()


@pytest.mark.parametrize("facts", [
    {"gpus": [{"vendor": "nvidia", "capability": "x"}]}, {"interpreter": {"version": "3"}}, {"torch": {"version": "?"}},
    {"nvidia": {"gpus_seen": 10**18}}, {"probes": [{"id": "cpu", "device": "cpu", "status": "ok",
                                                   "data": {"float32_tflops_burst": "fast"}}]},
    {"torch": []}, {"gaps": [5]},
])  # fmt: skip
def test_a_report_that_was_changed_is_taken_without_the_parts_that_cannot_be(facts: dict[str, object]) -> None:
    said = own_report.read(own(host={"system": "linux"}, **facts))
    assert said
    taken = said.facts
    (part,) = facts
    (gap,) = (gap for gap in taken.gaps if gap.source == "report")
    assert (gap.fact, gap.reason) == (part, "unreadable")
    assert taken.host.system == "linux"
    report = examine(Request(evidence=(("report.json", own(**facts)),)))
    assert isinstance(report, Report)
    assert report.verdict == "unknown"

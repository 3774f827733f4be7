"""Facts that somebody hands over: each fact of the model can be stated, nothing else can, and the verdict is the usual one."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import doctor
from doctor.evidence import stated
from doctor.model.facts import ABSENT, Torch
from tests.table import table


def handed_over(*facts: tuple[str, object], messages: tuple[str, ...] = ()) -> dict[str, Any]:
    entries = [{"fact": fact, "value": value, "quote": f"the ticket on {fact}"} for fact, value in facts]
    return {"schema": "facts-1", "facts": entries, "messages": list(messages)}


BLACKWELL = handed_over(
    ("host.system", "linux"),
    ("torch.version", "2.6.0+cu124"),
    ("gpus", [{"vendor": "nvidia", "name": "NVIDIA GeForce RTX 5070 Ti"}]),
    messages=("CUDA error: no kernel image is available for execution on the device",),
)


def test_stated_facts_are_judged_like_any_others() -> None:
    report = doctor.judge(BLACKWELL)
    assert [f.id for f in report.findings if f.root] == ["gpu-too-new-for-build"]
    assert report.facts.origins["torch.version"].quote == "the ticket on torch.version"
    assert report.target.evidence == ("facts",)


def test_they_overrule_the_text_and_close_its_gaps() -> None:
    text = "PyTorch version: 2.1.0\nIs CUDA available: False\n"
    before = doctor.examine(evidence=text)
    assert isinstance(before.facts.torch, Torch)
    report = doctor.judge(handed_over(("torch.version", "2.6.0+cu124"), ("nvidia.driver", "550.54")), evidence=text)
    assert isinstance(report.facts.torch, Torch)
    assert report.facts.torch.version == "2.6.0+cu124"
    assert report.facts.torch.cuda_available is False  # what was not stated is kept
    assert not any(gap.fact == "nvidia.driver" for gap in report.facts.gaps)


def test_absent_is_known() -> None:
    report = doctor.judge(handed_over(("torch", {"absent": True}), ("interpreter.version", "3.12.4")))
    assert report.facts.torch is ABSENT
    assert "torch-missing" in [f.id for f in report.findings]


def test_a_variable_is_stated_by_its_name() -> None:
    facts = doctor.judge(handed_over(("environ.CUDA_VISIBLE_DEVICES", ""))).facts
    assert facts.environ == {"CUDA_VISIBLE_DEVICES": ""}


def test_nothing_stated_is_not_healthy() -> None:
    assert doctor.judge(handed_over()).verdict == "unknown"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is not an object"),
        ('{"facts": []}', 'its "schema" is not "facts-1"'),
        ({"schema": "facts-1", "notes": 1}, 'there is no key "notes"'),
        ({"schema": "facts-1", "facts": {}}, '"facts" is not an array'),
        ({"schema": "facts-1", "facts": [{"fact": "torch.version", "value": "2.6.0"}]}, 'with "fact", "value" and "quote"'),
        (handed_over(("torch.versoin", "2.6.0")), "did you mean torch.version?"),
        (handed_over(("torch.version", 2.6)), "torch.version is not a text"),
        (handed_over(("torch.version", "the newest one")), "torch.version cannot be"),
        (handed_over(("torch.version", None)), "left out, not null"),
        (handed_over(("torch.version", "2.6.0"), ("torch.version", "2.6.0")), "stated twice"),
        (handed_over(("torch", {"absent": True}), ("torch.version", "2.6.0")), "as a whole and in parts"),
        (handed_over(("verdict", "healthy")), "there is no fact 'verdict'"),
        (handed_over(messages=(" ",)), "messages[0] is not a text"),
        (handed_over(messages=("x" * 3000,)), "longer than 2000"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_reason(said: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)) as refused:
        stated.parse(said)
    assert "\n" not in str(refused.value)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["2.6.0", "linux", "nvidia"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from(stated.names()), values), max_size=5))
def test_every_hand_over_is_judged_or_refused(facts: list[tuple[str, object]]) -> None:
    try:
        made = stated.parse(json.dumps(handed_over(*facts)))
    except ValueError:
        return
    assert set(made.values) == {fact for fact, _ in facts}
    doctor.judge(handed_over(*facts))


def nested(times: int) -> Any:
    value: Any = "x"
    for _ in range(times):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("fact", ["environ", "environ.TORCH_X", "packages", "gpus", "torch", "host.memory_bytes"])
@table(
    "value",
    [float("nan"), float("inf"), 10**30, 10**5000, -(10**5000), nested(40), nested(100_000), {1, 2}, b"x", {1: {2: 3}},
     {(1,): "x"}, ["\ud800"], {"\ud800": "\ud800"}, object(), range(3)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_decoded_values_are_bounded_like_a_text(fact: str, value: Any) -> None:
    """A program hands over what JSON cannot hold, or not so deep: refused in one line, or judged."""
    try:
        doctor.judge(handed_over((fact, value)))
    except stated.Refused as refused:
        why = str(refused)
    else:
        why = ""
    assert "\n" not in why

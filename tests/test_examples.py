"""Every check's own examples, in tests/checks/<layer>/<file name of the check>.py:

BAD = {"a short name": facts or the text of a ticket}: the check is found, and is the first fault if it is a fault;
GOOD = {...}: the check is not found. A value may be Case(facts_or_text, first="other-id", severity="warning").
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from doctor.checks import all_checks, check_of
from doctor.checks.runner import judge
from tests.example_case import Case, facts_of

IDS = [c.id for c in all_checks()]


def examples_of(id: str):
    check = next(c for c in all_checks() if c.id == id)
    return importlib.import_module(f"tests.checks.{check.layer}.{id.replace('-', '_')}")


def cases(id: str, kind: str) -> Iterator[tuple[str, Case]]:
    """Name and case of each example of that kind."""
    for name, case in getattr(examples_of(id), kind).items():
        yield name, case if isinstance(case, Case) else Case(case)


@pytest.mark.parametrize("id", IDS)
def test_has_examples(id: str) -> None:
    examples = examples_of(id)
    assert examples.BAD or check_of(id).concluded
    assert examples.GOOD


@pytest.mark.parametrize("id", IDS)
def test_bad(id: str) -> None:
    assert {name: wrong for name, case in cases(id, "BAD") if (wrong := not_found(id, case))} == {}


def not_found(id: str, case: Case) -> str:
    """What is wrong where the check should be found, or ""."""
    outcomes, findings = judge(facts_of(case.what, case.as_of))
    if crashed := [o.id for o in outcomes if o.status == "crashed"]:
        return f"crashed: {crashed}"
    found = {f.id: f for f in findings}
    if id not in found:
        return f"found instead: {list(found)}; outcome: {[o for o in outcomes if o.id == id]}"
    if case.severity and found[id].severity != case.severity:
        return f"severity {found[id].severity}, not {case.severity}"
    if found[id].severity == "fault" and findings[0].id != (case.first or id):
        return f"{findings[0].id} comes first"
    if not found[id].remedies:
        return "a finding names its remedy (action none with a reason, if there is nothing to do)"
    return ""


@pytest.mark.parametrize("id", IDS)
def test_good(id: str) -> None:
    for name, case in cases(id, "GOOD"):
        outcomes, findings = judge(facts_of(case.what, case.as_of))
        assert [o.id for o in outcomes if o.status == "crashed"] == [], name
        assert id not in [f.id for f in findings], name

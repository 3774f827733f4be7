"""Every check's own examples, in tests/checks/<layer>/<file name of the check>.py:

BAD = {"a short name": facts or the text of a ticket}: the check is found, and is the first fault if it is a fault;
GOOD = {...}: the check is not found. A value may be Case(facts_or_text, first="other-id", severity="warning").
"""

from __future__ import annotations

import importlib

import pytest

from doctor.checks import all_checks, check_of
from doctor.checks.runner import judge
from tests.example_case import Case, facts_of

IDS = [c.id for c in all_checks()]


def examples_of(id: str):
    check = next(c for c in all_checks() if c.id == id)
    return importlib.import_module(f"tests.checks.{check.layer}.{id.replace('-', '_')}")


def pairs(kind: str):
    for id in IDS:
        for name, case in getattr(examples_of(id), kind).items():
            yield pytest.param(id, case if isinstance(case, Case) else Case(case), id=f"{id}: {name}")


@pytest.mark.parametrize("id", IDS)
def test_has_examples(id: str) -> None:
    examples = examples_of(id)
    assert examples.BAD or check_of(id).concluded
    assert examples.GOOD


@pytest.mark.parametrize(("id", "case"), list(pairs("BAD")))
def test_bad(id: str, case: Case) -> None:
    outcomes, findings = judge(facts_of(case.what, case.as_of))
    assert not [o for o in outcomes if o.status == "crashed"]
    found = {f.id: f for f in findings}
    assert id in found, f"found instead: {list(found)}; outcome: {[o for o in outcomes if o.id == id]}"
    if case.severity:
        assert found[id].severity == case.severity
    if found[id].severity == "fault":
        assert findings[0].id == (case.first or id)
    assert found[id].remedies, "a finding names its remedy (action none with a reason, if there is nothing to do)"


@pytest.mark.parametrize(("id", "case"), list(pairs("GOOD")))
def test_good(id: str, case: Case) -> None:
    outcomes, findings = judge(facts_of(case.what, case.as_of))
    assert not [o for o in outcomes if o.status == "crashed"]
    assert id not in [f.id for f in findings]

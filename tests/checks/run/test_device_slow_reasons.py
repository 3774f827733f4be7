"""device-slow names the reason that it sees."""

from __future__ import annotations

import pytest

from doctor.checks.runner import judge
from tests.checks.run.device_slow import REASONS


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_is_named(name: str) -> None:
    facts, reason = REASONS[name]
    (finding,) = judge(facts, ("device-slow",))[1]
    assert finding.values["reason"] == reason
    assert reason[1:] in finding.detail

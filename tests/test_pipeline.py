"""The verdict: what may be called healthy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks.runner import judge
from doctor.model.facts import ABSENT, Facts, Torch
from doctor.pipeline import Request, examine, verdict
from tests.examples import linux, mac, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 3090"
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"


def judged(facts: Facts) -> str:
    outcomes, findings = judge(facts)
    return verdict(facts, findings, outcomes)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (with_torch(linux(), "2.6.0+cpu", cuda_available=False), "healthy"),
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True), "healthy"),
        (with_torch(mac(), "2.6.0", mps_built=True, mps_available=True), "healthy"),
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cpu", cuda_available=False), "faulty"),
        (replace(linux(), torch=ABSENT), "faulty"),
        (linux(), "unknown"),
        (with_torch(linux(), "2.6.0+cpu", imports=None), "unknown"),
        (Facts(live=False), "unknown"),
        (Facts(live=False, torch=Torch(version="2.6.0+cu124")), "unknown"),
        (with_error(Facts(live=False, torch=Torch(version="2.6.0+cu124")), "no-kernel-image", NO_KERNEL), "unknown"),
    ],
)
def test_verdict(facts: Facts, expected: str) -> None:
    assert judged(facts) == expected


def test_a_ticket_about_something_else_is_unknown() -> None:
    report = examine(Request(evidence=(("mail", b"The printer on the second floor is out of paper.\n"),)))
    assert (report.verdict, report.findings) == ("unknown", ())

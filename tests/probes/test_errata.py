"""Which errata are tried on which device, and what a child's answer says of them."""

from __future__ import annotations

import pytest

from doctor.knowledge.errata import Match
from doctor.model.facts import ProbeResult, Stage
from doctor.probes.errata import Trial, judged, trials
from tests.examples import device, linux, mac, with_nvidia, with_torch
from tests.knowledge.test_errata import erratum

GPU = with_torch(
    with_nvidia(linux(), "NVIDIA H200"), "2.11.0+cu130", cuda_available=True,
    devices=(device("cuda", "NVIDIA H200"),),
)  # fmt: skip
MAC = with_torch(mac(), "2.8.0", mps_available=True, devices=(device("mps", "Apple M1"),))


def match(*backends: str, **changes: object) -> Match:
    return Match(erratum=erratum(**{"trigger": "clamp_twice", "backends": backends, **changes}), backends=backends)


def test_a_trigger_runs_on_the_first_device_that_meets_it() -> None:
    found = (match("cuda", "cpu"), match("cpu"), match("mps"), match("cuda", trigger=""))
    assert [t.device for t in trials(found, GPU)] == ["cuda:0", "cpu"]
    assert [t.device for t in trials(found, MAC)] == ["cpu", "cpu", "mps"]
    assert [t.device for t in trials(found, GPU, ("cpu",))] == ["cpu", "cpu"]


def result(status: str = "ok", stage: str | None = "errata", **data: object) -> ProbeResult:
    stages = (Stage(name="errata", ok=True, ms=2.0, data=data),) if data else ()
    return ProbeResult(id="cpu", device="cpu", status=status, stage=stage, reason="so it ended", stages=stages)


@pytest.mark.parametrize(
    ("kind", "answer", "outcome", "detail"),
    [
        ("wrong-result", result(seen="3 of 4 elements are wrong"), "confirmed", "3 of 4 elements are wrong"),
        ("wrong-result", result(seen=""), "not here", ""),
        ("wrong-result", result(untried="needs 8.0 GiB of free memory"), "untried", "needs 8.0 GiB of free memory"),
        ("crash", result("crashed"), "confirmed", "so it ended"),
        ("hang", result("timed-out"), "confirmed", "so it ended"),
        ("wrong-result", result("crashed"), "untried", "so it ended"),
        ("hang", result("crashed"), "untried", "so it ended"),
        ("crash", result("crashed", "open"), "untried", "so it ended"),
        ("crash", result("skipped", "import"), "untried", "so it ended"),
        ("error", result("failed"), "untried", "so it ended"),
    ],
)
def test_what_an_answer_says(kind: str, answer: ProbeResult, outcome: str, detail: str) -> None:
    tried = judged(Trial(match("cpu", kind=kind), "cpu"), answer)
    assert (tried.outcome, tried.detail) == (outcome, detail)


def test_a_trial_keeps_its_match() -> None:
    one = match("cpu")
    assert judged(Trial(one, "cpu"), result(seen="x")).match == one._replace()

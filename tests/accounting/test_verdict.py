"""What may be called healthy, and what a limited judgement may say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.judgement import judged
from doctor.evidence.read import read
from doctor.model.facts import ABSENT, ErrorText, Facts, Gap, Stage, Torch
from doctor.pipeline import Request, examine
from tests.examples import device, linux, mac, probe, proven, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

RTX = "NVIDIA GeForce RTX 3090"
NO_KERNEL = "CUDA error: no kernel image is available for execution on the device"
CUDA = with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", RTX),))
MPS = with_torch(mac(), "2.6.0", mps_built=True, mps_available=True, devices=(device("mps", "Apple M1 Pro"),))
CPU = with_torch(linux(), "2.6.0+cpu", cuda_available=False, devices=())


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (proven(CPU), "healthy"),
        (proven(CUDA, "cuda:0"), "healthy"),
        (proven(MPS, "mps"), "healthy"),
        (CUDA, "unknown"),  # nothing was probed
        (proven(CUDA), "unknown"),  # the GPU was not
        (proven(with_torch(with_nvidia(linux(), RTX), "2.6.0+cpu", cuda_available=False)), "faulty"),
        (replace(linux(), torch=ABSENT), "faulty"),
        (linux(), "unknown"),
        (proven(with_torch(linux(), "2.6.0+cpu", imports=None)), "unknown"),
        (Facts(live=False), "unknown"),
        (Facts(live=False, torch=Torch(version="2.6.0+cu124")), "unknown"),
        (with_error(Facts(live=False, torch=Torch(version="2.6.0+cu124")), "no-kernel-image", NO_KERNEL), "unknown"),
        (Facts(live=False, torch=Torch(version="2.6.0+cu124", cuda=" 12.4", cuda_available=True)), "healthy"),
    ],
)
def test_verdict(facts: Facts, expected: str) -> None:
    assert judged(facts).verdict.value == expected


def test_a_child_that_only_says_ok_has_proven_nothing() -> None:
    facts = replace(proven(CUDA, "cuda:0"), probes=(probe("cpu"), probe("cuda:0", stages=())))
    verdict = judged(facts).verdict
    assert verdict.value == "unknown"
    assert "cuda:0" in verdict.unproven[0]


def test_copies_between_gpus_are_a_proof_of_their_own() -> None:
    """What the full probe of a machine with several GPUs adds."""
    facts = proven(CUDA, "cuda:0")
    stages = (Stage(name="open", ok=True, ms=1.0), Stage(name="peers", ok=True, ms=9.0))
    peers = replace(probe("cuda", stages=stages), id="peers")
    assert judged(replace(facts, probes=(*(facts.probes or ()), peers))).verdict.value == "healthy"


def test_a_device_that_could_not_be_probed_is_not_proven() -> None:
    lost = probe("cuda:0", "skipped", stage="start", reason="the process ended with exit code 1")
    verdict = judged(replace(proven(CUDA), probes=(probe("cpu"), lost))).verdict
    assert verdict.value == "unknown"
    assert any("exit code 1" in reason for reason in verdict.unproven)


def test_a_limited_judgement_is_none_of_the_whole() -> None:
    no_probe = replace(CUDA, gaps=(Gap(fact="probes", reason="not-looked", detail="--no-probe"),))
    made = judged(no_probe, limits=("--no-probe",))
    assert (made.verdict.value, made.verdict.unproven) == ("unknown", ())
    only = judged(CUDA, only=("gpu-hidden",), limits=("--only gpu-hidden",))
    assert (only.verdict.value, only.verdict.unproven) == ("unknown", ())


def test_a_check_that_cannot_say_leaves_the_question_open() -> None:
    made = judged(Facts(), only=("gpu-hidden",), limits=("--only gpu-hidden",))
    assert made.verdict.value == "unknown"
    assert made.verdict.unproven[0].startswith("gpu-hidden cannot be judged")


def test_what_a_line_says_must_be_explained() -> None:
    seen = replace(CUDA, live=False, errors=(ErrorText(pattern="line", text="fatal error: the flux is broken"),))
    made = judged(seen)
    assert made.verdict.value == "unknown"
    assert made.account.left_over[0].id == "unknown-message"
    assert judged(replace(CUDA, live=False)).verdict.value == "healthy"


def test_a_programs_own_exception_beside_a_working_gpu_is_healthy() -> None:
    own = ErrorText(pattern="exception", text="KeyError: 'lr'", groups=("KeyError", "'lr'"))
    made = judged(replace(CUDA, live=False, errors=(own,)))
    assert made.verdict.value == "healthy"
    assert made.account.symptoms[0].explained_by in ("program", "program-error")


def test_a_ticket_about_something_else_is_unknown() -> None:
    report = examine(Request(evidence=(("mail", b"The printer on the second floor is out of paper.\n"),)))
    assert (report.verdict, report.findings) == ("unknown", ())


@pytest.mark.parametrize(
    "said", ["cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling"]
)
def test_a_computation_that_failed_is_not_health_whatever_may_be_behind_it(said):
    text = f"RuntimeError: {said}\n{collect_env('2.9.1+cu128')}"
    assert judged(read((("ticket", text.encode()),)).facts).verdict.value != "healthy"

"""Which finding explains which symptom, what is concluded from the rest, and what is asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.account import WORKS
from doctor.accounting.judgement import Judgement, judged
from doctor.accounting.questions import ASKS, answers
from doctor.accounting.symptoms import symptoms_of
from doctor.checks import all_checks, check_of, is_programs_own
from doctor.evidence.read import read
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, ErrorText, Facts, Gap, ImportFailure, InstallAttempt, ProbeResult, Torch
from doctor.model.symptom import KINDS
from tests.example_case import facts_of
from tests.examples import device, linux, probe, proven, with_error, with_nvidia, with_torch
from tests.table import table
from tests.tickets import collect_env

RTX = "NVIDIA GeForce RTX 4090"
WORKING = proven(
    with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", RTX),)), "cuda:0"
)


def from_text(text: str) -> Judgement:
    return judged(replace(read((("ticket", text.encode()),)).facts, live=False))


# ---- symptoms


@pytest.mark.parametrize(
    ("facts", "id", "kind"),
    [
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=False), "accelerator-unused", "no-device"),
        (
            replace(linux(), torch=Torch(version="2.6.0", imports=False, import_failure=ImportFailure(
                kind="exception", message="libfoo.so.1: cannot open"))),
            "import-failed", "import",
        ),
        (
            replace(linux(), torch=Torch(version="2.6.0", imports=False, import_failure=ImportFailure(
                kind="timed-out", message="import took longer than 60 s"))),
            "import-failed", "hang",
        ),
        (replace(linux(), attempts=(InstallAttempt(tool="pip", failed=True, message="no wheel"),)), "install-failed",
         "install"),
        (replace(linux(), probes=(probe("cuda:0", "crashed", signal=11),)), "probe-crashed", "compute"),
        (replace(linux(), probes=(probe("cuda:0", "timed-out"),)), "probe-hung", "hang"),
        (replace(linux(), probes=(probe("cuda:0", "failed", data={"wrong": "all zeros"}),)), "probe-wrong-results",
         "wrong-result"),
        (replace(linux(), probes=(probe("cuda:0", "skipped", stage="start", reason="no memory"),)), "probe-did-not-run",
         "compute"),
        (with_error(linux(), "line", "fatal error: no such thing"), "unknown-message", "unknown"),
        (with_error(linux(), "exception", "KeyError: 'x'", "KeyError", "'x'"), "exception", "program"),
        (with_error(linux(), "exception", "RuntimeError: odd", "RuntimeError", "odd"), "exception", "unknown"),
    ],
)  # fmt: skip
def test_symptoms(facts: Facts, id: str, kind: str) -> None:
    assert (id, kind) in [(s.id, s.kind) for s in symptoms_of(facts)]


@pytest.mark.parametrize(
    "facts",
    [
        WORKING,
        with_error(linux(), "line", "WARNING: all is well"),
        replace(linux(), probes=(probe("cuda:1", "skipped", reason="not wanted"),)),
        with_error(linux(), "nnpack-unsupported-hardware", "Could not initialize NNPACK! Reason: Unsupported"),
    ],
)
def test_what_is_no_symptom(facts: Facts) -> None:
    assert symptoms_of(facts) == ()


def test_one_line_is_one_symptom() -> None:
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    ids = [s.id for s in symptoms_of(read((("t", text.encode()),)).facts)]
    assert ids == ["no-kernel-image"]


# ---- what explains what


@pytest.mark.parametrize(
    ("text", "kind", "cause"),
    [
        ("RuntimeError: HIP error 719", "compute", "amd-gpu-unsupported"),
        ("RuntimeError: level_zero failed: ZE_RESULT_ERROR_DEVICE_LOST", "compute", "gpu-hardware-fault"),
        ("RuntimeError: nothing that anybody knows, 719", "unknown", ""),
    ],
)
def test_a_line_that_no_row_knows_is_read_by_its_code(text: str, kind: str, cause: str) -> None:
    (symptom,) = symptoms_of(replace(read((("text", text.encode()),)).facts, live=False))
    assert symptom.kind == kind
    assert (cause in symptom.causes) == bool(cause)


def test_a_finding_explains_the_symptoms_that_it_causes() -> None:
    facts = with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=False)
    facts = replace(facts, environ={"CUDA_VISIBLE_DEVICES": ""})
    made = judged(with_error(facts, "no-cuda-gpus", "RuntimeError: No CUDA GPUs are available"))
    assert {s.explained_by for s in made.account.symptoms} == {"gpu-hidden"}


def test_what_a_passed_probe_refutes_is_a_warning() -> None:
    stray = "Failed to initialize NVML: Driver/library version mismatch"
    facts = replace(WORKING, nvidia=replace(WORKING.nvidia, smi_error=stray))
    made = judged(with_error(facts, "nvml-version-mismatch", stray))
    assert made.verdict.value == "healthy"
    said = [f.severity for f in made.account.findings if f.id != "known-errata"]
    assert said in (["warning"], [])


def test_a_message_that_a_passed_probe_refutes_needs_no_finding() -> None:
    made = judged(with_error(WORKING, "no-cuda-gpus", "RuntimeError: No CUDA GPUs are available"))
    assert {s.explained_by for s in made.account.symptoms} <= {WORKS, "gpu-hidden"}
    assert made.verdict.value == "healthy"


def test_what_a_tool_says_in_words_nobody_knows_is_outranked_too() -> None:
    said = ErrorText(pattern="line", text="nvidia-smi: fatal error: odd words", source="nvidia-smi")
    assert judged(replace(WORKING, errors=(said,))).verdict.value == "healthy"
    assert judged(replace(WORKING, errors=(replace(said, source="import torch"),))).verdict.value == "unknown"


def test_a_programs_own_error_is_named_as_such() -> None:
    made = judged(replace(WORKING, live=False, errors=(
        ErrorText(pattern="exception", text="KeyError: 'lr'", groups=("KeyError", "'lr'")),)))  # fmt: skip
    assert is_programs_own(made.account.symptoms[0].explained_by)


# ---- hypotheses and questions


def test_the_commonest_ticket_is_a_question() -> None:
    text = collect_env("2.6.0+cu124").replace("Is CUDA available: True", "Is CUDA available: False")
    made = from_text(text)
    assert made.verdict.value == "unknown"
    assert made.account.hypotheses
    ids = [h.id for h in made.account.hypotheses]
    assert "gpu-hidden" in ids
    assert not {"glibc-too-old", "torch-missing", "torch-cpu-only"} & {*ids}, "torch imports, and is a CUDA build"
    assert made.account.questions[0].command


def test_a_leading_hypothesis_is_a_likely_finding_that_says_what_it_rests_on() -> None:
    text = "RuntimeError: CUDA error: no kernel image is available for execution on the device\nGPU: RTX 5070 Ti\n"
    (first, *_) = from_text(text).account.findings
    assert (first.id, first.confidence) == ("gpu-too-new-for-build", "likely")
    assert first.remedies
    assert "no kernel image" in " ".join((first.detail, *(e.value for e in first.evidence)))


def test_to_be_the_only_candidate_is_no_evidence() -> None:
    """A child that could not be believed is no sign of a limit that nobody saw."""
    refused = ProbeResult(id="cpu", device="cpu", status="skipped", stage="driver", reason="its words were refused")
    made = judged(replace(linux(), probes=(refused,)))
    assert not [f for f in made.account.findings if f.severity == "fault"]
    assert made.verdict.value == "unknown"


def test_several_hypotheses_share_the_weight() -> None:
    text = collect_env("2.6.0+cu124").replace("Is CUDA available: True", "Is CUDA available: False")
    made = from_text(text)
    weights = [h.weight for h in made.account.hypotheses if h.symptom == "accelerator-unused"]
    assert weights == sorted(weights, reverse=True)
    assert 0 < sum(weights) <= 1.01


def test_ruled_out_causes_are_no_hypotheses() -> None:
    text = collect_env("2.6.0+cu124").replace("Is CUDA available: True", "Is CUDA available: False")
    made = from_text(text)
    passed = {o.id for o in made.outcomes if o.status == "passed"}
    assert not passed & {h.id for h in made.account.hypotheses}


def test_every_need_of_a_hypothesis_is_answered_by_a_question() -> None:
    causes = {id for row in lookup.error_patterns() for id in row.causes}
    causes |= {c.id for c in all_checks() if c.keeps_from}
    lost = []
    for id in sorted(causes):
        check = check_of(id)
        assert check is not None
        for need in check.needs:
            names = [f"messages/{kind}" for kind in KINDS] if need == "messages" else [need]
            if not all(any(answers(ask, name) for ask in ASKS) for name in names):
                lost.append(f"{id}: {need}")
    assert not lost


@table("row", lookup.error_patterns, ids=lambda row: row.id)
def test_a_message_alone_is_never_healthy(row: lookup.ErrorPattern) -> None:
    """Judging the example of a row gives one of its causes, or asks."""
    made = from_text(row.example + "\n")
    assert made.verdict.value != "healthy"
    assert made.account.findings or made.account.questions


def test_an_accelerator_that_nothing_explains_is_a_fault_on_a_live_machine() -> None:
    if check_of("accelerator-unusable") is None:
        pytest.skip("there is no such check yet")
    facts = with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=False, devices=(), cuda_error=ABSENT)
    made = judged(replace(proven(facts), gaps=(Gap(fact="x", reason="not-looked"),)))
    assert made.account.findings[0].id == "accelerator-unusable"
    assert RTX in made.account.findings[0].detail


def test_a_guess_that_there_is_no_gpu_does_not_explain_the_message() -> None:
    """A hidden GPU prints the same."""
    made = from_text(">>> torch.__version__\n'2.4.0+cu121'\nRuntimeError: No CUDA GPUs are available\n")
    assert made.verdict.value != "healthy"
    assert "gpu-hidden" in {h.id for h in made.account.hypotheses} | {f.id for f in made.account.findings}


@pytest.mark.parametrize("framework", ["TensorFlow", "Keras", "ollama", "llama.cpp", "PaddlePaddle"])
def test_the_complaint_of_another_framework_is_none_of_torchs(framework: str) -> None:
    said = f"{framework} does not find my GPU. Windows 11, RTX 3060. It runs on the CPU."
    assert not [f for f in from_text(said).account.findings if f.severity == "fault"]
    assert [f for f in from_text(f"{framework} and torch 2.6.0+cpu. {said}").account.findings if f.severity == "fault"]


@pytest.mark.parametrize(("as_of", "new"), [("2022-06-06", True), ("2025-06-06", False)])
def test_whether_a_gpu_is_new_depends_on_the_day_of_the_ticket(as_of: str, new: bool) -> None:
    said = b"With an RTX 3090: RuntimeError: CUDA error: no kernel image is available for execution on the device"
    facts = replace(read((("ticket", said),)).facts, live=False, as_of=as_of)
    assert ("gpu-too-new-for-build" in {f.id for f in judged(facts).account.findings}) is new


def test_a_cpu_build_is_not_concluded_where_a_container_or_a_program_without_torch_is_named() -> None:
    for text in (
        "GPU not detected in LM Studio\n\nOS: Windows 11\n",
        "I set it up in docker, but unfortunately `torch.cuda.is_available()` doesn't find the GPU inside docker. "
        "`nvidia-smi` lists it in there.\n\nGPU: NVIDIA GeForce RTX 3080 Ti\n",
    ):
        assert "torch-cpu-only" not in {f.id for f in judged(facts_of(text)).account.findings if f.severity == "fault"}


def test_a_report_that_names_the_first_gpu_does_not_say_how_many_there_are() -> None:
    text = "- GPU type: NVIDIA GeForce RTX 2080 Ti\n\nCUDA_VISIBLE_DEVICES=1 llamafactory-cli train pretrain.yaml\n"
    assert "gpu-hidden" not in {f.id for f in judged(facts_of(text)).account.findings}

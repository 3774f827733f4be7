"""Cured is proven: each way in which an environment can be worse, or not known, is no cure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from doctor.apply.judgement import judgement, uncovered
from doctor.model.facts import (
    ABSENT,
    Facts,
    Gap,
    ImportFailure,
    Interpreter,
    ProbeResult,
    StartFailure,
    Torch,
    TorchDevice,
)  # fmt: skip
from doctor.model.finding import LAYERS, Finding, Outcome
from doctor.model.report import Report, Target

TARGETS = frozenset({"torch-cpu-only"})
IMPORTS = Torch(version="2.13.0+cu130", imports=True)
DEVICES = tuple(TorchDevice(backend="cuda", index=number) for number in range(2))


def report(
    verdict: str = "healthy", *faults: str, layer: str = "torch", skipped: tuple[str, ...] = (),
    severity: Any = "fault", torch: Any = IMPORTS, limits: tuple[str, ...] = (), **known: Any,
) -> Report:  # fmt: skip
    findings = tuple(Finding(id=id, layer=layer, severity=severity, title="", detail="") for id in faults)
    outcomes = tuple(Outcome(id=id, layer=layer, status="skipped") for id in skipped)
    return Report(
        tool="t", taken_at="", duration_ms=0, target=Target(python=None, reason=""), verdict=verdict,  # type: ignore[arg-type]
        facts=Facts(torch=torch, **known), findings=findings, outcomes=outcomes, limits=limits,
    )  # fmt: skip


BEFORE = report("faulty", "torch-cpu-only")


def probes(**status: str) -> tuple[ProbeResult, ...]:
    return tuple(ProbeResult(id=id, device=id, status=said) for id, said in status.items())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BEFORE, report()),
        (BEFORE, report(skipped=("torch-cpu-only",))),
        (report("faulty", "torch-cpu-only", "wsl-too-old"), report("faulty", "wsl-too-old")),
        (replace(BEFORE, limits=("--no-probe",)), report("unknown", limits=("--no-probe",))),
        (report("faulty", "torch-cpu-only", torch=ABSENT), report()),
        (
            report("faulty", "torch-cpu-only", probes=probes(cpu="ok", gpu="failed")),
            report(probes=probes(cpu="ok", gpu="ok")),
        ),
        (
            report("faulty", "torch-cpu-only", torch=replace(IMPORTS, numpy_works=None)),
            report(torch=replace(IMPORTS, numpy_works=False)),
        ),
        (BEFORE, report("healthy", "torch-cpu-only", severity="note")),
    ],
    ids=["healthy", "not asked", "what was there", "a user's limit", "no torch before", "more", "new", "a note"],
)
def test_what_is_a_cure(before: Report, after: Report) -> None:
    assert judgement(TARGETS, before, after) is None


STOPPED = Interpreter(start_failure=StartFailure(kind="dead-link", message="bin/python leads nowhere"))
FAILED = replace(IMPORTS, imports=False, import_failure=ImportFailure(kind="exception", message="no libc10.so"))
UNKNOWN = replace(IMPORTS, imports=None)
COLD = (Gap(fact="torch.imports", reason="timed-out", detail="no answer after 3 s"),)
WORKED = replace(IMPORTS, cuda_available=True, devices=DEVICES)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        (BEFORE, report("faulty", "torch-cpu-only"), "not cured: torch-cpu-only is still found"),
        (BEFORE, report("unknown", interpreter=STOPPED), "worse: the environment's Python does not start any more"),
        (BEFORE, report(interpreter=STOPPED), "worse: the environment's Python does not start any more"),
        (BEFORE, report(torch=FAILED), "not cured: torch does not import (no libc10.so)"),
        (BEFORE, report(torch=UNKNOWN, gaps=COLD), "not proven: it is not known whether torch imports (no answer"),
        (BEFORE, report("unknown", torch=UNKNOWN), "not proven: it is not known whether torch imports"),
        (BEFORE, report(torch=ABSENT), "not proven: torch is not there"),
        (BEFORE, report(torch=None), "not proven: no torch was seen"),
        (BEFORE, report("unknown"), "not proven: the environment could not be looked at"),
        (BEFORE, report("unknown", limits=("--no-probe",)), "not proven: the environment"),
        (
            replace(BEFORE, limits=("--no-probe",)),
            report("unknown", limits=("--no-probe",), skipped=("torch-cpu-only",)),
            "not proven: torch-cpu-only could not be looked at",
        ),
        (BEFORE, report("unknown", skipped=("torch-cpu-only",)), "not proven: torch-cpu-only could not be looked at"),
        (
            report("healthy", "torch-cpu-only", severity="warning"),
            report("healthy", "torch-cpu-only", severity="warning"),
            "not cured: torch-cpu-only is still found",
        ),
        (
            report("faulty", "torch-cpu-only", "worse", severity="warning"),
            report("faulty", "worse"),
            "worse: worse is found now",
        ),
        *((BEFORE, report("faulty", "new", layer=layer), "worse: new is found now") for layer in LAYERS),
        (
            report("faulty", "torch-cpu-only", torch=WORKED),
            report(torch=replace(WORKED, cuda_available=False)),
            "worse: CUDA worked before",
        ),
        (
            report("faulty", "torch-cpu-only", torch=WORKED),
            report(torch=replace(WORKED, cuda_available=None)),
            "worse: CUDA worked before",
        ),
        (
            report("faulty", "torch-cpu-only", torch=replace(IMPORTS, mps_available=True)),
            report(torch=IMPORTS),
            "worse: MPS worked before",
        ),
        (
            report("faulty", "torch-cpu-only", torch=replace(IMPORTS, xpu_available=True)),
            report(torch=replace(IMPORTS, xpu_available=False)),
            "worse: XPU worked before",
        ),
        (
            report("faulty", "torch-cpu-only", torch=WORKED),
            report(torch=replace(WORKED, devices=DEVICES[:1])),
            "worse: 2 devices, of which torch sees 1",
        ),
        (
            report("faulty", "torch-cpu-only", torch=replace(IMPORTS, numpy_works=True)),
            report(torch=replace(IMPORTS, numpy_works=False)),
            "worse: NumPy with torch",
        ),
        (
            report("faulty", "torch-cpu-only", probes=probes(cpu="ok")),
            report(probes=probes(cpu="crashed")),
            "worse: the probe of cpu",
        ),
        (report("faulty", "torch-cpu-only", probes=probes(cpu="ok")), report(), "worse: the probe of cpu"),
    ],
)
def test_what_is_no_cure(before: Report, after: Report, reason: str) -> None:
    said = judgement(TARGETS, before, after)
    assert said is not None
    assert said.startswith(reason)


def test_what_the_users_limit_kept_from_being_heard_is_no_obstacle() -> None:
    """The check knows all but what a probe would have said, as when it found what is gone now."""
    before = replace(report("faulty", "companion-mismatch"), limits=("--no-probe",))
    after = report("unknown", limits=("--no-probe",), skipped=("companion-mismatch",), packages=())
    targets = frozenset({"companion-mismatch"})
    assert judgement(targets, before, after) is None
    unknown = report("unknown", limits=("--no-probe",), skipped=("companion-mismatch",))
    said = judgement(targets, before, unknown)
    assert said == "not proven: companion-mismatch could not be looked at afterwards"


BROKEN = replace(IMPORTS, imports=False, import_failure=ImportFailure(kind="exception", message="no libc10.so"))


@pytest.mark.parametrize("layer", ["machine", "driver", "interpreter", "run"])
def test_a_fault_that_was_hidden_before_is_not_the_changes(layer: str) -> None:
    """torch did not import, so nothing that it would have told could be judged."""
    before = report("faulty", "torch-cpu-only", torch=BROKEN, skipped=("hidden",))
    after = report("faulty", "hidden", layer=layer)
    assert uncovered(before, after) == ("hidden",)
    assert judgement(TARGETS, before, after) is None
    assert judgement(TARGETS, replace(before, outcomes=()), after) == "worse: hidden is found now"


@pytest.mark.parametrize("layer", ["torch", "libraries", "install"])
def test_a_fault_in_a_layer_that_tools_change_is_theirs(layer: str) -> None:
    before = report("faulty", "torch-cpu-only", torch=BROKEN, skipped=("hidden",))
    assert uncovered(before, report("faulty", "hidden", layer=layer)) == ()
    assert judgement(TARGETS, before, report("faulty", "hidden", layer=layer)) == "worse: hidden is found now"


def test_a_fault_that_rests_on_the_build_is_the_changes_if_the_build_is_another() -> None:
    """driver-too-old could not be said without torch, and is what the new build made."""
    before = report("faulty", "torch-cpu-only", torch=replace(BROKEN, cuda="11.8"), skipped=("driver-too-old",))
    for cuda, said in (("13.0", "worse: driver-too-old is found now"), ("11.8", None)):
        after = report("faulty", "driver-too-old", layer="driver", torch=replace(IMPORTS, cuda=cuda))
        assert judgement(TARGETS, before, after) == said


def test_a_hidden_fault_does_not_prove_a_cure() -> None:
    before = report("faulty", "torch-cpu-only", torch=BROKEN, skipped=("hidden",))
    for after in (
        report("faulty", "hidden", "torch-cpu-only", layer="machine"),
        report("faulty", "hidden", layer="machine", torch=UNKNOWN),
        report("faulty", "hidden", layer="machine", torch=FAILED),
    ):
        assert judgement(TARGETS, before, after)


def test_why_python_does_not_start_is_said() -> None:
    said = judgement(TARGETS, BEFORE, report(interpreter=STOPPED))
    assert said == "worse: the environment's Python does not start any more (bin/python leads nowhere)"


def test_a_new_environment_has_nothing_to_lose() -> None:
    before = report("faulty", "torch-missing", torch=WORKED, probes=probes(cpu="ok"))
    assert judgement(frozenset(), before, report(), fresh=True) is None
    assert judgement(frozenset(), before, report("faulty", "wsl-too-old", layer="machine"), fresh=True) is None
    for layer in ("interpreter", "torch", "libraries", "install", "run"):
        assert judgement(frozenset(), before, report("faulty", "new", layer=layer), fresh=True)
    assert judgement(frozenset(), before, report(torch=UNKNOWN), fresh=True)
    assert judgement(frozenset(), before, report("unknown"), fresh=True)

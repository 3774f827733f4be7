"""What the full probe tries beside the device becomes findings: the id, how grave it is, and the first remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from doctor.accounting.judgement import judged
from doctor.checks.runner import judge
from doctor.facts.said import with_messages
from doctor.fixes.plan import plan
from doctor.knowledge import lookup
from doctor.model.facts import Facts, ProbeResult, Stage
from doctor.model.finding import ONLY_TOLD, Finding
from tests.checks.run import device_crashes, feature_fails
from tests.checks.test_declarations import BUILT
from tests.example_case import Case
from tests.examples import linux, with_failures, with_torch

CPU = with_torch(linux(), "2.13.0+cpu")


def graver(findings: Iterable[Finding]) -> list[Finding]:
    return [f for f in findings if f.severity != "note" and f.id not in ONLY_TOLD]


@pytest.mark.parametrize(
    ("stage", "text", "id", "severity", "action"),
    [
        ("compile", "torch.compile: Compiler: InvalidCxxCompiler: No working C++ compiler found in "
         "torch._inductor.config.cpp.cxx: (None, 'g++')", "compiler-missing", "warning", "install-system-package"),
        ("compile", "torch.compile: Compiler: RuntimeError: Compiler: cl is not found.", "compiler-missing", "warning",
         "install-system-package"),
        ("compile", "torch.compile: Compiler: RuntimeError: Failed to find C compiler. Please specify via CC "
         "environment variable.", "compiler-missing", "warning", "install-system-package"),
        ("compile", "torch.compile: Compiler: CppCompileError: C++ compile error /tmp/main.c:5:10: fatal error: "
         "Python.h: No such file or directory", "compiler-missing", "warning", "install-system-package"),
        ("compile", "torch.compile: Compiler: TritonMissing: Cannot find a working triton installation.",
         "compiler-missing", "warning", "install-package"),
        ("workers", "DataLoader, workers forked: Workers: RuntimeError: DataLoader worker (pid 7) is killed by signal: "
         "Bus error. It is possible that dataloader's workers are out of shared memory.", "shared-memory-too-small",
         "fault", "container-flag"),
        ("workers", "DataLoader, workers started anew: Workers: unable to write to shared memory: it was ended by "
         "signal 7 (SIGBUS)", "shared-memory-too-small", "fault", "container-flag"),
        ("workers", "DataLoader, workers forked: Workers: OSError: [Errno 24] Too many open files", "process-limits",
         "fault", "raise-limit"),
        ("extensions", "torchvision: RuntimeError: operator torchvision::nms does not exist", "companion-mismatch",
         "fault", "reinstall-package"),
    ],
)  # fmt: skip
def test_a_known_reason_is_named(stage: str, text: str, id: str, severity: str, action: str) -> None:
    _, findings = judge(with_messages(with_failures(CPU, stage, text)))
    assert [(f.id, f.severity, f.remedies[0].action) for f in graver(findings)] == [(id, severity, action)]


def test_a_row_whose_causes_hold_this_diagnosis_tells_no_more_than_it() -> None:
    facts = with_messages(with_failures(CPU, "compile", "torch.compile: Compiler: RuntimeError: PassManager::run failed"))
    rows = [row for e in facts.errors if (row := lookup.error_pattern(e.pattern))]
    assert rows
    assert all("feature-fails" in row.causes for row in rows)
    assert "feature-fails" in [f.id for f in graver(judge(facts)[1])]


@pytest.mark.parametrize(
    ("name", "action"),
    [
        ("Triton's ptxas is older than the GPU", "upgrade-torch"),
        ("a user without a name", "set-env"),
        ("a module that the compiler of an older torch needs", "install-package"),
        ("an attention backend raises", "none"),
        ("workers hang", "none"),
        ("loading raises", "upgrade-torch"),
        ("an extension crashes", "reinstall-package"),
    ],
)
def test_the_fix_follows_from_what_failed(name: str, action: str) -> None:
    facts = with_messages(feature_fails.BAD[name].what)
    (finding,) = [f for f in judge(facts)[1] if f.id == "feature-fails"]
    assert finding.remedies[0].action == action
    assert plan([finding], facts).fixes[0].action == action


def test_what_only_torch_compile_misses_leaves_the_machine_healthy() -> None:
    """A sound machine without a compiler: a warning, no fault, and nothing that stays unexplained."""
    text = "torch.compile: Compiler: InvalidCxxCompiler: No working C++ compiler found"
    sound = replace(BUILT["no GPU"], probes=with_failures(CPU, "compile", text).probes)
    report = judged(with_messages(sound))
    assert [f.id for f in graver(report.account.findings)] == ["compiler-missing"]
    assert report.verdict.value == "healthy"


def test_what_was_not_tried_is_not_ruled_out() -> None:
    outcomes, _ = judge(BUILT["no GPU"])
    status = {o.id: o.status for o in outcomes}
    assert (status["feature-fails"], status["folder-not-writable"]) == ("skipped", "skipped")
    outcomes, _ = judge(with_failures(CPU, "compile"))
    status = {o.id: o.status for o in outcomes}
    assert (status["feature-fails"], status["folder-not-writable"]) == ("passed", "passed")


KERNEL = (Stage(name="kernel", ok=True, ms=1.0),)


def ended(device: str, **more: object) -> Facts:
    machine = device_crashes.machine
    return replace(machine, probes=(ProbeResult(id=device, device=device, **more),))  # type: ignore[arg-type]


CRASHES = {
    "memory": (ended("cpu", status="crashed", stage="silent", signal=9, stages=KERNEL,
                     reason="the system ended it because memory ran out (signal 9, out-of-memory killer)"),
               ("reduce-memory",)),
    "no space": (ended("cuda:0", status="failed", stage="kernel", reason="OSError: [Errno 28] No space left on device"),
                 ("free-disk-space",)),
    "the device's own word": (ended("cuda:0", status="failed", stage="speed", stages=KERNEL,
                                    reason="RuntimeError: CUDA error: uncorrectable ECC error encountered"),
                              ("hardware-service", "reboot")),
    "the driver does not answer": (ended("cuda:0", status="timed-out", stage="open", reason="opening the device took "
                                         "longer than 30 s, waiting inside the kernel (a driver that does not answer)"),
                                   ("reboot", "upgrade-driver", "hardware-service")),
    "one kind of computation": (ended("cuda:0", status="failed", stage="layouts", stages=KERNEL,
                                      reason="RuntimeError: CUDA error: misaligned address"),
                                ("upgrade-torch", "upgrade-driver", "hardware-service")),
    "one kind of computation, CPU": (ended("cpu", status="crashed", stage="random", stages=KERNEL, signal=11),
                                     ("upgrade-torch", "reinstall-torch")),
    "nothing at all, CPU": (ended("cpu", status="crashed", stage="kernel", signal=11),
                            ("upgrade-torch", "reinstall-torch")),
    "nothing at all": (ended("cuda:0", status="crashed", stage="allocate", signal=11),
                       ("upgrade-driver", "upgrade-torch", "reboot")),
    "torch.compile alone": (ended("cuda:0", status="timed-out", stage="compile", stages=KERNEL),
                            ("upgrade-torch", "reinstall-torch")),
    "a variable": (replace(ended("cuda:0", status="crashed", stage="kernel", signal=11),
                           environ={"CUDA_INJECTION64_PATH": "/opt/tracer.so"}),
                   ("unset-env", "upgrade-driver", "upgrade-torch", "reboot")),
}  # fmt: skip


@pytest.mark.parametrize("name", CRASHES)
def test_the_remedy_of_a_crash_is_concluded(name: str) -> None:
    facts, actions = CRASHES[name]
    (finding,) = [f for f in judge(with_messages(facts))[1] if f.id == "device-crashes"]
    assert tuple(remedy.action for remedy in finding.remedies) == actions
    assert finding.detail.endswith(".")
    assert finding.severity == ("warning" if name == "torch.compile alone" else "fault")


def test_of_two_gpus_one_of_which_works_the_other_is_at_fault() -> None:
    facts = CRASHES["nothing at all"][0]
    (probe,) = facts.probes or ()
    other = ProbeResult(id="cuda:1", device="cuda:1", status="ok", stages=KERNEL)
    (finding,) = [f for f in judge(replace(facts, probes=(probe, other)))[1] if f.id == "device-crashes"]
    assert [remedy.action for remedy in finding.remedies] == ["reboot", "hardware-service", "upgrade-driver"]


def test_an_example_says_how_grave_it_is() -> None:
    assert all(isinstance(case, Case) and case.severity for case in feature_fails.BAD.values())

"""What a text says and what a live machine says are judged alike: every pasted example and every labelled case whose
messages can occur live goes through the live path, its messages put where the live collectors put them, and gives the
same first finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

from doctor.accounting.judgement import judged
from doctor.checks._torch import owner
from doctor.facts.said import with_messages
from doctor.formats import nvidia_smi, rocm
from doctor.knowledge import lookup
from doctor.model.facts import Amd, ErrorText, Facts, ImportFailure, ProbeResult, Source, Stage, StartFailure, Torch
from doctor.model.finding import SAID_LAST
from scripts.tickets import ROUND, tickets_below
from tests.example_case import Case, facts_of
from tests.table import table
from tests.test_examples import IDS, examples_of

CASES = Path(__file__).parent.parent / "cases"
ROWS = {row.id: row for row in lookup.error_patterns()}
RAISED = re.compile(r"(?:^|[\s:])(?:[\w.]+\.)?([A-Z]\w*(?:Error|Exception|Interrupt)): (.*)")
WARNED = re.compile(r"\b\w*Warning: .*")
# Of packages on top of torch, or of a program: `import torch` and the probes do not say them.
NOT_OF_TORCH = frozenset((
    "companion-mismatch", "extension-abi-mismatch", "torch-too-old", "wrong-environment", "torch-missing",
    "build-isolation", "stdlib-shadowed", "torch-too-new", "torch-cpu-only", "backend-impossible-here", "program-error",
))  # fmt: skip
OF_TORCH = ("torch", "nvidia", "numpy", "mkl")
MEASURED = ("mps-differs", "mps-memory-grows", "container-run")  # no messages: a live machine measures, or looks
IMPORTING = ("ImportError", "OSError")
# In a text a program asks for the GPU that cannot be there. Live it is torchdoctor that asks, and no one is at fault.
OTHERWISE = {"backend-impossible-here": "no-accelerator"}
# Known to differ: their texts tell in words what the facts of a live run do not hold.
IN_WORDS = frozenset((
    "unseen/driver/cor-gs-23", "unseen3/libraries/onetrainer-487", "unseen4/driver/time-series-library-10",
    "no-accelerator: somebody asks how to do without", "own/torch/rtx5090d-149845",
    "backend-impossible-here: somebody asks how to do without a GPU", "unseen5/driver/comfyui-zluda-201",
    "unseen5/driver/cyclegan-610", "unseen5/torch/voicebox-540", "unseen5/machine/i2l-meshnet-105",
    "unseen6/driver/fedora-guide-9", "unseen6/torch/dreambooth-114", "unseen7/torch/voice-pro-75",
    "unseen/torch/interiordesign-5",
))  # fmt: skip
FROM_A_PROBE = frozenset((
    "no-kernel-image", "ptx-unsupported-toolchain", "hip-invalid-device-function", "hip-no-binary-for-gpu",
    "rocblas-tensile-library", "cuda-out-of-memory", "mps-oom-nothing-allocated", "mps-out-of-memory",
    "mps-oom-other-allocations", "cuda-devices-busy", "uncorrectable-ecc", "cudnn-version-mismatch",
    "cublas-invalid-value", "nvrtc-builtins-missing", "nvrtc-invalid-architecture", "libcudnn-not-loaded",
    "zlibwapi-not-found", "unable-to-load-any-of", "dll-not-located", "cuda-error-999", "mpsgraph-assertion",
))  # fmt: skip
FROM_A_WARNING = frozenset((
    "capability-too-new", "capability-too-old", "gpu-no-longer-supported", "no-kernels-for-this-gpu",
    "xpu-driver-not-initialized", "nnpack-unsupported-hardware",
))  # fmt: skip
FROM_CUDA_INIT = frozenset((
    "found-no-nvidia-driver", "nvidia-driver-too-old-for-torch", "no-cuda-gpus", "no-hip-gpus", "cuda-error-101",
    "cuda-error-304", "cuda-error-500", "cuda-error-802", "cuda-error-803", "cuda-error-804", "cuda-unknown-error",
    "no-cuda-device-detected", "driver-insufficient-for-runtime", "system-not-yet-initialized",
))  # fmt: skip


def texts() -> Iterator[tuple[str, Facts]]:
    """Every text with its name."""
    for id in IDS:
        for name, example in examples_of(id).BAD.items():
            case = example if isinstance(example, Case) else Case(example)
            if isinstance(case.what, str):
                yield f"{id}: {name}", facts_of(case.what, case.as_of)
    for ticket in tickets_below([CASES]):
        if ticket.file.name != ROUND:  # rounds of tickets as they come tell in words what a machine would show
            name = ticket.file.parent.relative_to(CASES).as_posix()
            yield name, facts_of(ticket.text, ticket.label["date"])


def as_live(facts: Facts) -> Facts | None:
    """The machine of a text as the live collectors would have found it; None where its messages cannot occur live."""
    errors = [e for e in facts.errors if _speaks(e)]
    if not errors or facts.attempts or any(e.pattern in MEASURED for e in facts.errors):
        return None
    live = replace(facts, live=True, errors=())
    if isinstance(live.torch, Torch):
        live = replace(live, torch=replace(live.torch, import_failure=None))
    shadowed = [(e.groups[1], e.groups[2]) for e in facts.errors if e.pattern == "stdlib-imported-elsewhere"]
    if shadowed:
        live = replace(live, interpreter=replace(live.interpreter, shadowed=tuple(shadowed)))
    lines: set[int | None] = set()
    for error in errors:
        if error.line in lines:  # another row knows the same line
            continue
        lines.add(error.line)
        put = _put(live, error)
        if put is None:
            return None
        live = put
    return with_messages(live)


def _speaks(error: ErrorText) -> bool:
    """A known message, or one of an import of torch that no row knows."""
    if error.pattern in ROWS:
        return not ROWS[error.pattern].harmless
    return error.pattern == "exception" and error.groups[0] in IMPORTING and owner(error.path) == "torch"


def _put(live: Facts, error: ErrorText) -> Facts | None:
    """A message where the collector that hears it would have put it."""
    row, text = ROWS.get(error.pattern), error.text
    raised, warned = RAISED.search(text), WARNED.search(text)
    if said := nvidia_smi.error_of(text):
        return replace(live, nvidia=replace(live.nvidia, smi_error=live.nvidia.smi_error or said))
    if said := rocm.error_of(text):
        return replace(live, amd=_with_source(live.amd, said))
    if row and row.id == "python-fatal-at-start":
        failure = StartFailure(kind="crashed", message=text)
        return replace(live, interpreter=replace(live.interpreter, start_failure=failure))
    torch = live.torch if live.torch is not None else Torch()
    if not isinstance(torch, Torch):
        return None
    if row and (row.id in FROM_A_WARNING or (warned and (row.kind == "no-device" or row.id.startswith("numpy-")))):
        said = warned[0] if warned else f"UserWarning: {text}"
        return replace(live, torch=replace(torch, warnings=(*(torch.warnings or ()), said)))
    if row and row.id in FROM_CUDA_INIT and live.host.system != "darwin":  # no CUDA build runs on a Mac
        return replace(live, torch=replace(torch, imports=True, cuda_error=raised[2] if raised else text))
    if row and row.id == "numpy-not-available":
        return replace(live, torch=replace(torch, imports=True, numpy_error=raised[2] if raised else text))
    if row and row.id in FROM_A_PROBE:
        return _with_probe(replace(live, torch=torch), error, raised)
    if not torch.import_failure and _ends_the_import(torch, error):  # it ends once
        failure = _failure(error, raised)
        return replace(live, torch=replace(torch, imports=False, import_failure=failure), probes=())
    return None


def _ends_the_import(torch: Torch, error: ErrorText) -> bool:
    """Whether it is `import torch` that says it: by the file that is named, or in a text whose torch does not run."""
    row, whose = ROWS.get(error.pattern), owner(error.path)
    if row and (row.causes[0] in NOT_OF_TORCH or (row.kind != "import" and "Error loading" not in error.text)):
        return False
    runs = torch.imports or torch.cuda_available is not None or torch.mps_available is not None
    return whose in OF_TORCH or (whose is None and not runs)


def _with_source(amd: Amd, said: str) -> Amd:
    return replace(amd, sources=(*amd.sources, Source(name="rocminfo", status="failed", message=said)))


def _with_probe(live: Facts, error: ErrorText, raised: re.Match[str] | None) -> Facts:
    device = {"apple": "mps"}.get(ROWS[error.pattern].subject, "cuda:0")
    result = ProbeResult(id=device, device=device, status="crashed", stage="kernel", stderr_tail=error.text, signal=6)
    if raised:
        data = {"exception": raised[1], "message": raised[2], "traceback": _frame(error)}
        stage = Stage(name="kernel", ok=False, ms=1.0, data=data)
        result = ProbeResult(
            id=device, device=device, status="failed", stage="kernel", reason=f"{raised[1]}: {raised[2]}", stages=(stage,)
        )
    torch = live.torch
    assert isinstance(torch, Torch)
    return replace(live, torch=replace(torch, imports=True), probes=(*(live.probes or ()), result))


def _failure(error: ErrorText, raised: re.Match[str] | None) -> ImportFailure:
    if raised:
        return ImportFailure(
            kind="exception", exception=raised[1], message=raised[2], stage="import", traceback=_frame(error)
        )
    return ImportFailure(kind="signal", message=error.text, traceback=error.text, signal=6, stage="import")


def _frame(error: ErrorText) -> str:
    return f'File "{error.path}", line 1, in <module>' if error.path else ""


def first(facts: Facts) -> str:
    findings = [f for f in judged(facts).account.findings if f.id not in SAID_LAST]  # of a text alone
    return findings[0].id if findings else ""


@cache
def eligible() -> list[tuple[str, Facts, Facts]]:
    """Name, facts of the text, and the live machine that would have found the same: made when the first test asks."""
    return [(name, facts, live) for name, facts in texts() if (live := as_live(facts)) is not None]


@cache
def first_of_texts() -> dict[str, str]:
    """Name -> the first finding for the text."""
    return {name: first(facts) for name, facts, _ in eligible()}


def test_most_messages_of_texts_can_occur_live() -> None:
    """That the law below is one of many texts, of many diagnoses, and of every place where something is said."""
    assert len(eligible()) >= 290
    assert len(set(first_of_texts().values())) >= 40
    assert {e.source.partition(" of ")[0] for _, _, live in eligible() for e in live.errors} >= {
        "import torch", "torch.cuda.init()", "torch.from_numpy()", "nvidia-smi", "rocminfo", "probe",
        "the target's Python",
    }  # fmt: skip


def test_live_is_judged_like_the_text() -> None:
    said = first_of_texts()
    judged_live = {name: first(live) for name, _, live in eligible() if name not in IN_WORDS}
    assert {n: (id, said[n]) for n, id in judged_live.items() if id not in (said[n], OTHERWISE.get(said[n]))} == {}


def test_exceptions_are_few() -> None:
    assert sum(id in OTHERWISE for name, id in first_of_texts().items() if name not in IN_WORDS) <= 2


@table("name, facts, live", eligible, ids=lambda value: value if isinstance(value, str) else "")
def test_every_message_is_recognised_once(name: str, facts: Facts, live: Facts) -> None:
    once = [(e.pattern, e.text) for e in live.errors]
    assert len(set(once)) == len(once)
    assert with_messages(live) == live
    known = {e.pattern for e in facts.errors if e.pattern in ROWS and not ROWS[e.pattern].harmless}
    if name in IN_WORDS:  # retold, not quoted
        return
    assert known <= {e.pattern for e in live.errors}

"""Stage 2's last step: what was said on the live machine becomes recognised messages, as a ticket's text would. Pure.

Said by: `import torch` (its failure and its warnings), torch.cuda.init(), NumPy's bridge, the driver's cuInit,
nvidia-smi and the other tools, the probes, and a Python that does not start. A code is put into the words that CUDA has
for it.

Noted as in a text (see doctor/evidence/read.py), and besides: "warning", a warning that no row knows. It speaks of no
failure by itself: a healthy torch warns, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from doctor.evidence.messages import recognised
from doctor.model.facts import ErrorText, Facts, ImportFailure, ProbeResult, StartFailure, Torch

TEXT_LIMIT = 500
UNRECOGNISED = ("exception", "line", "warning")
NO_DEVICE = 100
# Rows about a GPU, a disk or a Python as a whole: where a feature alone says so, feature-fails and folder-not-writable
# say what of it is so.
TOLD_BY_FEATURES = frozenset((
    "ptxas-unknown-architecture", "no-space-left", "memory-error-or-killed", "dynamo-unsupported-python",
    "no-vectorized-isa", "triton-submodule-missing",
))  # fmt: skip
# What CUDA says to a code of cuInit (cuGetErrorString).
# https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUresult)
CUDA_WORDS = {
    2: "out of memory",
    3: "initialization error",
    34: "CUDA driver is a stub library",
    36: "API call is not supported in the installed CUDA driver",
    46: "CUDA-capable device(s) is/are busy or unavailable",
    NO_DEVICE: "no CUDA-capable device is detected",
    101: "invalid device ordinal",
    214: "uncorrectable ECC error encountered",
    304: "OS call failed or operation not supported on this OS",
    500: "named symbol not found",
    802: "system not yet initialized",
    803: "system has unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on non supported HW",
    999: "unknown error",
}


def with_messages(facts: Facts) -> Facts:
    """The facts with everything that was said live among `errors`, each message once. Once more changes nothing."""
    errors = list(facts.errors)
    for error in _said(facts):
        if not any(_same(error, known) for known in errors):
            errors.append(error)
    return replace(facts, errors=tuple(errors))


def _same(new: ErrorText, known: ErrorText) -> bool:
    """Whether one of the two says what the other one says: torch's message in a warning and in an exception."""
    alike = new.pattern == known.pattern or new.pattern == "line"
    return alike and (new.text in known.text or known.text in new.text)


def _said(facts: Facts) -> Iterator[ErrorText]:
    torch = facts.torch
    if isinstance(torch, Torch):
        if isinstance(torch.import_failure, ImportFailure):
            yield from _import(torch.import_failure)
        if isinstance(torch.cuda_error, str):
            yield from _raised(torch.cuda_error, "torch.cuda.init()")
        if isinstance(torch.numpy_error, str):
            yield from _raised(torch.numpy_error, "torch.from_numpy()")
        for warning in torch.warnings or ():
            yield from _warned(warning)
    yield from _driver(facts)
    yield from _tools(facts)
    for probe in facts.probes or ():
        if probe.status != "ok":
            yield from _probe(probe)
        yield from _features(probe)
    if isinstance(facts.interpreter.start_failure, StartFailure):
        yield from _rows(recognised(facts.interpreter.start_failure.message, "the target's Python"))


def _import(failure: ImportFailure) -> Iterator[ErrorText]:
    source = "import torch"
    if failure.kind != "exception":  # the traceback is the end of what the child wrote to stderr
        yield from recognised(failure.traceback, source)
        yield from recognised(failure.message, source)
        return
    text = f"{failure.exception}: {failure.message}" if failure.exception else failure.message
    yield from _raised(text, source, failure.traceback)


def _raised(text: str, source: str, traceback: str = "") -> Iterator[ErrorText]:
    """An exception: `text` is its last line, of the traceback only the frames are read."""
    frames = [line for line in traceback.splitlines() if line.lstrip().startswith('File "')]
    said = " ".join(text.split())
    found = recognised("\n".join((*frames, said)), source)
    yield from found
    if not any(e.pattern == "exception" for e in found):  # its class is not known
        yield ErrorText(pattern="exception", text=said[:TEXT_LIMIT], groups=("", said[:TEXT_LIMIT]), source=source)


def _warned(text: str) -> Iterator[ErrorText]:
    source = "import torch"
    known = tuple(_rows(recognised(text, source)))
    yield from known or (ErrorText(pattern="warning", text=text[:TEXT_LIMIT], source=source),)


def _driver(facts: Facts) -> Iterator[ErrorText]:
    code = facts.nvidia.cuinit
    if not code or (code == NO_DEVICE and not _shows_a_gpu(facts)):
        return
    words = CUDA_WORDS.get(code)
    text = f"cuInit: Error {code}: {words}" if words else f"cuInit: Error {code}"
    yield from _failure(text, "cuInit")


def _shows_a_gpu(facts: Facts) -> bool:
    """Whether something but a library speaks of an NVIDIA GPU: where there is none, «no device» is no failure."""
    nvidia = facts.nvidia
    return bool(
        any(gpu.vendor == "nvidia" for gpu in facts.gpus or ())
        or nvidia.kernel_module
        or nvidia.device_nodes
        or nvidia.gpus_seen
    )


def _lists_all_gpus(facts: Facts) -> bool:
    """Whether `gpus` is the whole list: the PCI bus of a machine that hides nothing from us. Where no NVIDIA GPU is on
    it, a driver's tools have nothing to find."""
    host = facts.host
    return facts.gpus is not None and not (host.container or host.wsl or host.jetson or host.sandbox)


def _tools(facts: Facts) -> Iterator[ErrorText]:
    said = facts.nvidia.smi_error
    if isinstance(said, str) and (_shows_a_gpu(facts) or not _lists_all_gpus(facts)):
        yield from _failure(said, "nvidia-smi")
    vendors = {gpu.vendor for gpu in facts.gpus} if facts.gpus is not None else {"amd", "intel"}
    sources = (
        *facts.nvidia.sources,
        *(facts.amd.sources if "amd" in vendors else ()),
        *(facts.intel.sources if "intel" in vendors else ()),
    )
    for source in sources:
        if source.status in ("failed", "permission"):  # one that is absent says no more than its fact
            yield from recognised(source.message, source.name)


def _probe(probe: ProbeResult) -> Iterator[ErrorText]:
    source = f"probe of {probe.device}"
    raised = next((s for s in probe.stages if "exception" in s.data), None)
    if raised:
        yield from _raised(probe.reason, source, str(raised.data.get("traceback", "")))
    elif not probe.data.get("wrong"):
        yield from recognised(probe.reason, source)
    yield from recognised(probe.stderr_tail, source)


def _features(probe: ProbeResult) -> Iterator[ErrorText]:
    """What a feature of torch said that failed: the rows that tell why. What no row knows is feature-fails' to tell."""
    for stage in probe.stages:
        texts = stage.data.get("failures")
        for text in texts if isinstance(texts, (list, tuple)) else ():
            known = recognised(str(text), f"probe of {probe.device}, stage {stage.name}")
            yield from (e for e in _rows(known) if e.pattern not in TOLD_BY_FEATURES)


def _failure(text: str, source: str) -> tuple[ErrorText, ...]:
    """What is known to tell of a failure, whatever its words."""
    return recognised(text, source) or (ErrorText(pattern="line", text=text[:TEXT_LIMIT], source=source),)


def _rows(errors: Iterable[ErrorText]) -> Iterator[ErrorText]:
    """Those that a row of the tables knows."""
    return (e for e in errors if e.pattern not in UNRECOGNISED)

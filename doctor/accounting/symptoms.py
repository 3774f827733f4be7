"""What must be explained, listed from the facts of a live machine and of a text alike. Pure.

Ids of symptoms that no message row names: "accelerator-unused", "cuda-not-available", "import-failed",
"python-does-not-start", "install-failed", "probe-crashed", "probe-hung", "probe-failed", "probe-wrong-results",
"probe-did-not-run", "exception" and "unknown-message" (a line that speaks of a failure and that no row knows).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from doctor.checks import PROGRAM_ERROR, _causes, systems_of
from doctor.checks._accelerators import accelerators, torch_runs
from doctor.fixes.tools import pip
from doctor.knowledge import codes, lookup
from doctor.model.facts import ABSENT, ErrorText, Facts, ImportFailure, ProbeResult, StartFailure, Torch
from doctor.model.symptom import Kind, Symptom
from doctor.regex import Regex

# Exceptions that a program's own code, arguments, files or network raise.
PROGRAMS_OWN = frozenset((
    "ValueError", "KeyError", "IndexError", "TypeError", "AssertionError", "ZeroDivisionError", "NameError",
    "UnboundLocalError", "FileNotFoundError", "NotADirectoryError", "IsADirectoryError", "FileExistsError",
    "JSONDecodeError", "UnicodeDecodeError", "UnicodeEncodeError", "StopIteration", "KeyboardInterrupt",
    "NotImplementedError", "ConnectionError", "HTTPError", "URLError", "TimeoutError", "SyntaxError",
    "IndentationError", "SystemExit", "ValidationError", "ArgumentError", "EOFError", "BrokenPipeError",
    "ConnectionRefusedError", "ConnectionResetError", "ReadTimeout", "ConnectTimeout", "SSLError",
    "RepositoryNotFoundError", "EntryNotFoundError", "GatedRepoError", "UnpicklingError", "WeightsUnpickler",
    "RecursionError", "AttributeError",
))  # fmt: skip
# Other names are a package's own exceptions («MisconfigurationException»): the program's affair, if no device is named.
_RAISED_BY_PROGRAMS = ("Error", "Exception")
_OF_ANYBODY = frozenset(
    ("RuntimeError", "Error", "Exception", "OSError", "IOError", "SystemError", "WindowsError", "PermissionError",
     "CalledProcessError", "ChildProcessError", "ProcessRaisedException", "ProcessExitedException", "ChildFailedError",
     "OutOfMemoryError", "AcceleratorError", "BackendCompilerFailed", "LinkError", "CompileError", "CompilationError",
     "DistutilsError", "InstallationError", "ResolutionImpossible", "UnsatisfiableError", "LibMambaUnsatisfiableError")
)  # fmt: skip
_DEVICE = Regex(
    r"torch\b|cuda|gpu|nvidia|driver|rocm|\bhip|\bmps\b|\bxpu\b|device|accelerator|cudnn|cublas|nccl|memory|compil|"
    r"librar|instal|package|distribution|wheel|depend",
    re.I,
)
_IMPORTING = frozenset(("ImportError", "ModuleNotFoundError", "DLLLoadError"))
_MISSING_MODULE = Regex(r"No module named ['\"](\w+)")
# what torch needs or what is built for it; a module of any other name is the program's own affair
_FAMILY = frozenset(
    ("torch", "torchvision", "torchaudio", "torchtext", "triton", "numpy", "nvidia", "functorch", "typing_extensions",
     "sympy", "filelock", "jinja2", "networkx", "fsspec", "mpmath", "xformers", "flash_attn", pip.NAME,
     "setuptools", "intel_extension_for_pytorch")
)  # fmt: skip
_NOT_A_FAILURE = Regex(r"\w*[Ww]arning\b|\bWARN(?:ING)?\b|\bINFO\b|\bDEBUG\b")
_OF_CUDA = Regex(
    r"\b(?:CUDA|cuDNN|cuBLAS)[ ]error|\bcuda runtime error|\bCU(?:BLAS|DNN|SOLVER|FFT|SPARSE|RAND)_STATUS_"
)
_SUBJECTS = {"mps": "apple", "cpu": "cpu", "xpu": "intel"}


def symptoms_of(facts: Facts) -> tuple[Symptom, ...]:
    """All symptoms, what is nearest to the machine first."""
    return tuple(dict.fromkeys((*_start(facts), *_unused(facts), *_import(facts), *_messages(facts), *_installs(facts),
                                *_probes(facts))))  # fmt: skip


def _start(facts: Facts) -> Iterator[Symptom]:
    failure = facts.interpreter.start_failure
    if isinstance(failure, StartFailure) and failure.kind not in ("not-found", "not-python"):  # then nothing is there
        yield Symptom(
            id="python-does-not-start",
            kind="start",
            subject="python",
            text=failure.message,
            source="the target's Python" if facts.live else "text",
            causes=_causes.PYTHON_DOES_NOT_START,
        )


def _unused(facts: Facts) -> Iterator[Symptom]:
    """One for each accelerator that is there and that torch does not use."""
    for one in accelerators(facts):
        if one.state == "unused":
            yield Symptom(
                id="accelerator-unused",
                kind="no-device",
                subject=one.vendor,
                text=f"torch does not use {one.label}.",
                source=_source(facts, one.vendor),
                causes=_keep_from(one.vendor, facts),
            )
    if not_known_whether_a_gpu(facts):
        yield Symptom(
            id="cuda-not-available",
            kind="no-device",
            subject="nvidia",
            text="torch.cuda.is_available() is False.",
            source=_source(facts, "nvidia"),
            causes=_keep_from("nvidia", facts),
        )


def not_known_whether_a_gpu(facts: Facts) -> bool:
    """Whether a text says that torch sees no GPU, and leaves open whether there is one: no bus was listed, no driver
    was looked for in vain, and the build is not one that somebody chose for the CPU."""
    torch = facts.torch
    if facts.live or facts.host.system == "darwin" or not isinstance(torch, Torch) or torch.cuda_available is not False:
        return False
    looked = facts.gpus is not None or facts.nvidia.driver is ABSENT
    return not looked and not accelerators(facts) and "+cpu" not in (torch.version or "")


def _keep_from(vendor: str, facts: Facts) -> tuple[str, ...]:
    return _causes.keep_from(vendor, systems_of(facts), imported=torch_runs(facts))


def _source(facts: Facts, vendor: str) -> str:
    name = {"nvidia": "cuda", "amd": "cuda", "intel": "xpu", "apple": "mps"}[vendor] + "_available"
    origin = facts.origins.get(f"torch.{name}") or facts.origins.get("gpus")
    return origin.source if origin else ""


def _import(facts: Facts) -> Iterator[Symptom]:
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.imports is not False:
        return
    failure = torch.import_failure if isinstance(torch.import_failure, ImportFailure) else None
    hung = failure is not None and failure.kind == "timed-out"
    yield Symptom(
        id="import-failed",
        kind="hang" if hung else "import",
        subject="torch",
        text=failure.message if failure and failure.message else "import torch fails",
        source="import torch",
        causes=_causes.import_fails(systems_of(facts)),
    )


def _messages(facts: Facts) -> Iterator[Symptom]:
    rows = ((e, lookup.error_pattern(e.pattern)) for e in facts.errors)
    rated = [(e, row) for e, row in rows if row]
    known = [e for e, _ in rated]
    after = _consequence if any(e.pattern == "kernel-asserts" for e in known) else _as_it_is
    for error, row in rated:
        if row.harmless:
            continue
        yield after(
            Symptom(
                id=row.id,
                kind=row.kind,
                subject=row.subject,
                text=error.text,
                source=error.source,
                line=error.line,
                causes=row.causes,
            )
        )
    places = {(e.source, e.line) for e in known if e.line is not None}  # two rows that know a line speak of one thing
    texts = [e.text for e in known]
    for error in facts.errors:
        if error.pattern not in ("exception", "line") or (error.source, error.line) in places:
            continue
        if any(error.text in text or text in error.text for text in texts):
            continue
        if error.pattern == "exception":
            yield after(_by_code(_exception(error)))
        elif not _NOT_A_FAILURE.search(error.text):
            text, source, line = error.text, error.source, error.line
            yield after(_by_code(Symptom(id="unknown-message", kind="unknown", text=text, source=source, line=line)))


def _as_it_is(symptom: Symptom) -> Symptom:
    return symptom


def _consequence(symptom: Symptom) -> Symptom:
    """The same beside a failed assertion of a kernel: it ends CUDA in that process, so every later call fails, of
    whichever library (https://docs.nvidia.com/cuda/cuda-c-programming-guide/#assertion)."""
    if not _OF_CUDA.search(symptom.text):
        return symptom
    return replace(symptom, kind="program", causes=(PROGRAM_ERROR,))


def _by_code(symptom: Symptom) -> Symptom:
    """The same, with what the code in its text means, where nothing else is known of it."""
    if symptom.causes or symptom.kind != "unknown":
        return symptom
    reading = next((r for r in codes.in_text(symptom.text) if r.fails and r.causes), None)
    if reading is None:
        return symptom
    return replace(symptom, kind=reading.kind, subject=reading.subject, causes=reading.causes)


def is_warning(symptom: Symptom) -> bool:
    """Whether it only warns: where all that it warns of is ruled out, there is nothing to explain."""
    return _NOT_A_FAILURE.search(symptom.text) is not None


def _exception(error: ErrorText) -> Symptom:
    name = (error.groups[0] if error.groups else "").rpartition(".")[2]
    kind: Kind = "unknown"
    causes: tuple[str, ...] = ()
    if name in _IMPORTING:
        missing = _MISSING_MODULE.search(error.text)
        kind = "import" if missing is None or missing[1] in _FAMILY else "program"
    elif name == "MemoryError":
        kind, causes = "memory", _causes.OUT_OF_HOST_MEMORY
    elif (
        (name in PROGRAMS_OWN and _has_message(error))
        or name.endswith("Warning")
        or (name.endswith(_RAISED_BY_PROGRAMS) and name not in _OF_ANYBODY and not _DEVICE.search(error.text))
    ):
        kind, causes = "program", (PROGRAM_ERROR,)
    return Symptom(
        id="exception", kind=kind, subject="", text=error.text, source=error.source, line=error.line, causes=causes
    )


def _has_message(error: ErrorText) -> bool:
    """Whether it says anything: a bare «AssertionError:» may have lost the words that tell whose it is."""
    return bool("".join(error.groups[1:]).strip()) or ":" not in error.text


def _installs(facts: Facts) -> Iterator[Symptom]:
    for attempt in facts.attempts:
        if attempt.failed:
            text = attempt.message or attempt.command or f"{attempt.tool} failed"
            yield Symptom(id="install-failed", kind="install", subject="package", text=text[:300], source=attempt.tool,
                          causes=_causes.install_fails(systems_of(facts)))  # fmt: skip


def _probes(facts: Facts) -> Iterator[Symptom]:
    for probe in facts.probes or ():
        backend = probe.device.partition(":")[0]
        subject = _SUBJECTS.get(backend) or _cuda_subject(facts)
        made = _ended(probe)
        if made is None:
            continue
        id, kind, causes = made
        yield Symptom(
            id=id,
            kind=kind,
            subject=subject,
            text=f"{probe.device}: {probe.reason or 'the probe ' + probe.status}",
            source=f"probe of {probe.device}",
            causes=causes,
        )


def _cuda_subject(facts: Facts) -> str:
    return "amd" if isinstance(facts.torch, Torch) and facts.torch.hip else "nvidia"


def _ended(probe: ProbeResult) -> tuple[str, Kind, tuple[str, ...]] | None:
    """(id, kind, causes) of a probe that did not pass."""
    if probe.status == "ok":
        return None
    if probe.status == "skipped":
        # One that was not wanted has no stage; one that never came to its device has.
        return ("probe-did-not-run", "compute", _causes.PROBE_DID_NOT_RUN) if probe.stage else None
    if probe.data.get("wrong"):
        return "probe-wrong-results", "wrong-result", _causes.PROBE_WRONG_RESULTS
    if probe.status == "timed-out":
        return "probe-hung", "hang", _causes.PROBE_HUNG
    if probe.status == "crashed":
        return "probe-crashed", "compute", _causes.PROBE_CRASHED
    return "probe-failed", "compute", _causes.PROBE_FAILED

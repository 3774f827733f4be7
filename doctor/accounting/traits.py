"""What was understood of a text, as terms that stand beside its words when it is compared with labelled tickets:
"message=no-kernel-image", "torch=2.1", "gpu=nvidia". Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.checks._accelerators import accelerators
from doctor.checks._torch import kind
from doctor.knowledge.versions import minor_of
from doctor.model.facts import ABSENT, Facts, Torch
from doctor.model.symptom import Symptom

MARK = "="  # which no word contains


def traits_of(facts: Facts, symptoms: Iterable[Symptom]) -> frozenset[str]:
    """The terms; each is "what=value"."""
    told = _traits(facts, tuple(symptoms))
    return frozenset(f"{what}{MARK}{value}" for what, value in told if value not in (None, ""))


def _traits(facts: Facts, symptoms: Sequence[Symptom]) -> Iterator[tuple[str, object]]:
    host, torch = facts.host, facts.torch
    yield from (("system", host.system), ("container", host.container), ("architecture", host.architecture))
    yield "python", minor_of(facts.interpreter.version or "")
    yield "driver", "none" if facts.nvidia.driver is ABSENT else (facts.nvidia.driver or "").partition(".")[0]
    yield "gpus", "unknown" if facts.gpus is None else "some" if facts.gpus else "none"
    for gpu in facts.gpus or ():
        yield from (("gpu", gpu.vendor), ("capability", gpu.capability))
    yield from (("accelerator", f"{one.vendor}/{one.state}") for one in accelerators(facts))
    if isinstance(torch, Torch):
        yield from (("torch", minor_of(torch.version or "")), ("build", kind(facts)), ("cuda", torch.cuda or None))
        yield from (("imports", torch.imports), ("available", torch.cuda_available), ("mps", torch.mps_available))
    else:
        yield "torch", "missing" if torch is ABSENT else "unknown"
    yield from (("message", error.pattern) for error in facts.errors)
    yield from (("install", f"{attempt.tool}/{attempt.failed}") for attempt in facts.attempts)
    yield from (("package", package.name) for package in facts.packages or ())
    yield from (("symptom", f"{one.id}/{one.subject}") for one in symptoms)
    yield from (("kind", one.kind) for one in symptoms)

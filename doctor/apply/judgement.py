"""Whether a run cured what it was for: proven by what the second examination saw, or not at all. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.model.facts import Facts, Torch

if TYPE_CHECKING:
    from doctor.model.report import Report

_RANK = {"note": 1, "warning": 2, "fault": 3}
MADE_BY_TOOLS = ("interpreter", "torch", "libraries", "install", "run")  # layers that a new environment answers for


def judgement(targets: frozenset[str], before: Report, after: Report, *, fresh: bool = False) -> str | None:
    """None where the run is a proven cure; else the sentence that says why it is not.

    Proven: the interpreter starts, torch imports, none of the `targets` is found (or it is less than it was), no fault
    is new, the verdict is known (except for limits that the user set, and had set before), and what could be used
    before can be used now.
    `fresh`: `after` is of a new environment, so nothing could be used before, and faults of the machine are not its.
    """
    was, found = _severities(before), _severities(after)
    remaining = [id for id in sorted(targets) if found.get(id, 0) >= was.get(id, _RANK["fault"])]
    if remaining:
        return f"not cured: {', '.join(remaining)} is still found"
    new = [f for f in after.findings if f.severity == "fault" and was.get(f.id, 0) < _RANK["fault"]]
    if new := [f for f in new if not fresh or f.layer in MADE_BY_TOOLS]:
        return f"worse: {', '.join(f.id for f in new)} is found now"
    if reason := _unusable(after.facts):
        return reason
    if not fresh and (lost := list(_lost(before.facts, after.facts))):
        return f"worse: {', '.join(lost)} worked before, and is not known to work now"
    limited = _limited(before, after)
    unseen = [id for id in sorted(targets) if not _looked_at(id, after, limited=limited)]
    if after.verdict == "unknown" and (unseen or not limited):
        what = ", ".join(unseen) or "the environment"
        return f"not proven: {what} could not be looked at afterwards"
    return None


def _severities(report: Report) -> dict[str, int]:
    """The findings' ids, with how bad each is."""
    return {finding.id: _RANK[finding.severity] for finding in report.findings}


def _unusable(facts: Facts) -> str | None:
    """Why nothing is proven of this environment's torch."""
    failure = facts.interpreter.start_failure
    if failure:
        return f"worse: the environment's Python does not start any more ({failure.message})"
    torch = facts.torch
    if not torch:
        return "not proven: torch is not there afterwards" if torch is not None else "not proven: no torch was seen"
    if torch.imports is False:
        said = f" ({torch.import_failure.message})" if torch.import_failure else ""
        return f"not cured: torch does not import{said}"
    if torch.imports is None:
        gap = next((gap for gap in facts.gaps if gap.fact in ("torch.imports", "torch")), None)
        why = f" ({gap.detail or gap.reason})" if gap else ""
        return f"not proven: it is not known whether torch imports{why}"
    return None


def _lost(before: Facts, after: Facts) -> Iterator[str]:
    """What was seen to work and is not any more. What the probe was told to leave out both times tells nothing."""
    old = before.torch or Torch()
    new = after.torch or Torch()
    for name, label in (("cuda", "CUDA"), ("mps", "MPS"), ("xpu", "XPU")):
        if getattr(old, f"{name}_available") and not getattr(new, f"{name}_available"):
            yield label
    if len(new.devices or ()) < len(old.devices or ()):
        yield f"{len(old.devices or ())} devices, of which torch sees {len(new.devices or ())}"
    if old.numpy_works and not new.numpy_works:
        yield "NumPy with torch"
    works = {probe.id for probe in after.probes or () if probe.status == "ok"}
    for probe in before.probes or ():
        if probe.status == "ok" and probe.id not in works:
            yield f"the probe of {probe.id}"


def _looked_at(id: str, after: Report, *, limited: bool) -> bool:
    """Whether a check was carried out. Where the user limits what is heard, it is enough that all else which it needs
    is known: by that it found what is gone now."""
    from doctor.checks import check_of, is_known

    status = next((outcome.status for outcome in after.outcomes if outcome.id == id), None)
    if status != "skipped" or not limited:
        return status not in ("skipped", "crashed")
    check = check_of(id)
    return check is not None and all(is_known(after.facts, need) for need in check.needs if need != "messages")


def _limited(before: Report, after: Report) -> bool:
    """Whether no verdict was possible for limits of the user's, which were the same before."""
    return bool(after.limits) and set(after.limits) <= set(before.limits)

"""Whether a run cured what it was for: proven by what the second examination saw, or not at all. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.model.facts import Facts, Torch

if TYPE_CHECKING:
    from doctor.model.finding import Finding
    from doctor.model.report import Report

_RANK = {"note": 1, "warning": 2, "fault": 3}
CHANGED_BY_TOOLS = ("torch", "libraries", "install")  # layers whose faults are always a run's own
BUILD = ("torch.version", "torch.cuda", "torch.hip", "torch.xpu")
MADE_BY_TOOLS = ("interpreter", "torch", "libraries", "install", "run")  # layers that a new environment answers for


def judgement(targets: frozenset[str], before: Report, after: Report, *, fresh: bool = False) -> str | None:
    """None where the run is a proven cure; else the sentence that says why it is not.

    Proven: the interpreter starts, torch imports, none of the `targets` is found (or it is less than it was), no fault
    is new (unless it was hidden before: `uncovered`), the verdict is known (except for limits that the user set, and
    had set before), and what could be used before can be used now.
    `fresh`: `after` is of a new environment, so nothing could be used before, and faults of the machine are not its.
    """
    was, found = _severities(before), _severities(after)
    remaining = [id for id in sorted(targets) if found.get(id, 0) >= was.get(id, _RANK["fault"])]
    if remaining:
        return f"not cured: {', '.join(remaining)} is still found"
    hidden = uncovered(before, after)
    new = [f for f in _new_faults(before, after) if f.id not in hidden]
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


def uncovered(before: Report, after: Report) -> tuple[str, ...]:
    """The faults that are found now and that the run cannot have caused: before, their checks could not be answered
    (torch did not import, say), and they lie in no layer that tools change. A driver that is too old may be the fault
    of another build: where the build is another now, only faults of the machine are none of the run's, and only those
    that do not rest on the build or the packages."""
    skipped = {outcome.id for outcome in before.outcomes if outcome.status == "skipped"}
    same = all(_known(before.facts, fact) == _known(after.facts, fact) for fact in BUILD)
    return tuple(
        f.id
        for f in _new_faults(before, after)
        if f.id in skipped
        and f.layer not in CHANGED_BY_TOOLS
        and (same or (f.layer == "machine" and not _rests_on_build(f)))
    )


def _new_faults(before: Report, after: Report) -> list[Finding]:
    was = _severities(before)
    return [f for f in after.findings if f.severity == "fault" and was.get(f.id, 0) < _RANK["fault"]]


def _rests_on_build(finding: Finding) -> bool:
    from doctor.checks import check_of

    check = check_of(finding.id)
    needs = (name for need in (check.needs if check else ()) for name in need.split("|"))
    said = {*needs, *(evidence.fact for evidence in finding.evidence)}
    return any(name.split(".")[0].split("[")[0] in ("torch", "packages") for name in said)


def _known(facts: Facts, name: str) -> object:
    from doctor.checks import look_up

    return look_up(facts, name)


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

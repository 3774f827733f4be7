"""What the children said of their devices, as results of probes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from doctor.model.facts import Facts, ProbeResult, Torch
from doctor.probes import matches, wanted_probes
from doctor.probes.run import Run, tail
from doctor.probes.said import BEFORE_PROBE, raised

PEERS = "peers"  # the id of the result of all copies between GPUs
BEFORE_DEVICE = ("start", "import")  # a child that ends there says nothing of its device
TRIED = ("failures", "not_here", "tried")  # of each stage of a feature (inside/stages/tries.py)
DETAILS = ("wrong", "exception", "message", "traceback", "module", "cause", *TRIED)


def results(
    first: Run, others: Mapping[str, Run], facts: Facts, devices: Iterable[str]
) -> tuple[ProbeResult, ...]:
    """One result for each device that was or should have been probed: the CPU first, others in torch's order."""
    wanted = [w.device for w in wanted_probes(facts, devices)]
    runs = dict(others)
    if first.mode == "quick":
        runs.setdefault("cpu", first)
    found = [result_of(runs[device]) for device in wanted if device in runs]
    if PEERS in runs:
        found.append(replace(result_of(runs[PEERS]), id=PEERS, device="cuda"))
    if isinstance(facts.torch, Torch) and facts.torch.devices is not None:
        seen = {w.device for w in wanted_probes(facts)}
        for device in devices:
            if not any(matches(name, (device,)) for name in seen):
                reason = "torch sees no such device"
                found.append(ProbeResult(id=device, device=device, status="skipped", reason=reason))
    return tuple(found)


def result_of(run: Run) -> ProbeResult:
    """What one child's probe gave."""
    stages = tuple(s for s in run.stages if s.name not in BEFORE_PROBE)
    end = run.result
    assert end is not None
    wrong = [text for s in stages for text in s.data.get("wrong") or ()]  # type: ignore[attr-defined]
    data = {k: v for s in stages for k, v in s.data.items() if k not in DETAILS}
    for key in TRIED:
        if texts := [text for s in stages for text in s.data.get(key) or ()]:  # type: ignore[attr-defined]
            data[key] = texts
    if wrong:
        data["wrong"] = wrong
    threw = next((s for s in run.stages if "exception" in s.data), None)
    if run.cut_short or run.missing or (run.went_down and run.open in BEFORE_DEVICE):
        status: Any = "skipped"
        stage: str | None = run.open or (run.stages[-1].name if run.stages else "start")
        reason = run.ending()
    elif run.went_down:
        status = "timed-out" if end.status == "timed-out" else "crashed"
        stage, reason = run.open, run.ending()
    elif threw:
        said = raised(threw.data)
        status, stage, reason = "failed", threw.name, f"{said.exception}: {said.message}"
    elif wrong:
        status, reason = "failed", f"wrong results: {wrong[0]}"
        stage = next(s.name for s in stages if s.data.get("wrong"))
    else:
        status, stage, reason = "ok", stages[-1].name if stages else None, ""
    return ProbeResult(
        id=run.device, device=run.device, status=status, stage=stage, reason=reason, stages=stages, data=data,
        exit_code=end.exit_code if run.went_down else None, signal=end.signal,
        stderr_tail=tail(end.stderr) if status != "ok" else "", stuck=end.stuck,
    )

"""`probe --errata`: the triggers of the errata that hold here or may, each in a child of its own with a limit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal

from doctor.knowledge.errata import Erratum, Match
from doctor.model.facts import Facts, ProbeResult, Torch
from doctor.model.values import dataclass
from doctor.probes import matches
from doctor.probes.results import result_of
from doctor.probes.run import Run
from doctor.probes.triggers import triggers

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.facts.target import Found
    from doctor.model.request import Request

Outcome = Literal["confirmed", "not here", "untried"]
STAGE = "errata"


@dataclass(frozen=True)
class Trial:
    """An erratum to be tried on a device."""

    match: Match
    device: str


@dataclass(frozen=True)
class Tried:
    """What came of it. `detail`: what was seen, or why it can't be tried."""

    match: Match
    device: str
    outcome: Outcome
    detail: str
    ms: float


def trials(found: Iterable[Match], facts: Facts, devices: Iterable[str] = ()) -> tuple[Trial, ...]:
    """Those that have a trigger, each on the first device of a backend that meets it; `devices` limits them."""
    limit = tuple(devices)
    made = []
    for match in found:
        names = [name for b in match.backends if (name := _device(facts, b)) and matches(name, limit)]
        if match.erratum.trigger and names:
            made.append(Trial(match, names[0]))
    return tuple(made)


def _device(facts: Facts, backend: str) -> str | None:
    if backend == "cpu":
        return "cpu"
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    kind = "cuda" if backend == "rocm" else backend
    for device in (torch.devices or ()) if torch else ():
        if device.backend == kind:
            return kind if kind == "mps" else f"{kind}:{device.index}"
    return None


def attempt(
    wanted: Iterable[Trial], request: Request, progress: Callable[[str], None], jobs: int = 1
) -> tuple[Tried, ...]:
    """Run them in the request's target, `jobs` at a time. Two rows with the same trigger on one device share its
    child."""
    from doctor.facts.system import System
    from doctor.facts.target import find_target

    system = System.of_this_process()
    target = find_target(system, request.python)
    system = target.seen_from(system)
    wanted = tuple(wanted)
    keys = {(t.match.erratum.trigger, t.device): t.match.erratum.id for t in reversed(wanted)}

    def result(key: tuple[str, str]) -> ProbeResult:
        progress(f"trying {keys[key]} ({key[1]})")
        return _run(system, target, *key, request)

    if jobs == 1:  # here Ctrl-C ends it at once; a pool would first try all that is left
        seen = {key: result(key) for key in keys}
    else:
        triggers()  # once, before there are threads: Python 3.11 parses source in one at a time
        with ThreadPoolExecutor(jobs) as pool:
            seen = dict(zip(keys, pool.map(result, keys), strict=True))
    return tuple(judged(trial, seen[trial.match.erratum.trigger, trial.device]) for trial in wanted)


def _run(system: System, target: Found, trigger: str, device: str, request: Request) -> ProbeResult:
    assert target.python
    changed = threading.Condition()
    run = Run(system, target.python, device, f"{STAGE}:{trigger}", request.limit_s, changed)
    with changed:
        while run.result is None:
            changed.wait(0.2)
    return result_of(run)


def judged(trial: Trial, result: ProbeResult) -> Tried:
    """What a child's answer says of the erratum. A crash or a hang in the trigger confirms one of that kind."""
    erratum = trial.match.erratum
    stage = next((s for s in result.stages if s.name == STAGE), None)
    if stage is not None and "seen" in stage.data:
        said = str(stage.data["seen"])
        outcome: Outcome = "confirmed" if said else "not here"
        return Tried(trial.match, trial.device, outcome, said, stage.ms)
    if stage is not None and stage.data.get("untried"):
        return Tried(trial.match, trial.device, "untried", str(stage.data["untried"]), stage.ms)
    if result.stage == STAGE and _shows(erratum, result):
        return Tried(trial.match, trial.device, "confirmed", result.reason, 0.0)
    return Tried(trial.match, trial.device, "untried", result.reason or "its child said nothing", 0.0)


def _shows(erratum: Erratum, result: ProbeResult) -> bool:
    return (erratum.kind, result.status) in (("crash", "crashed"), ("hang", "timed-out"))

"""The children that import torch: the first one at once, one more for every other device. Their lines become facts.

The first child gives torch's dynamic facts and probes the CPU. The GPUs that files of the driver promise have theirs at
once, too: most of a child's time goes to importing torch, and whether this torch is a CUDA build is known soon. One
child is run.py; what it said becomes facts in imported.py and results.py.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from doctor.model.facts import ABSENT, Facts, Gap, Torch
from doctor.model.values import dataclass
from doctor.probes import likely_gpus, matches, wanted_probes
from doctor.probes.imported import with_import
from doctor.probes.results import PEERS, results
from doctor.probes.run import WORDS, Run
from doctor.probes.said import BEFORE_PROBE

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.facts.target import Found
    from doctor.model.request import Request

SLOW_S = 1.0  # a stage that takes longer is worth a word
# Where there is this room, and an NVIDIA GPU, the CPU's probe has a child of its own: it need not wait for the driver.
APART_CPUS = 4.0
APART_BYTES = 8 << 30


@dataclass(frozen=True)
class First:
    """What start_first began. `run` is None where the target can't be started at all; `cpu` probes the CPU, where `run`
    does not; `gpus` are the children of the GPUs that files promise, by device."""

    run: Run | None
    changed: threading.Condition
    cpu: Run | None = None
    gpus: Mapping[str, Run] = field(default_factory=dict)


def start_first(system: System, found: Found, *, probe: bool, request: Request) -> First:
    """Start the children that import torch: those of promised GPUs, which have most to do, and the one that gives
    torch's facts. Nothing but the target is known yet."""
    changed = threading.Condition()
    if found.failure or not found.python:
        return First(None, changed)

    def child(device: str, mode: str) -> Run:
        return Run(system, found.python or "", device, mode, request.limit_s, changed)

    gpus = {device: child(device, request.mode) for device in (promised(system, request) if probe else ())}
    mode = "quick" if probe and request.mode == "quick" and matches("cpu", request.devices) else "facts"
    apart = mode == "quick" and has_room_apart(system)
    run = child("cpu", "facts" if apart else mode)
    return First(run, changed, child("cpu", "cpu-only") if apart else None, gpus)


def promised(system: System, request: Request) -> tuple[str, ...]:
    """The devices to probe that the driver's files promise to a CUDA build of torch. What torch says of them decides:
    a child that was promised too much is ended (Others.end_unwanted)."""
    from doctor.facts.gpus.driver_files import promised_by_files

    files = promised_by_files(system)
    names = likely_gpus(files.count, system.environ) if files else ()
    return tuple(name for name in names if matches(name, request.devices))


def has_room_apart(system: System) -> bool:
    """Whether asking an NVIDIA driver and probing the CPU may go on side by side: CPUs and memory for a third child."""
    from doctor.facts.gpus.driver_files import gpu_nodes

    if not gpu_nodes(system):
        return False
    from doctor.facts import host

    cpus, memory = system.cpus()[1] or 0, system.memory()
    free = 0 if isinstance(memory, Gap) else memory[1]
    return (
        min(cpus, host.cgroup_cpus(system) or cpus) >= APART_CPUS
        and min(free, host.cgroup_memory(system) or free) >= APART_BYTES
    )


def finish(
    first: First, system: System, found: Found, facts: Facts, *, request: Request, progress: Callable[[str], None]
) -> Facts:
    """Probe, and add what all children said to the same facts."""
    return add(probe(first, system, found, facts, request=request, progress=progress), facts)


def probe(
    first: First, system: System, found: Found, facts: Facts, *, request: Request, progress: Callable[[str], None]
) -> Others | None:
    """Wait for the first child, and probe the other devices side by side: those that `facts` promise at once, for
    importing torch takes most of a child's time. None where the target can't be started."""
    if first.run is None or not found.python:
        return None
    others = Others(system, found.python, first, request)
    if facts.torch is ABSENT or (facts.torch and facts.torch.cuda is ABSENT):
        others.end_promised(first.gpus)
    watch(first.run, others, facts, progress)
    facts = with_import(facts, first.run)
    for devices in others.later(facts):  # what shares a resource with the others runs after them
        for device, mode in devices:
            others.start(device, mode)
        watch(first.run, others, facts, progress)
    return others


def add(others: Others | None, facts: Facts) -> Facts:
    """The facts with what the children said."""
    if others is None:
        reason = "the target's Python can't be started"
        gaps = tuple(Gap(fact=f, reason="not-looked", detail=reason) for f in ("torch.imports", "probes"))
        return replace(facts, gaps=(*facts.gaps, *gaps))
    facts = with_import(facts, others.first)
    if facts.torch is ABSENT or (facts.torch and facts.torch.imports is False):
        return replace(facts, probes=())
    if not others.wanted or not facts.torch or facts.torch.imports is None:
        detail = "it is not known whether torch imports" if others.wanted else "the probe was not wanted (--no-probe)"
        return replace(facts, gaps=(*facts.gaps, Gap(fact="probes", reason="not-looked", detail=detail)))
    return replace(facts, probes=results(others.first, others.runs, facts, others.devices))


class Others:
    """The children of all devices but the first, by device."""

    def __init__(self, system: System, python: str, first: First, request: Request) -> None:
        assert first.run is not None
        self.first = first.run
        self.runs: dict[str, Run] = {**({"cpu": first.cpu} if first.cpu else {}), **first.gpus}
        self._system = system
        self._python = python
        self.changed = first.changed
        self.wanted = request.probe
        self.known = not request.probe  # whether what torch says of the devices was looked at
        self.devices = request.devices
        self._request = request
        self._ended: set[str] = set()  # by us: nobody wants them

    @property
    def answered(self) -> bool:
        """Whether no child ran out of time: none says that a driver hangs."""
        ended = [run.result for run in (self.first, *self.runs.values())]
        return all(result is not None and result.status != "timed-out" for result in ended)

    @property
    def devices_used_at(self) -> float | None:
        """time.monotonic() at which the first of them began to use a device other than the CPU."""
        return min((run.opened_at for run in self.runs.values() if run.opened_at is not None), default=None)

    def start(self, device: str, mode: str | None = None) -> None:
        """Starts the probe of a device, unless it runs already."""
        if device not in self.runs:
            named = "cuda:0" if device == PEERS else device
            mode = mode or self._request.mode
            self.runs[device] = Run(self._system, self._python, named, mode, self._request.limit_s, self.changed)

    def start_again(self) -> None:
        """Those that ended while they imported torch and opened their device: they do one after the other now, and the
        stage says which of them it was. Only where torch imports without that."""
        imported = self.first.stage("import")
        for device, run in list(self.runs.items()):
            if run.failed_ahead and imported and imported.ok and device not in self._ended:
                again = Run(self._system, self._python, run.device, run.mode, self._request.limit_s, self.changed,
                            ahead=False)  # fmt: skip
                self.runs[device] = again

    def start_wanted(self, facts: Facts) -> None:
        """Starts the probes of all devices but the CPU that these facts promise."""
        for wanted in wanted_probes(facts, self._request.devices):
            if wanted.device != "cpu":
                self.start(wanted.device)

    def later(self, facts: Facts) -> Iterator[list[tuple[str, str | None]]]:
        """(device, mode) of the probes that wait for the others: a long one of the CPU, and copies between GPUs."""
        torch = facts.torch
        if not self.wanted or self._request.mode == "quick" or not isinstance(torch, Torch) or not torch.imports:
            return
        wanted = [w.device for w in wanted_probes(facts, self._request.devices)]
        if "cpu" in wanted:
            yield [("cpu", None)]
        if self._request.mode == "full" and sum(device.startswith("cuda:") for device in wanted) > 1:
            yield [(PEERS, "peers")]

    def end_unwanted(self, facts: Facts) -> None:
        """Those that static facts promised and torch doesn't see, and all of them where torch doesn't import."""
        wanted = {w.device for w in wanted_probes(facts, self._request.devices)}
        for device, run in self.runs.items():
            if device not in wanted and device != PEERS:
                self._ended.add(device)
                run.end()

    def end_promised(self, gpus: Iterable[str]) -> None:
        """Those of GPUs that files promised, where files of torch say that it is no CUDA build."""
        for device in gpus:
            self.runs.pop(device).end()

    def probe_cpu(self, first: Run) -> None:
        """The CPU deserves its probe also where asking the driver hung or crashed."""
        if first.mode == "quick" and first.went_down and first.open in ("facts", "driver"):
            self.start("cpu", "cpu-only")


def watch(first: Run, others: Others, facts: Facts, progress: Callable[[str], None]) -> None:
    """Until all children have ended: start those that become wanted, and say which stage takes long."""
    said: set[tuple[str, str]] = set()
    share = getattr(progress, "share", None)  # a watcher with a bar wants to know how much is done
    if others.wanted:
        others.start_wanted(facts)  # those that the static facts promise
    with others.changed:
        while True:
            if not others.known and first.past_driver:  # perhaps it ended before we came here
                others.known = True
                known = with_import(facts, first)
                others.start_wanted(known)
                others.end_unwanted(known)
                others.probe_cpu(first)
            others.start_again()
            running = [run for run in (first, *others.runs.values()) if run.result is None]
            if share and others.runs:
                share(sum(1.0 if r.result else r.share for r in others.runs.values()) / len(others.runs))
            if not running:
                return
            for run in running:
                stage = run.open or ""
                if time.monotonic() - run.since > SLOW_S and stage in WORDS and (run.device, stage) not in said:
                    said.add((run.device, stage))
                    progress(WORDS[stage] if stage in BEFORE_PROBE else f"{WORDS[stage]} ({run.device})")
            others.changed.wait(0.2)

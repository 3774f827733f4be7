"""The children that import torch: the first one at once, one more for every other device. Their lines become facts.

The first child gives torch's dynamic facts and probes the CPU. A child is killed when a stage takes longer than its
limit; what it said until then is kept, so the stage that stands open is where it hung or died.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor import process
from doctor.decode import Refused, check_shapes, decode_fields, fits
from doctor.model.facts import ABSENT, Facts, Gap, ImportFailure, ProbeResult, Reason, Stage, Torch
from doctor.model.values import dataclass
from doctor.probes import matches, wanted_probes
from doctor.probes.said import BEFORE_PROBE, REQUIRED, Line, Said, line_of, raised
from doctor.probes.triggers import triggers

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.facts.target import Found
    from doctor.model.request import Request

IMPORT_LIMIT_S = 60.0  # from a cold network disk; a warm one needs a few seconds
DRIVER_LIMIT_S = 30.0  # a healthy server needs seconds a GPU without persistence mode
STAGE_LIMIT_S = 60.0  # the first kernel may be compiled by the driver (PTX)
LONG_LIMIT_S = 300.0  # of the stages that take many seconds on a slow machine
RUN_LIMIT_S = {"quick": 300.0, "full": 1800.0, "soak": 600.0}  # of all children; a soak has its minutes besides
LONG_STAGES = ("silent", "training", "memory", "sustained", "compile", "workers", "distributed", "extensions")
MANY_GPUS = 8  # with more, the driver's limit doubles
SLOW_S = 1.0  # a stage that takes longer is worth a word
TAIL = 3000  # characters kept of stderr
WORDS = {
    "start": "starting Python",
    "import": "importing torch",
    "facts": "asking torch",
    "driver": "asking the driver",
    "open": "opening the device",
    "reference": "checking the reference",
    "allocate": "checking memory",
    "kernel": "running a first kernel",
    "precision": "measuring precision",
    "correct": "checking results",
    "layouts": "checking layouts",
    "random": "checking random numbers",
    "speed": "measuring speed",
    "cores": "checking every core",
    "silent": "looking for silent faults",
    "training": "training",
    "memory": "checking all memory",
    "sustained": "measuring the sustained rate",
    "types": "measuring other types",
    "bandwidth": "measuring memory",
    "transfer": "measuring transfers",
    "attention": "checking attention",
    "io": "saving and loading",
    "workers": "loading data in worker processes",
    "compile": "compiling",
    "distributed": "joining two processes",
    "extensions": "calling installed extensions",
    "soak": "soaking",
    "peers": "copying between GPUs",
    "state": "asking for its state",
    "again": "measuring speed again",
    "errata": "trying an erratum",
}
# The pieces that a mode needs, in the order of their stages: files of inside/stages/, with a "/" of inside/ itself.
QUICK = ("monitor", "layouts", "draws", "speed")
FEATURES = ("apart", "tries", "attention", "io", "workers", "distributed", "extensions", "compile")
PIECES = {
    "facts": (),
    "quick": QUICK,
    "cpu-only": QUICK,
    "full": (*QUICK, "cores", "silent", "training", "memory", "endurance", *FEATURES),
    "soak": ("monitor", "speed", "endurance"),
    "peers": ("apart", "tries", "peers", "distributed"),
    "fleet": (*QUICK, "memory", "endurance", "node"),
    "errata": ("errata/stage",),  # and the piece that holds the trigger
}
PEERS = "peers"  # the id of the result of all copies between GPUs
STATES = {  # what a process did when its time was over
    "R": ", computing",
    "S": ", waiting",
    "D": ", waiting inside the kernel (a driver that does not answer)",
    "T": ", stopped",
}
# Where there is this room, and an NVIDIA GPU, the CPU's probe has a child of its own: it need not wait for the driver.
APART_CPUS = 4.0
APART_BYTES = 8 << 30
BEFORE_DEVICE = ("start", "import")  # a child that ends there says nothing of its device


def run_limit(mode: str, stage_limit_s: float | None) -> float:
    """Seconds for all that is started for one examination. Who allows a stage more than we do allows more to the whole.

    >>> run_limit("quick", None), run_limit("soak:30", None), run_limit("quick", 600.0)
    (300.0, 2400.0, 3000.0)
    """
    kind, _, minutes = mode.partition(":")
    base = RUN_LIMIT_S.get(kind, RUN_LIMIT_S["quick"]) * max(1.0, (stage_limit_s or 0.0) / STAGE_LIMIT_S)
    return base + (60 * float(minutes) if minutes else 0.0)


@dataclass(frozen=True)
class First:
    """What start_first began. `run` is None where the target can't be started at all; `cpu` probes the CPU, where `run`
    does not."""

    run: Run | None
    changed: threading.Condition
    cpu: Run | None = None


class Run:
    """One child, and what it has said so far."""

    def __init__(
        self, system: System, python: str, device: str, mode: str, limit_s: float | None, changed: threading.Condition,
        import_s: float | None = None,
    ) -> None:
        self.device = device
        self.mode = mode
        self.stages: list[Stage] = []
        self.open: str | None = "start"
        self.since = time.monotonic()
        self.result: process.Result | None = None  # set when it has ended
        self.done = False  # it has said all that it had to say
        self.share = 0.0  # of its probe that is done
        self.opened_at: float | None = None  # since when it uses a GPU
        self._system = system
        self._limit_s = limit_s
        self._import_s = import_s  # of Python's start and the import of torch; None: as the other stages
        self._changed = changed
        self._oom_kills = oom_kills(system)
        self.refused = ""  # why it is not believed
        self._kind = mode.partition(":")[0]
        self._begun: set[str] = set()
        self._child = system.start(
            [python, "-B", "-X", "faulthandler", "-", device, mode],
            limit_s=self.limit_of("start"),
            script=script(mode, limit_s),
            on_said=self._hear,
            dump_stacks=True,
        )
        if not process.in_background(self._await):  # without a thread nobody would see its end
            self._child.kill()
            self._await()

    def limit_of(self, stage: str) -> float:
        """Seconds for a stage: the user's, or our own."""
        if self._import_s is not None and stage in ("start", "import"):
            return self._import_s
        if self._limit_s is not None:
            return self._limit_s
        if stage in ("start", "import"):
            return IMPORT_LIMIT_S
        if stage in ("driver", "open"):
            from doctor.facts.gpus.nvidia import gpu_nodes  # when the first child has been started

            return DRIVER_LIMIT_S * (2 if gpu_nodes(self._system) > MANY_GPUS else 1)
        return LONG_LIMIT_S if stage in LONG_STAGES else STAGE_LIMIT_S

    def _await(self) -> None:
        result = self._child.result()
        with self._changed:
            self.result = result
            self._changed.notify_all()

    def _hear(self, text: str) -> float | str | None:
        """One line of the child; the limit of the stage that it opens, or DONE. What is no line of ours ends it:
        nothing that it says is believed from there on."""
        with self._changed:
            self.since = time.monotonic()
            try:
                return self._take(line_of(text))
            except Refused as error:
                self.refused = str(error)
                return process.DONE
            finally:
                self._changed.notify_all()

    def _take(self, line: Line) -> float | str | None:
        """A stage is begun once, and ended once: a target that repeats itself moves no deadline and fills no memory."""
        if self.done or self.refused:
            return process.DONE
        if line.event == "begin":
            stage = line.stage or ""
            if self.open not in (None, "start") or stage in self._begun or stage not in WORDS:
                raise Refused(f"{self.open or 'nothing'} is at work, and it begins {stage[:40]!r}")
            self._begun.add(stage)
            if stage == "open" and self.device != "cpu":
                self.opened_at = self.since
            self.open = stage
            return self.limit_of(stage)
        if line.event == "end":
            if self.open is None or line.stage != self.open:
                raise Refused(f"{self.open or 'nothing'} is at work, and it ends {(line.stage or '')[:40]!r}")
            self.open = None
            self.stages.append(Stage(name=line.stage, ok=bool(line.ok), ms=line.ms or 0.0, data=line.data))
        elif line.event == "share":
            self.share = max(self.share, line.share or 0.0)
            if self.open == "soak" and self._kind == "soak":  # a round; the whole has its limit, too
                return self.limit_of(self.open)
        else:
            if self.open is not None:
                raise Refused(f"{self.open} is at work, and it is done")
            self.done = True
            return process.DONE
        return None

    def stage(self, name: str) -> Stage | None:
        """A stage that has ended."""
        return next((s for s in self.stages if s.name == name), None)

    @property
    def past_driver(self) -> bool:
        """Whether it has said all that it will say of the devices."""
        return self.result is not None or self.stage("driver") is not None

    @property
    def went_down(self) -> bool:
        """Whether it ended before it said that it was done."""
        return self.result is not None and not self.done

    @property
    def missing(self) -> tuple[str, ...]:
        """The stages of which it said nothing, though it said that it is done. After one that raised there are none."""
        if not self.done or any("exception" in stage.data for stage in self.stages):
            return ()
        return tuple(name for name in REQUIRED.get(self._kind, ()) if self.stage(name) is None)

    @property
    def cut_short(self) -> bool:
        """Whether it was our limits that ended it, or a lie of the target: that says nothing of torch or a device."""
        ended = self.result
        if ended is None:
            return False
        return bool(self.refused) or (
            self.went_down and (ended.run_over or ended.status in ("flooded", "refused"))
        )

    def end(self) -> None:
        """It is of no more use."""
        self._child.kill()

    def ending(self) -> str:
        """How a child that went down ended, in one sentence."""
        what = WORDS.get(self.open or "", "running")
        if self.refused:
            return f"{what}: the child is not believed, for what it said is refused: {self.refused}"
        if self.missing:
            return f"the child says that it is done, but not what came of {', '.join(self.missing)}"
        assert self.result is not None
        if self.result.run_over:
            return f"{what}: the time for the whole run was over (--time-limit allows more)"
        if self.result.status in ("flooded", "refused"):
            return f"{what}: {self.result.said}"
        if self.result.status == "timed-out":
            doing = STATES.get(self.result.state, "")
            stuck = ", and the process cannot be killed" if self.result.stuck else ""
            return f"{what} took longer than {self.result.limit_s:g} s{doing} (--timeout allows more){stuck}"
        if self.result.status == "crashed":
            if self.result.signal == 9 and oom_kills(self._system) > self._oom_kills:
                return f"{what}: the system ended it because memory ran out (signal 9, out-of-memory killer)"
            return f"{what}: {crash_message(self.result)}"
        return f"{what}: the process ended with exit code {self.result.exit_code}"


@cache
def script(mode: str, limit_s: float | None = None) -> str:
    """What a child reads on its stdin: the pieces that the mode needs, as a table, the limit of a stage where it is not
    our own, and the text of inside/probe.py."""
    inside = Path(__file__).parent.parent / "inside"
    files = {name: inside / f"{name if '/' in name else f'stages/{name}'}.py" for name in pieces_of(mode)}
    pieces = [(name, path.read_text(encoding="utf-8")) for name, path in files.items()]
    limit = f"STAGE_LIMIT_S = {limit_s!r}\n" if limit_s is not None else ""
    return f"PIECES = {pieces!r}\n{limit}" + (inside / "probe.py").read_text(encoding="utf-8")


def pieces_of(mode: str) -> tuple[str, ...]:
    """The names of the pieces that a child of that mode is sent.

    >>> pieces_of("soak:30"), pieces_of("errata:sort_of_nothing"), pieces_of("errata:clamp_twice")
    (('monitor', 'speed', 'endurance'), ('errata/stage', 'errata/mps'), ('errata/stage', 'silent'))
    """
    kind, _, trigger = mode.partition(":")
    home = triggers().get(trigger) if kind == "errata" else None
    return (*PIECES[kind], home) if home else PIECES[kind]


def oom_kills(system: System) -> int:
    """How many processes of our control groups the out-of-memory killer has ended so far."""
    groups = system.read("/proc/self/cgroup")
    total = 0
    for line in () if isinstance(groups, Gap) else groups.splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers == "":
            files = [f"/sys/fs/cgroup{path}/memory.events", "/sys/fs/cgroup/memory.events"]
        elif "memory" in controllers.split(","):
            files = [f"/sys/fs/cgroup/memory{path}/memory.oom_control"]
        else:
            continue
        for file in files:
            text = system.read(file)
            counts = [] if isinstance(text, Gap) else [x for x in text.splitlines() if x.startswith("oom_kill ")]
            if counts:
                total += int(counts[0].split()[1])
                break
    return total


def start_first(system: System, found: Found, *, probe: bool, request: Request) -> First:
    """Start the child that imports torch. Nothing but the target is known yet."""
    changed = threading.Condition()
    if found.failure or not found.python:
        return First(None, changed)
    mode = "quick" if probe and request.mode == "quick" and matches("cpu", request.devices) else "facts"
    apart = mode == "quick" and has_room_apart(system)
    run = Run(system, found.python, "cpu", "facts" if apart else mode, request.limit_s, changed)
    cpu = Run(system, found.python, "cpu", "cpu-only", request.limit_s, changed) if apart else None
    return First(run, changed, cpu)


def has_room_apart(system: System) -> bool:
    """Whether asking an NVIDIA driver and probing the CPU may go on side by side: CPUs and memory for a third child."""
    from doctor.facts import host
    from doctor.facts.gpus.nvidia import gpu_nodes

    if not gpu_nodes(system):
        return False
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
    return replace(facts, probes=results(others.first, others, facts, others.devices))


class Others:
    """The children of all devices but the first, by device."""

    def __init__(self, system: System, python: str, first: First, request: Request) -> None:
        assert first.run is not None
        self.first = first.run
        self.runs: dict[str, Run] = {"cpu": first.cpu} if first.cpu else {}
        self._system = system
        self._python = python
        self.changed = first.changed
        self.wanted = request.probe
        self.known = not request.probe  # whether what torch says of the devices was looked at
        self.devices = request.devices
        self._request = request

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
        if device not in self.runs:
            named = "cuda:0" if device == PEERS else device
            mode = mode or self._request.mode
            self.runs[device] = Run(self._system, self._python, named, mode, self._request.limit_s, self.changed)

    def start_wanted(self, facts: Facts) -> None:
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
                run.end()

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


# --- the import ---------------------------------------------------------------------------------------------


def with_import(facts: Facts, run: Run) -> Facts:
    """The facts with what importing torch said. torch that is ABSENT stays so unless it imported all the same."""
    stage = run.stage("import")
    if run.refused:
        gap = Gap(fact="torch.imports", reason="unreadable", detail=run.ending(), source="import torch")
        return replace(facts, gaps=(*facts.gaps, gap))
    if stage and stage.ok:
        torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
        said, odd = decode_fields(Said, _dynamic(run, stage))
        for name in [name for name, value in said.items() if not fits("Torch", name, value)]:
            odd[name] = f"it cannot be {str(said.pop(name))[:60]!r}"
        try:
            check_shapes(said.get("devices"), "devices")
        except Refused as error:
            del said["devices"]
            odd["devices"] = str(error)
        gaps = tuple(
            Gap(fact=f"torch.{name}", reason="unreadable", detail=f"refused: {why}", source="import torch")
            for name, why in odd.items()
        )
        torch = _imported(torch, said, stage.ms)
        return replace(facts, torch=torch, gaps=(*facts.gaps, *_gaps(run), *gaps))
    if stage and _is_missing(stage.data):
        return facts if facts.torch else replace(facts, torch=ABSENT)
    failure = import_failure(run)
    if failure and facts.torch is not ABSENT:
        torch = facts.torch or Torch()
        return replace(
            facts, torch=replace(torch, imports=False, import_failure=failure, warnings=_texts(stage, "warnings"))
        )
    if failure is None and run.result is not None:
        reason = {"timed-out": "timed-out", "not-found": "not-installed", "permission": "permission",
                  "flooded": "unreadable", "refused": "not-looked"}  # fmt: skip
        why = reason.get(run.result.status, "crashed")
        detail = run.ending() if run.open == "import" or run.cut_short or run.result.ok else run.result.said
        gap = Gap(fact="torch.imports", reason=why, detail=detail, source="import torch")  # type: ignore[arg-type]
        return replace(facts, gaps=(*facts.gaps, gap))
    return facts


def _is_missing(data: Mapping[str, Any]) -> bool:
    return data.get("exception") == "ModuleNotFoundError" and data.get("module") == "torch"


def _dynamic(run: Run, stage: Stage) -> dict[str, Any]:
    """All that the child said of torch."""
    said: dict[str, Any] = {**stage.data}
    for name in ("facts", "driver"):
        ended = run.stage(name)
        if ended and ended.ok:
            said.update(ended.data)
    return said


def _imported(torch: Torch, said: Mapping[str, Any], ms: float) -> Torch:
    known: dict[str, Any] = {
        key: said[key]
        for key in (
            "version", "git", "debug", "cuda_built", "mps_built", "cuda_available", "mps_available", "xpu_available",
            "numpy_works", "cpu_capability", "threads", "warnings", "arch_list", "loaded_libraries", "devices",
        )
        if said.get(key) is not None
    }
    for key in ("cuda", "hip", "xpu", "cuda_error", "numpy_error"):
        if key in said:
            known[key] = ABSENT if said[key] is None else said[key]
    if said.get("file"):
        known["path"] = os.path.dirname(said["file"])
    if "cudnn" in said and not said.get("cudnn_error"):
        known["cudnn"] = cudnn_version(said["cudnn"]) if said["cudnn"] else ABSENT
    return replace(torch, imports=True, import_failure=ABSENT, import_ms=ms, **known)


def cudnn_version(number: int) -> str:
    """cuDNN's number as its version.

    >>> cudnn_version(90100), cudnn_version(8902), cudnn_version(7605)
    ('9.1.0', '8.9.2', '7.6.5')
    """
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def _gaps(run: Run) -> Iterator[Gap]:
    """Why facts are missing though torch imported."""
    source = "import torch"
    driver = run.stage("driver")
    if driver is None and run.result is not None:
        reason: Reason = "timed-out" if run.result.status == "timed-out" else "crashed"
        for name in ("devices", "cuda_available", "mps_available", "xpu_available", "cuda_error"):
            yield Gap(fact=f"torch.{name}", reason=reason, source=source, detail=run.ending())
    elif driver and not driver.ok:
        yield Gap(fact="torch.devices", reason="crashed", source=source, detail=str(driver.data.get("message")))
    elif driver and driver.data.get("cudnn_error"):
        yield Gap(fact="torch.cudnn", reason="crashed", source=source, detail=str(driver.data["cudnn_error"]))


def _texts(stage: Stage | None, key: str) -> tuple[str, ...] | None:
    values, _ = decode_fields(Said, dict(stage.data)) if stage else ({}, {})
    return (values.get(key) or ()) if stage else None


def import_failure(run: Run) -> ImportFailure | None:
    """How the import ended, where it did not succeed; None where it did, or where the child did not come so far."""
    stage, result = run.stage("import"), run.result
    if stage and not stage.ok:
        said = raised(stage.data)
        code = said.exit_code
        return ImportFailure(
            kind="exception" if code is None else "exit",
            message=said.message if code is None else exit_message(code),
            exception=said.exception,
            traceback=said.traceback,
            exit_code=code,
            stage="import",
        )
    if stage or result is None or run.open != "import" or run.cut_short:
        return None
    if result.status == "timed-out" and result.limit_s < IMPORT_LIMIT_S:
        return None  # the user's limit: a healthy torch may need longer
    kind = {"timed-out": "timed-out", "crashed": "signal"}.get(result.status, "exit")
    message = {
        "timed-out": f"import torch did not end within {result.limit_s:g} s",
        "signal": run.ending() if result.signal == 9 else crash_message(result),
        "exit": exit_message(result.exit_code),
    }[kind]
    return ImportFailure(
        kind=kind,  # type: ignore[arg-type]
        message=message,
        traceback=tail(result.stderr),
        exit_code=result.exit_code,
        signal=result.signal,
        stage="import",
    )


def exit_message(code: int | None) -> str:
    return f"importing torch ended the program with exit code {code}"


def crash_message(result: process.Result) -> str:
    """What faulthandler or the runtime said when it died, else the signal's number and name."""
    for line in result.stderr.splitlines():
        if line.startswith(("Fatal Python error:", "Windows fatal exception:")):
            return line.partition(":")[2].strip()
    if result.signal is None:
        return f"crashed with code {result.exit_code or 0:#x}"
    import signal

    names = {s.value: s.name for s in signal.Signals}
    return f"ended by signal {result.signal} ({names.get(result.signal, 'unknown')})"


def tail(text: str) -> str:
    return text[-TAIL:].strip()


# --- the probes ---------------------------------------------------------------------------------------------


def results(first: Run, others: Others, facts: Facts, devices: Iterable[str]) -> tuple[ProbeResult, ...]:
    """One result for each device that was or should have been probed: the CPU first, others in torch's order."""
    wanted = [w.device for w in wanted_probes(facts, devices)]
    runs = dict(others.runs)
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


TRIED = ("failures", "not_here", "tried")  # of each stage of a feature (inside/stages/tries.py)
DETAILS = ("wrong", "exception", "message", "traceback", "module", "cause", *TRIED)

"""One child: its stages as it says them, what is refused, and how it ended.

A child is killed when a stage takes longer than its limit; what it said until then is kept, so the stage that stands
open is where it hung or died.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from doctor import process
from doctor.decode import Refused
from doctor.model.facts import Gap, Stage
from doctor.probes import limits
from doctor.probes.said import REQUIRED, Line, line_of
from doctor.probes.script import script

if TYPE_CHECKING:
    from doctor.facts.system import System

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
STATES = {  # what a process did when its time was over
    "R": ", computing",
    "S": ", waiting",
    "D": ", waiting inside the kernel (a driver that does not answer)",
    "T": ", stopped",
}


class Run:
    """One child, and what it has said so far."""

    def __init__(
        self, system: System, python: str, device: str, mode: str, limit_s: float | None, changed: threading.Condition,
        import_s: float | None = None, *, ahead: bool = True,
    ) -> None:
        self.device = device
        self.mode = mode
        self.ahead = ahead and mode == "quick" and device.startswith("cuda:")  # opens its device beside the import
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
            script=script(mode, limit_s, ahead=self.ahead),
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
        return limits.stage_limit(stage, self._has_many_gpus)

    def _has_many_gpus(self) -> bool:
        from doctor.facts.gpus.driver_files import gpu_nodes

        return gpu_nodes(self._system) > limits.MANY_GPUS

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
                self.opened_at = self.opened_at or self.since
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
        elif line.event == "uses":
            self.opened_at = self.opened_at or self.since
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
    def failed_ahead(self) -> bool:
        """Whether it ended before torch was imported, and opened its device meanwhile: which of them ended it?"""
        imported = self.stage("import")
        return self.ahead and self.result is not None and not self.cut_short and not (imported and imported.ok)

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
    """The last characters of what a child wrote to stderr."""
    return text[-TAIL:].strip()

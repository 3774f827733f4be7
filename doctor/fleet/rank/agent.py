"""One rank: its record from the first second on, stage A (a child for its device), B (the configuration), C (a child
for links and collectives).

This process imports no torch and computes nothing, so it stays able to speak: it hears its children line by line, ends
one that takes longer than its step may, names the step, and rewrites the rank's record whenever there is more to say.
"""

from __future__ import annotations

import os
import platform
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType
from typing import Any

from doctor import __version__, process
from doctor.decode import Refused, decode, decode_fields
from doctor.facts.system import System
from doctor.fleet import folder
from doctor.fleet.rank import machine, watchdog
from doctor.fleet.rank.options import Options
from doctor.fleet.rank.place import Place
from doctor.fleet.rank.said import Line, line_of
from doctor.model.facts import ProbeResult, TorchDevice
from doctor.model.fleet import Collective, DeviceProbe, Pair, RankRecord, RankStage, SoakRound, StageState
from doctor.probes.imported import import_failure
from doctor.probes.results import result_of
from doctor.probes.run import Run, crash_message
from doctor.probes.said import Said

IMPORT_LIMIT_S = 120.0  # importing torch from a cold network disk, by all ranks of a node at once
WRITE_EVERY_S = 2.0
LONGEST_STEP_S = 24 * 3600.0
LINGER_S = 2.0  # that the store outlives the last meeting
MERGE_WAIT_S = 20.0  # for the records of others who have met at the end
PIECES = (
    "rule", "schedule", "board", "errors", "waiting", "support", "payloads", "meeting", "pairs", "collectives", "soak",
    "worker",
)  # fmt: skip
ENDINGS: dict[str, StageState] = {
    "ok": "ok", "failed": "failed", "crashed": "died", "timed-out": "hung", "skipped": "failed",
}  # fmt: skip
STATES = {"R": "computing", "S": "waiting", "D": "waiting inside the kernel", "T": "stopped"}


def now() -> str:
    """UTC, as records have it."""
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def script(plan: Mapping[str, object]) -> str:
    """What a child of stage C reads on its stdin: the pieces, the plan, and the text of inside/probe.py."""
    inside = Path(__file__).parent.parent.parent / "inside"
    pieces = [
        (f"fleet/{name}", (inside / "fleet" / f"{name}.py").read_text(encoding="utf-8")) for name in PIECES
    ]
    return f"PIECES = {pieces!r}\nPLAN = {dict(plan)!r}\n" + (inside / "probe.py").read_text(encoding="utf-8")


class Agent:
    """The rank of this process."""

    def __init__(self, place: Place, options: Options, system: System, python: str) -> None:
        self.place, self.options, self.python = place, options, python
        self.system = system
        self.problem = ""  # why the record cannot be written
        self._written = 0.0
        self._store: process.Child | None = None
        self._heard: Hearing | None = None
        host = platform.node() or f"rank{place.rank}"
        self.record = RankRecord(
            tool=f"torchdoctor {__version__}", run=place.run, rank=place.rank,
            world=place.world, local_rank=min(place.local_rank, place.rank), local_world=place.local_world, host=host,
            launcher=place.launcher, backend=options.backend or "", started_at=now(),
            soak_minutes=options.soak_minutes,
        )  # fmt: skip

    def run(self) -> RankRecord:
        """All stages; the record as it was left. SIGTERM ends it, and that is in the record, too."""
        self.write()
        stage = "A"
        began = time.monotonic()
        try:
            self.keep_store()
            config = machine.facts(self.system, self.place.address, self.place.port)
            config["python"] = platform.python_version()
            there = machine.gpus_there(self.system)
            if there is not None:
                config["gpus_there"] = str(there)
            self.note(config=config, address=config.get("address"), devices_there=there)
            takes_part = True
            if "A" in self.options.stages:
                takes_part = self.stage_a()
            elif (kind := {"nccl": "cuda", "xccl": "xpu"}.get(self.options.backend or "")) is not None:
                self.note(device=f"{kind}:{self.place.local_rank}")
            stage, began = "B", time.monotonic()
            if "B" not in self.options.stages:
                self.ended("B", "not-run", began, "not wanted (--stages)")
            stage, began = "C", time.monotonic()
            if "C" in self.options.stages and self.place.world > 1:
                self.stage_c(takes_part)
            elif self.place.world > 1:
                self.ended("B", "ok", began)
                self.ended("C", "not-run", began, "not wanted (--stages)")
            else:
                self.ended("B", "ok", began)
        except SystemExit:
            self.ended(stage, "ended", began, "the launcher ended this rank")
            self.note(finished=True)
            raise
        finally:
            self.write()
            if self._store is not None:
                time.sleep(LINGER_S)
                self._store.kill()
        self.note(finished=True)
        return self.record

    # ---- the record

    def note(self, **changes: Any) -> None:
        """Add to the record, and leave it in the folder."""
        self.record = replace(self.record, **changes)
        self.write()

    def write(self) -> None:
        """Replaces the record's file by what is known now; why that failed is said once."""
        self._written = time.monotonic()
        self.record = replace(self.record, written_at=now())
        why = folder.write(self.options.output, self.record)
        if why and not self.problem:
            self.tell(why)
        self.problem = why or ""

    def write_soon(self) -> None:
        """At once, unless it was written a moment ago: a soak has thousands of lines."""
        if time.monotonic() - self._written > WRITE_EVERY_S:
            self.write()

    def tell(self, text: str) -> None:
        """One line on stderr, with who says it."""
        sys.stderr.write(f"torchdoctor fleet: rank {self.place.rank} on {self.record.host}: {text}\n")
        sys.stderr.flush()

    def ended(
        self, name: str, state: StageState, began: float, why: str = "", step: str | None = None, frame: str = ""
    ) -> None:
        """A stage ended; the first word on each counts."""
        if any(s.name == name for s in self.record.stages):
            return
        one = RankStage(
            name=name, state=state, step=step, why=why[:300], frame=frame[:120],  # type: ignore[arg-type]
            seconds=round(time.monotonic() - began, 2),
        )  # fmt: skip
        self.note(stages=(*self.record.stages, one))
        if state not in ("ok", "not-run"):
            self.tell(f"stage {name}{f', {step}' if step else ''}: {state}{f': {why}' if why else ''}")

    # ---- A

    def stage_a(self) -> bool:
        """The device alone; whether this rank can take part in what follows."""
        began = time.monotonic()
        until = began + IMPORT_LIMIT_S + self.options.device_s
        system = replace(self.system, until=until)
        seems_gpu = self.options.backend != "gloo" and _seems_gpu(system)
        first = self.child(system, "cpu", "facts" if seems_gpu else "fleet")
        torch, devices = _dynamic(first)
        self.note(config={**self.record.config, **torch})
        if first.went_down or first.refused or first.stage("import") is None or not _ok(first, "import"):
            return self._device_failed(first, began)
        backend = self.options.backend or _backend_of(devices)
        self.note(backend=backend)
        if backend == "gloo":
            run = first if first.mode == "fleet" else self.child(system, "cpu", "fleet")
            self.note(device="cpu", name=machine.cpu_name(self.system) or platform.machine())
        else:
            kind = "xpu" if backend == "xccl" else "cuda"
            mine = [d for d in devices if d.backend == kind]
            index = _index(self.place.local_rank, len(mine))
            self.note(devices_seen=len(mine), device=f"{kind}:{self.place.local_rank if index is None else index}")
            if index is None:
                why = f"torch sees {len(mine)} devices, and this rank needs number {self.place.local_rank}"
                self.note(probe=DeviceProbe(status="failed", stage="open", reason=why))
                self.ended("A", "failed", began, why, "open")
                return False
            self.note(name=mine[index].name, memory_bytes=mine[index].memory_bytes)
            run = self.child(system, f"{kind}:{index}", "fleet")
        result = result_of(run)
        self.note(probe=_probe(result))
        self.note(config={**self.record.config, **_driver_words(self.record)})
        why = "" if result.status == "ok" else result.reason
        self.ended("A", ENDINGS[result.status], began, why, result.stage if why else None)
        return result.status == "ok" or bool(self.record.probe and self.record.probe.wrong)

    def child(self, system: System, device: str, mode: str) -> Run:
        """A child of the probe, ended; a hung one is killed from here."""
        changed = threading.Condition()
        run = Run(system, self.python, device, mode, self.options.device_s, changed, IMPORT_LIMIT_S)
        with changed:
            while run.result is None:
                changed.wait(0.5)
        return run

    def _device_failed(self, run: Run, began: float) -> bool:
        """The child of torch's own facts did not come so far."""
        failure = import_failure(run)
        why = failure.message if failure else run.ending() if run.went_down else "torch does not import"
        state: StageState = "failed"
        if run.went_down and run.result is not None:
            state = "hung" if run.result.status == "timed-out" else "died"
        status = {"died": "crashed", "hung": "timed-out"}.get(state, "failed")
        self.note(probe=DeviceProbe(status=status, stage=run.open or "import", reason=why[:300]))  # type: ignore[arg-type]
        self.ended("A", state, began, why, run.open or "import")
        return False

    # ---- C

    def keep_store(self) -> None:
        """Rank 0 keeps the store where the launcher has none: in a child of its own, so that it outlives a worker."""
        if self.place.rank or self.place.agent_store or self.place.world < 2 or "C" not in self.options.stages:
            return
        plan = {"role": "store", "address": self.place.address, "port": self.place.port, "store_s": LONGEST_STEP_S}

        def hear(text: str) -> float | None:
            try:
                line = line_of(text)
            except Refused:
                return None
            if line.event == "failed":
                self.tell(f"the store: {line.why}")
            return line.limit

        self._store = self.system.start(
            [self.python, "-B", "-X", "faulthandler", "-", "cpu", "links"], limit_s=IMPORT_LIMIT_S, script=script(plan),
            on_said=hear,
        )  # fmt: skip
        process.in_background(self._store.result)

    def stage_c(self, takes_part: bool) -> None:
        """Links and collectives, in one child."""
        began = time.monotonic()
        hearing = self._heard = Hearing(self, began)
        own = self.options
        failed = next((s for s in self.record.stages if s.name == "A"), None)
        plan = {
            "role": "rank", "rank": self.place.rank, "world": self.place.world, "host": self.record.host,
            "run": self.record.run, "backend": self.record.backend or own.backend or "gloo",
            "device": self.record.device, "address": self.place.address, "port": self.place.port,
            "join_s": own.join_s, "limit_s": own.limit_s, "between": own.between, "pair_bytes": own.pair_bytes,
            "collective_bytes": own.collective_bytes, "soak_minutes": own.soak_minutes, "takes_part": takes_part,
            "why": "" if takes_part else f"its device did not pass stage A ({failed.why if failed else ''})"[:200],
            "problem": self.problem,
        }  # fmt: skip
        child = self.system.start(
            [self.python, "-B", "-X", "faulthandler", "-", str(plan["device"]), "links"],
            limit_s=IMPORT_LIMIT_S + own.limit_s, script=script(plan), on_said=hearing.hear, dump_stacks=True,
        )  # fmt: skip
        result = child.result()
        state, why = hearing.ending(result)
        frame = innermost(result.stderr) if state == "hung" else ""
        step = hearing.step if state != "ok" else None
        if hearing.configured:
            self.ended("C", state, began, why, step, frame)
        else:
            self.ended("B", state, began, why, step, frame)
            self.ended("C", "not-run", began, "stage B did not end well")


class Hearing:
    """The lines of a rank's worker, into its record."""

    def __init__(self, agent: Agent, began: float) -> None:
        self.agent = agent
        self.step = "starting Python"
        self.configured = False
        self._began = began
        self._failed: str | None = None
        self._done = False

    def hear(self, text: str) -> float | str | None:
        """One line: the limit of the step that it begins, or DONE. What is no line of ours ends the child."""
        try:
            return self._take(line_of(text))
        except Refused as error:
            self._failed = f"what it said is refused: {error}"
            return process.DONE

    def _take(self, line: Line) -> float | str | None:
        record = self.agent.record
        if line.event == "begin":
            self.step = line.stage[:60]
            return min(line.limit or IMPORT_LIMIT_S, LONGEST_STEP_S)
        if line.event == "end" and line.ok is False:
            self._failed = str(line.data.get("message", "it did not import"))[:300]
        elif line.event == "config":
            self.configured = True
            words = {str(k)[:40]: str(v)[:100] for k, v in line.data.items() if isinstance(v, str)}
            self.agent.note(config={**record.config, **words})
            self.agent.ended("B", "ok", self._began)
        elif line.event == "joined":
            self.agent.note(nonce=line.nonce or None, members=line.members if line.member else None)
        elif line.event == "heard":
            self.agent.note(heard=(*record.heard, *line.heard))
        elif line.event == "pair":
            self._add("pairs", decode(Pair, dict(line.data)))
        elif line.event == "collective":
            self._add("collectives", decode(Collective, dict(line.data)))
        elif line.event == "soak":
            self._add("soak", decode(SoakRound, dict(line.data)))
        elif line.event == "failed":
            self.step, self._failed = line.stage[:60], line.why or "it failed"
        elif line.event == "done":
            self._done = True
            return process.DONE
        return None

    def _add(self, name: str, one: object) -> None:
        record = self.agent.record
        changes: dict[str, Any] = {name: (*getattr(record, name), one)}
        self.agent.record = replace(record, **changes)
        self.agent.write_soon()

    def ending(self, result: process.Result) -> tuple[StageState, str]:
        """How the worker ended, and why."""
        if self._failed is not None:
            return "failed", self._failed
        if self._done:
            return "ok", ""
        if result.status == "timed-out":
            doing = STATES.get(result.state, "")
            return "hung", f"no sign of life for {result.limit_s:g} s{f', {doing}' if doing else ''}; it was ended"
        if said := watchdog.ending(result.stderr):
            return said
        if result.status == "crashed":
            return "died", crash_message(result)
        return "died", result.said


_FRAME = re.compile(r'^  File "([^"\n]{1,400})", line \d{1,7} in ([\w<>.]{1,80})', re.M)


def innermost(stderr: str) -> str:
    """Where the main thread was when it was asked for its stacks (faulthandler names it last, its innermost frame
    first): "torch/cuda/__init__.py: synchronize". "" where it did not answer."""
    thread = re.split(r"^(?:Current thread|Thread) 0x\w+[^\n]{0,80}\n", stderr, flags=re.M)[-1]
    frame = _FRAME.search(thread)
    if frame is None or thread == stderr:
        return ""
    parts = frame[1].replace("\\", "/").split("/")
    inside = parts[parts.index("torch") :] if "torch" in parts else parts[-1:]
    return f"{'/'.join(inside)}: {frame[2]}"


# ---- stage A's words


def _ok(run: Run, stage: str) -> bool:
    found = run.stage(stage)
    return bool(found and found.ok)


def _seems_gpu(system: System) -> bool:
    return any(system.exists(path) for path in ("/dev/nvidiactl", "/dev/kfd", "/dev/dri/renderD128", "/dev/dxg"))


def _backend_of(devices: tuple[TorchDevice, ...]) -> str:
    kinds = {d.backend for d in devices}
    return "nccl" if "cuda" in kinds else "xccl" if "xpu" in kinds else "gloo"


def _index(local_rank: int, count: int) -> int | None:
    """Which device is this rank's: the one of its number, or the only one that the launcher shows it."""
    if local_rank < count:
        return local_rank
    return 0 if count == 1 else None


def _dynamic(run: Run) -> tuple[dict[str, str], tuple[TorchDevice, ...]]:
    """(torch's versions as words, its devices)"""
    data: dict[str, Any] = {}
    for name in ("import", "facts", "driver"):
        stage = run.stage(name)
        if stage and stage.ok:
            data.update(stage.data)
    said, _ = decode_fields(Said, data)
    words = {"torch": said.get("version"), "cuda": said.get("cuda"), "hip": said.get("hip")}
    return {k: str(v)[:60] for k, v in words.items() if v}, said.get("devices") or ()


def _probe(result: ProbeResult) -> DeviceProbe:
    """What the record keeps of a probe: numbers and words."""
    data = result.data
    numbers = {
        key: float(value) for key, value in data.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value
    }  # fmt: skip
    words = {key: str(value)[:100] for key, value in data.items() if key in ("mig_mode", "persistence_mode", "firmware",
             "uuid", "driver", "float32_matmul_precision", "pinned_error")}  # fmt: skip
    texts = data.get("wrong")
    throttles = data.get("throttles")
    return DeviceProbe(
        status=result.status, stage=result.stage, reason=result.reason[:300],
        wrong=tuple(str(t)[:300] for t in texts[:8]) if isinstance(texts, (list, tuple)) else (),
        numbers=numbers, words=words,
        throttles=tuple(map(str, throttles)) if isinstance(throttles, (list, tuple)) else (),
        busy=bool(data.get("busy") or data.get("foreign_load")),
    )  # fmt: skip


def _driver_words(record: RankRecord) -> dict[str, str]:
    """What the driver said in stage A, as configuration."""
    probe = record.probe
    if probe is None or record.device == "cpu":
        return {}
    numbers, words = probe.numbers, probe.words
    found = {
        "driver": words.get("driver", ""), "firmware": words.get("firmware", ""), "mig": words.get("mig_mode", ""),
        "persistence": words.get("persistence_mode", ""),
    }  # fmt: skip
    for key, name in (
        ("nvlinks_count", "nvlink_links_most"), ("nvlink_version", "nvlink_version"), ("gpus_there", "gpus_there"),
        ("power_limit_w", "power_limit_w"), ("clock_limit_mhz", "clock_limit_mhz"),
    ):  # fmt: skip
        if key in numbers:
            found[name] = f"{numbers[key]:g}"
    if "nvlinks_count" in numbers:
        found["nvlink_links"] = f"{numbers['nvlinks_count'] - numbers.get('nvlinks_down_count', 0):g}"
    found["fabric"] = "nvlink" if numbers.get("nvlinks_count") else "pcie"
    return {name: value for name, value in found.items() if value}


# ---- as a program


def run(place: Place, options: Options) -> int:
    """Run this rank; the exit code. 0 but for rank 0, which makes the report and gives its verdict's code: a launcher
    ends all ranks when one fails."""

    def terminated(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), terminated)
    agent = Agent(place, options, System.of_this_process(), sys.executable)
    agent.run()
    if not options.merge or place.rank:
        return 0
    return report(agent, options)


def report(agent: Agent, options: Options) -> int:
    """Rank 0: wait for the records of the others, then make the report in the same folder."""
    from doctor.fleet import merge, outputs
    from doctor.model.fleet import EXIT_CODES

    until = time.monotonic() + MERGE_WAIT_S
    while time.monotonic() < until:
        try:
            found = folder.read(options.output)
        except OSError:
            break
        if sum(r.finished and r.nonce == agent.record.nonce for r in found.records) >= agent.place.world:
            break
        time.sleep(0.5)
    try:
        made = merge.merge(options.output, expect=agent.place.world)
        for line in outputs.write_all(made, options.output):
            agent.tell(line)
    except (merge.NothingThere, OSError) as error:
        agent.tell(str(error))
        return EXIT_CODES["not-measured"]
    sys.stdout.write(outputs.summary(made))
    sys.stdout.flush()
    return EXIT_CODES[made.verdict]


def main(argv: list[str]) -> int:
    """`python -m doctor.fleet` under a launcher."""
    from doctor.fleet.rank import options as of
    from doctor.fleet.rank.place import NoPlace, place_of, placed

    options = of.parse(argv)
    try:
        place = placed(place_of(os.environ), options.nodes, options.node_rank, options.master)
    except NoPlace as error:
        sys.stderr.write(f"torchdoctor fleet: {error}\n")
        return 3
    return run(place, options)

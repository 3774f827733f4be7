"""The children that benchmark: a plan goes in on stdin, cells come back line by line (inside/bench/run.py).

A child that dies takes one cell with it; what it had said stays, and the rest of its plan goes to a new child.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doctor import process
from doctor.bench.plan import ChildPlan, spoken
from doctor.bench.said import CellSaid, Line
from doctor.bench.suites import pieces_of
from doctor.decode import Refused, decode, loads
from doctor.model.bench import BenchOptions
from doctor.probes.run import crash_message

if TYPE_CHECKING:
    from doctor.facts.system import System

IMPORT_LIMIT_S = 120.0  # torch, from a cold disk; the device
STAGE_LIMIT_S = 120.0  # of a stage of one cell beyond the time of the plan: compiling, or a slow reference
RESTARTS = 3  # of a child that died
LINE_SIZE, LINE_ITEMS = 1 << 20, 20_000
PIECES = ("clock", "cell", "gate", "meter", "need", "operations", "loader", "run")
WORDS = {
    "import": "importing torch",
    "open": "opening the device",
    "make": "making",
    "prepare": "preparing",
    "first": "first call of",
    "gate": "checking",
    "warm": "warming up",
    "measure": "measuring",
    "again": "checking again",
    "loader": "with a loader:",
    "unsynchronised": "without waiting:",
}
Progress = Callable[[str, float], None]


@dataclass
class Answers:
    """What all children have said so far. It may be read at any time: Ctrl-C keeps what is done."""

    cells: dict[str, CellSaid] = field(default_factory=dict)
    environ: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def script(child: ChildPlan, options: BenchOptions) -> str:
    """What a child reads on its stdin: the pieces, the plan, and the text of inside/probe.py."""
    inside = Path(__file__).parent.parent / "inside"
    names = [*dict.fromkeys(piece for group in child.groups for piece in pieces_of(group.workload))]
    files = [
        *((name, inside / "stages" / f"{name}.py") for name in ("monitor", "training")),
        *((f"bench/{name}", inside / "bench" / f"{name}.py") for name in PIECES),
        *((f"bench/workloads/{name}", inside / "bench" / "workloads" / f"{name}.py") for name in names),
    ]
    pieces = [(name, path.read_text(encoding="utf-8")) for name, path in files]
    plan = spoken(child, options)
    return f"PIECES = {pieces!r}\nPLAN = {plan!r}\n" + (inside / "probe.py").read_text(encoding="utf-8")


def run(
    system: System, python: str, plans: tuple[ChildPlan, ...], options: BenchOptions, answers: Answers,
    progress: Progress,
) -> None:
    """Run all children, one after the other, into `answers`."""
    whole = sum(p.seconds for p in plans) or 1.0
    before = 0.0
    for child in plans:
        _run_child(system, python, child, options, answers, lambda what, share, b=before, c=child: progress(  # type: ignore[misc]
            what, (b + share * c.seconds) / whole))
        before += child.seconds


def _run_child(
    system: System, python: str, child: ChildPlan, options: BenchOptions, answers: Answers, progress: Progress
) -> None:
    until = time.monotonic() + child.seconds
    left = child
    for _ in range(RESTARTS + 1):
        heard = _Heard(left, answers, progress)
        started = system.start(
            [python, "-B", "-X", "faulthandler", "-", left.device, "bench", str(options.seed)],
            limit_s=IMPORT_LIMIT_S,
            script=script(left, options),
            on_said=heard.hear,
            env=_environ(system),
        )
        try:
            result = started.result()
        except BaseException:  # Ctrl-C: what it said stays
            started.kill()
            raise
        died = heard.ended_badly(result)
        if died is None:
            return
        cell, why = died
        if cell is None:
            answers.notes.append(f"{left.device}: {why}")
            for planned in left.cells:
                answers.cells.setdefault(planned.key, CellSaid(status="failed", why=why))
            return
        with answers.lock:
            answers.cells[cell] = CellSaid(status="failed", why=why)
        done = frozenset(answers.cells)
        remaining = max(0.0, until - time.monotonic())
        left = left.without(done)
        if not left.groups or remaining < 5:
            return
        left = ChildPlan(device=left.device, groups=left.groups, seconds=remaining)


def _environ(system: System) -> dict[str, str]:
    """Falling back to the CPU on MPS is off: an operation that is missing there is to be named, not hidden."""
    environ: Mapping[str, str] = system.child_environ()
    return {name: value for name, value in environ.items() if name != "PYTORCH_ENABLE_MPS_FALLBACK"}


class _Heard:
    """The lines of one child."""

    def __init__(self, child: ChildPlan, answers: Answers, progress: Progress) -> None:
        self._child = child
        self._keys = {cell.key for cell in child.cells}
        self._answers = answers
        self._progress = progress
        self._open: tuple[str, str | None] = ("start", None)
        self._share = 0.0
        self._done = False
        self._refused = ""
        self._error = ""

    def hear(self, text: str) -> float | str | None:
        """A line; the limit of the stage that it opens, or DONE. What is no line of ours ends the child."""
        try:
            return self._take(decode(Line, loads(text, size=LINE_SIZE, items=LINE_ITEMS)))
        except Refused as error:
            self._refused = str(error)
            return process.DONE

    def _take(self, line: Line) -> float | str | None:
        if line.event == "done":
            self._done = True
            return process.DONE
        if line.event == "share":
            self._share = min(1.0, max(self._share, line.share or 0.0))
        elif line.event == "facts":
            environ = line.data.get("environ")
            if isinstance(environ, Mapping):
                with self._answers.lock:
                    self._answers.environ.update({str(k)[:60]: str(v)[:200] for k, v in environ.items()})
        elif line.event == "begin":
            self._open = (line.stage or "", line.cell)
            name = WORDS.get(line.stage or "", "")
            if name:
                self._progress(f"{name} {line.cell or ''}".strip(), self._share)
            return self._child.seconds + STAGE_LIMIT_S
        elif line.event == "end":
            if line.ok is False:
                self._error = str(line.data.get("message", ""))[:300]
            self._open = ("", self._open[1])
        else:
            self._cell(line)
        return None

    def _cell(self, line: Line) -> None:
        if line.cell is None or line.cell not in self._keys:
            raise Refused("a cell that is not of the plan")
        data: dict[str, Any] = dict(line.data)
        said = decode(CellSaid, data)
        with self._answers.lock:
            self._answers.cells[line.cell] = said
        self._open = ("", None)

    def ended_badly(self, result: process.Result) -> tuple[str | None, str] | None:
        """(the cell that was at work, why it ended); None where all was said."""
        stage, cell = self._open
        if self._refused:
            return None if self._done else (None, f"what it said is refused: {self._refused}")
        if self._done:
            return (None, self._error) if self._error and not self._answers.cells else None
        what = f"{WORDS.get(stage, 'running')} {cell or ''}".strip()
        if result.status == "crashed":
            why = f"{what}: {crash_message(result)}"
        elif result.status == "timed-out":
            why = f"{what} took longer than {result.limit_s:g} s"
        else:
            why = f"{what}: {result.said}"
        return (cell if cell in self._keys else None), why

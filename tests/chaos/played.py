"""Recorded answers in the place of processes: a run takes milliseconds, and a hang no time at all.

doctor/process.py is the only place that starts a process, and `start` its only door: what stands there is heard by all
collectors. A recorded machine's programs are run once, for real; after that their answers are played.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from doctor import process
from doctor.facts.system import ROOT_VARIABLE
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.pipeline import examine
from doctor.probes.said import REQUIRED
from doctor.process import Result

MACHINES = Path(__file__).resolve().parents[1] / "machines"
Command = tuple[str, ...]  # the name of the program, then its arguments


@dataclass(frozen=True)
class Answer:
    """How a child ended, and what it said on its channel until then."""

    result: Result
    said: tuple[str, ...] = ()


def command_of(argv: tuple[str, ...]) -> Command:
    return (os.path.basename(argv[0]), *argv[1:])


def is_probe(command: Command) -> bool:
    """Whether it is a child that imports torch."""
    return command[1:5] == ("-B", "-X", "faulthandler", "-")


def is_collector(command: Command) -> bool:
    """Whether it is the target's Python, asked for what is installed."""
    return command[1:] == ("-B", "-")


class Played:
    """Stands for process.Child."""

    pid = None
    running = False

    def __init__(self, answer: Answer, on_said: Callable[[str], object] | None) -> None:
        self.started = time.monotonic()
        self._answer = answer
        self._on_said = on_said

    def result(self) -> Result:
        """The recorded end; at the first time its words are heard before."""
        hear, self._on_said = self._on_said, None
        for line in self._answer.said if hear else ():
            if hear and hear(line) == process.DONE:
                return replace(self._answer.result, status="ok", exit_code=None, signal=None)
        return self._answer.result

    def hurry(self, seconds: float, *, at_least: float = 0.0) -> None:
        """It has ended already."""

    def kill(self) -> None:
        """There is nothing to kill."""


@dataclass
class Machine:
    """A recorded machine, and the answers of its commands."""

    name: str
    answers: dict[Command, Answer]
    healthy: Report  # what is said when nothing is spoiled

    @classmethod
    def recorded(cls, name: str) -> Machine:
        """Run its programs once."""
        answers: dict[Command, Answer] = {}
        report = _examine(name, lambda argv, **options: _recorder(answers, argv, options))
        machine = cls(name, {c: _with_probe(a, c) for c, a in answers.items()}, report)
        machine.healthy = machine.examined({})
        return machine

    def examined(self, spoiled: Mapping[Command, Callable[[Answer], Answer]]) -> Report:
        """What is said of it with some answers spoiled. A command that was never recorded is not there."""

        def start(argv: tuple[str, ...], **options: Any) -> Played:
            command = command_of(tuple(argv))
            limit = options["limit_s"]
            assert 0 < limit < 600, f"{command} has no limit"
            answer = self.answers.get(command) or self._of_device(command) or _not_there(command)
            answer = replace(answer, result=replace(answer.result, limit_s=limit))
            if spoil := spoiled.get(command):
                answer = spoil(answer)
            return Played(answer, options.get("on_said"))

        return _examine(self.name, start)

    def _of_device(self, command: Command) -> Answer | None:
        """A healthy probe of a GPU, where the recording has none: it says of torch what the first child said."""
        if not is_probe(command):
            return None
        first = next((a for c, a in self.answers.items() if is_probe(c) and c[5] == "cpu"), None)
        return first and _with_probe(replace(first, said=tuple(s for s in first.said if not _probes(s))), command)

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(self.answers)


def _examine(name: str, start: Callable[..., object]) -> Report:
    with _in_place_of_processes(start), _at(str(MACHINES / name)):
        return examine(Request())


@contextlib.contextmanager
def _in_place_of_processes(start: Callable[..., object]) -> Iterator[None]:
    real = process.start
    process.start = start  # type: ignore[assignment]
    try:
        yield
    finally:
        process.start = real


@contextlib.contextmanager
def _at(root: str) -> Iterator[None]:
    before = os.environ.get(ROOT_VARIABLE)
    os.environ[ROOT_VARIABLE] = root
    try:
        yield
    finally:
        if before is None:
            del os.environ[ROOT_VARIABLE]
        else:
            os.environ[ROOT_VARIABLE] = before


_start = process.start


def _recorder(answers: dict[Command, Answer], argv: tuple[str, ...], options: dict[str, Any]) -> Played:
    """Run it for real, to its end, and remember; then play."""
    said: list[str] = []
    hear = options.pop("on_said", None)

    def listen(line: str) -> str | None:
        said.append(line)
        return process.DONE if json.loads(line).get("event") == "done" else None

    result = _start(argv, **options, **({"on_said": listen} if hear else {})).result()
    answer = Answer(result, tuple(said))
    if result.status != "not-found" and not (is_probe(command_of(tuple(argv))) and not said):
        answers[command_of(tuple(argv))] = answer
    return Played(answer, hear)


def _not_there(command: Command) -> Answer:
    return Answer(Result(command, "not-found", stderr="No such file or directory"))


def _probes(line: str) -> bool:
    return json.loads(line).get("stage") in REQUIRED["quick"]


def _with_probe(answer: Answer, command: Command) -> Answer:
    """The recordings end with what torch says of itself; a healthy probe of the device follows."""
    if not is_probe(command) or not answer.said or any(map(_probes, answer.said)):
        return answer
    stages = [line for name in REQUIRED["quick"] for line in (
        json.dumps({"event": "begin", "stage": name}),
        json.dumps({"event": "end", "stage": name, "ok": True, "ms": 1.0, "data": {}}),
    )]  # fmt: skip
    return replace(answer, said=(*answer.said[:-1], *stages, answer.said[-1]))

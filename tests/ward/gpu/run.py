"""Running a row: its namespace, the programs beside it, the doctor, and whether what it says is what was expected."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.ward.gpu.programs import PROGRAMS
from tests.ward.gpu.row import Row

ROOT = Path(__file__).resolve().parents[3]
READY_S = 90.0


@dataclass
class Result:
    """What came of a row. `faults`: ids of the faults, the first first; `others`: of warnings and notes; `problems`:
    what is not as it was expected; `reports`: the reports of a row that has problems."""

    row: str
    verdict: str = ""
    code: int | None = None
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    reports: list[Any] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return not self.problems


def run(row: Row, python: str) -> Result:
    """Run a row. Whatever goes wrong with the row itself is a problem of the row."""
    result = Result(row.name)
    try:
        with beside(row, python):
            answers = _doctors(row, python)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        result.problems.append(f"the row can't be run: {error}")
        return result
    for answer in answers:
        _add(result, row, answer)
    return result


def argv_of(row: Row, python: str) -> list[str]:
    """What starts the doctor of this row: this Python, which examines the other one."""
    command = ["probe", "--full"] if row.full else ["check"]
    doctor = [sys.executable, "-B", "-m", "doctor", *command, "--json", "--no-redact", "--python", python]
    argv = [*row.wrap, *doctor, *row.arguments]
    if row.mounts:
        script = " && ".join(row.mounts) + f" && exec {shlex.join(argv)}"
        argv = ["unshare", "-m", "sh", "-c", script]
    return argv


def environ_of(row: Row) -> dict[str, str]:
    """The user's variables with those of the row; a PYTHONPATH of the row comes before the doctor's folder."""
    own = dict(row.environ)
    folders = [own.pop("PYTHONPATH", ""), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": ":".join(folder for folder in folders if folder), **own}


# ---- the doctors


@dataclass
class Answer:
    """`code` is None where there was no answer in time."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float


def _doctors(row: Row, python: str) -> list[Answer]:
    """All doctors of a row, at once."""
    answers: list[Answer | None] = [None] * row.copies
    threads = [
        threading.Thread(target=lambda i=i: answers.__setitem__(i, _doctor(row, python)))  # type: ignore[misc]
        for i in range(row.copies)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if None in answers:
        raise RuntimeError("the doctor could not be started")
    return [answer for answer in answers if answer]


def _doctor(row: Row, python: str) -> Answer:
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = subprocess.Popen(
            argv_of(row, python), stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environ_of(row),
            cwd="/", start_new_session=True,
        )  # fmt: skip
        try:
            code: int | None = child.wait(row.limit_s)
        except subprocess.TimeoutExpired:
            code = None
        _end(child)
        texts = [file.seek(0) or file.read() for file in (out, err)]
    return Answer(code, str(texts[0]), str(texts[1]), time.monotonic() - started)


def _add(result: Result, row: Row, answer: Answer) -> None:
    """One doctor's answer. The slowest of several, and the first that is wrong, is what is kept."""
    result.seconds = round(max(result.seconds, answer.seconds), 1)
    problems, report = problems_of(row, answer)
    if result.problems or (result.code is not None and not problems):
        return
    result.code, result.problems = answer.code, problems
    if report is not None:
        result.verdict = report["verdict"]
        result.faults = [f["id"] for f in report["findings"] if f["severity"] == "fault"]
        result.others = [f"{f['severity']} {f['id']}" for f in report["findings"] if f["severity"] != "fault"]
        result.reports = [report] if problems else []


def problems_of(row: Row, answer: Answer) -> tuple[list[str], dict[str, Any] | None]:
    """What is not as the row says, and the report, where there is one."""
    if answer.code is None:
        return [f"no answer in {row.limit_s:g} s"], None
    try:
        report = json.loads(answer.stdout)
        found = [(f["severity"], f["id"]) for f in report["findings"]]
        verdict = report["verdict"]
    except (ValueError, KeyError, TypeError):
        return [f"no report, exit {answer.code}: {' '.join(answer.stderr.split())[-300:]}"], None
    problems = []
    faults = [id for severity, id in found if severity == "fault"]
    if row.ids and not (faults and faults[0] in row.ids):
        problems.append(f"the first fault is {faults[0] if faults else 'none'}, not {row.expected}")
    if not row.ids and faults:
        problems.append(f"a fault: {faults[0]}")
    if verdict != row.verdict:
        problems.append(f"the verdict is {verdict}, not {row.verdict}")
    if answer.code != row.code:
        problems.append(f"exit {answer.code}, not {row.code}")
    problems += [f"{id} is not said" for id in row.noted if id not in [id for _, id in found]]
    return problems, report


# ---- the programs beside them


@contextmanager
def beside(row: Row, python: str) -> Iterator[None]:
    """The row's other programs, ready and at work; ended afterwards."""
    children: list[subprocess.Popen[str]] = []
    try:
        for words in row.beside:
            name, *arguments = words.split()
            children.append(
                subprocess.Popen(
                    [python, "-c", PROGRAMS[name], *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                    stdin=subprocess.DEVNULL, text=True, start_new_session=True,
                )
            )  # fmt: skip
        for child in children:
            _await_ready(child)
        yield
    finally:
        for child in children:
            _end(child)


def _await_ready(child: subprocess.Popen[str]) -> None:
    """Wait for the word «ready». A program that never says it is ended, which ends its output."""
    timer = threading.Timer(READY_S, _end, (child,))
    timer.start()
    assert child.stdout is not None
    said = ""
    try:
        for line in child.stdout:
            if line.strip() == "ready":
                return
            said += line
    finally:
        timer.cancel()
    raise RuntimeError(f"the program beside it did not begin: {' '.join(said.split())[-200:]}")


def _end(child: subprocess.Popen[Any]) -> None:
    """End a program of ours, with what it started in its session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()

"""Kill -9 in the middle of an apply, then undo: one trial. scripts/prove_rollback.py makes many, the suite a few."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.index.patient import Patient

LIMIT_S = 120.0


@dataclass(frozen=True)
class Trial:
    """How one ended. `phase`: the last line of the journal at the kill; `ok`: all is as it was."""

    victim: str
    moment_ms: float
    phase: str
    undo: str
    ok: bool
    detail: str = ""


def full_apply_s(patient: Patient) -> float:
    """Seconds that an undisturbed apply takes; it is undone again."""
    started = time.monotonic()
    done = patient.fix()
    assert done.returncode == 0, done.stderr
    took = time.monotonic() - started
    assert patient.doctor("fix", "--undo").returncode == 0
    return took


def trial(patient: Patient, chance: random.Random, took_s: float, before: dict[str, str]) -> Trial:
    """Kill the doctor, or the tool that it runs, at a moment of its apply; undo; compare. Two of three moments lie
    after the snapshot has begun, for that is where things are changed."""
    victim = chance.choice(("doctor", "doctor", "tool"))
    late = chance.random() < 0.67
    process = subprocess.Popen(
        patient.command("fix", "--run", "--yes", "--no-probe"), env=patient.variables(), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = time.monotonic()
    if late:
        _wait_for(process, lambda: bool(_journal(patient)))
    time.sleep(chance.random() * took_s * (0.6 if late else 1.0))
    moment = (time.monotonic() - started) * 1000
    phase = _journal(patient) or "before the snapshot"
    if process.poll() is not None:
        said = process.communicate()[1]
        assert process.returncode == 0, said
        patient.doctor("fix", "--undo")
        return trial(patient, chance, took_s, before)  # it was through before the blow: that proves nothing
    victim = _kill(process, patient, victim)
    said = process.communicate(timeout=LIMIT_S)[1]
    if chance.random() < 0.34:
        victim += ", then the undo"
        _kill_undo(patient, chance)
    # A doctor that lives on finishes: it has rolled back, or it was through before the blow.
    undo = patient.doctor("fix", "--undo")
    missing = undo.returncode != 0 and "nothing to undo" in undo.stderr
    problems = [] if undo.returncode == 0 or missing else [undo.stderr.strip()]
    problems += differences(before, patient.content())
    problems += [f"left: {path.name}" for path in (patient.env / ".torchdoctor").glob("2*")]
    if phase == "before the snapshot":  # a dry run may outlive the doctor: it changes nothing, and ends by itself
        _wait_until_none_runs(patient)
    problems += [f"still runs: {one}" for one in _running(patient)]
    word = "nothing to undo" if missing else "undone" if undo.returncode == 0 else "failed"
    return Trial(victim, round(moment), phase, word, not problems, "; ".join(problems) or said.strip()[-200:])


def _kill_undo(patient: Patient, chance: random.Random) -> None:
    """Begin to undo, and kill that, too."""
    process = subprocess.Popen(
        patient.command("fix", "--undo"), env=patient.variables(), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    time.sleep(0.15 + chance.random() * 0.6)
    process.kill()
    process.wait(LIMIT_S)


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """What is not the same, at most five of them."""
    return [f"{name} differs" for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)][
        :5
    ]


def _wait_for(process: subprocess.Popen[str], condition) -> None:  # type: ignore[no-untyped-def]
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and not condition() and time.monotonic() < deadline:
        time.sleep(0.002)


def _journal(patient: Patient) -> str | None:
    """The event that a run wrote last."""
    for path in sorted((patient.env / ".torchdoctor").glob("2*/journal.jsonl")):
        with contextlib.suppress(OSError, ValueError, IndexError):
            line = json.loads(Path(path).read_text().splitlines()[-1])
            return f"{line['event']} {line.get('number', '')}".strip()
    return None


def _kill(process: subprocess.Popen[str], patient: Patient, victim: str) -> str:
    """Send SIGKILL; who got it. Where no tool is at work, the doctor is."""
    tools = _running(patient) if victim == "tool" else []
    for one in tools:
        with contextlib.suppress(psutil.Error):
            one.send_signal(signal.SIGKILL)
    if tools:
        return "tool"
    process.kill()
    return "doctor"


def _wait_until_none_runs(patient: Patient) -> None:
    until = time.monotonic() + LIMIT_S
    while _running(patient) and time.monotonic() < until:
        time.sleep(0.2)


def _running(patient: Patient) -> list[psutil.Process]:
    """The processes that a run of ours started in this environment and that live."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            said = one.environ().get("TORCHDOCTOR_RUN", "")
            if said.startswith(str(patient.env)) and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found

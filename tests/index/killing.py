"""Kill -9 in the middle of an apply, then undo: one trial. scripts/prove_rollback.py makes many, the suite a few."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import signal
import subprocess
import sys
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
    """Kill the doctor, or the tool that it runs, at a moment of its apply; undo; compare all that can be told of the
    environment with `before`, and what uv's cache held. Two of three moments lie after the snapshot has begun, for that
    is where things are changed."""
    cached = patient.cached()
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
    problems += differences(before, patient.exact())
    now = patient.cached()
    problems += differences(cached, {name: now.get(name, "gone") for name in cached})
    fine = ("All is as it was before", "nothing had been changed")
    if undo.returncode == 0 and not any(words in undo.stderr for words in fine):
        problems += [f"said: {undo.stderr.strip()}"]
    problems += [f"left: {path.name}" for path in (patient.env / ".torchdoctor").glob("2*")]
    if phase == "before the snapshot":  # a dry run may outlive the doctor: it changes nothing, and ends by itself
        _wait_until_none_runs(patient)
    problems += [f"still runs: {one}" for one in _running(patient)]
    word = "nothing to undo" if missing else "undone" if undo.returncode == 0 else "failed"
    return Trial(victim, round(moment), phase, word, not problems, "; ".join(problems) or said.strip()[-200:])


# ---- of an install that makes its environment


def new_folder(patient: Patient) -> Path:
    return patient.root / "a new one's $env"


def install_command(patient: Patient) -> list[str]:
    """By uv where the machine has it, else by the venv of the patient's own Python."""
    uv = (patient.root / "bin" / "uv").exists()
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    named = ["--python", version if uv else str(patient.env), "--env", str(new_folder(patient))]
    return [sys.executable, "-m", "doctor", "install", *named, "--with", "torchvision", "--run", "--yes"]


def full_install_s(patient: Patient) -> float:
    """Seconds that an undisturbed install takes; the environment is removed again."""
    started = time.monotonic()
    subprocess.run(install_command(patient), env=patient.variables(), check=True, capture_output=True, timeout=LIMIT_S)
    took = time.monotonic() - started
    shutil.rmtree(new_folder(patient))
    return took


def install_trial(patient: Patient, chance: random.Random, took_s: float, before: dict[str, str]) -> Trial:
    """Kill the doctor, its tool, or both, at a moment of an install; then undo, or install again and remove that. The
    new folder and its journal must be gone, and the patient's old environment be what it was."""
    folder, wanted = new_folder(patient), chance.choice(("doctor", "doctor", "tool", "both"))
    process = subprocess.Popen(
        install_command(patient), env=patient.variables(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    started = time.monotonic()
    if late := chance.random() < 0.8:
        _wait_for(process, folder.exists)
    time.sleep(chance.random() * took_s * (0.6 if late else 1.0))
    moment, phase = (time.monotonic() - started) * 1000, _phase_of_install(patient) or "before the folder"
    if process.poll() is not None:
        process.communicate()
        shutil.rmtree(folder)
        return install_trial(patient, chance, took_s, before)
    tools = _running(patient, _state(patient)) if wanted != "doctor" else []
    for one in tools:
        with contextlib.suppress(psutil.Error):
            one.kill()
    if wanted != "tool" or not tools:
        process.kill()
    victim = wanted if tools else "doctor"
    said = process.communicate(timeout=LIMIT_S)[1]
    left = folder.exists()
    # The blow came too late: the tool had done its work, or the doctor had closed its journal.
    through = process.returncode == 0 or (left and _phase_of_install(patient) in (None, "finished"))
    undo = [sys.executable, "-m", "doctor", "fix", "--undo", "--python", str(folder)]
    if chance.random() < 0.3 and left and not through:
        victim += ", then the undo"
        second = subprocess.Popen(undo, env=patient.variables(), stderr=subprocess.DEVNULL)
        time.sleep(0.1 + chance.random() * 0.4)
        second.kill()
        second.wait(LIMIT_S)
        left = folder.exists()
    problems = []
    word = "kept, it was through" if through else "nothing left"
    if through:
        problems += [] if list(folder.glob("lib/python3*/site-packages/torchvision-*")) else ["through, but not whole"]
        shutil.rmtree(folder)
    elif left and chance.random() < 0.5:
        word = "installed again"
        again = subprocess.run(
            install_command(patient), env=patient.variables(), capture_output=True, text=True, timeout=LIMIT_S,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        problems += [] if again.returncode == 0 else [again.stderr]
        shutil.rmtree(folder)
    elif left:
        word = "undone"
        done = subprocess.run(
            undo, env=patient.variables(), capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        problems += [] if done.returncode == 0 else [done.stderr]
    problems += [f"left: {folder}"] if folder.exists() else []
    kept = list(_state(patient).glob("*/journal.jsonl")) if left else []
    problems += [f"left: {path}" for path in kept]
    problems += differences(before, patient.content())
    _wait_until_none_runs(patient, _state(patient))
    return Trial(victim, round(moment), phase, word, not problems, "; ".join(problems) or said.strip()[-200:])


def _state(patient: Patient) -> Path:
    return patient.root / "home" / ".local" / "state" / "torchdoctor" / "new"


def _phase_of_install(patient: Patient) -> str | None:
    for path in _state(patient).glob("*/journal.jsonl"):
        return _last_event(path)
    return None


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
        return _last_event(path)
    return None


def _last_event(journal: Path) -> str | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        line = json.loads(journal.read_text().splitlines()[-1])
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


def _wait_until_none_runs(patient: Patient, store: Path | None = None) -> None:
    until = time.monotonic() + LIMIT_S
    while _running(patient, store) and time.monotonic() < until:
        time.sleep(0.2)


def _running(patient: Patient, store: Path | None = None) -> list[psutil.Process]:
    """The processes that a run of ours started in this environment, or for this store, and that live."""
    found = []
    for one in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            said = one.environ().get("TORCHDOCTOR_RUN", "")
            if said.startswith(str(store or patient.env)) and one.status() != psutil.STATUS_ZOMBIE:
                found.append(one)
    return found

"""What the target says of itself: inside/collect.py runs in it, and its one JSON answer is made into facts here."""

from __future__ import annotations

import json
import os
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from doctor.facts import installed
from doctor.facts.notes import Notes
from doctor.facts.system import System, architecture
from doctor.facts.target import Found
from doctor.model.facts import ABSENT, StartFailure
from doctor.process import Result

LIMIT_S = 30.0  # a cold network disk
TOO_OLD = 79  # exit code of collect.py below 3.6
ASKED = "asked of the interpreter"
_PLAIN = (
    "version", "implementation", "executable", "prefix", "base_prefix", "free_threaded", "bits", "platform_tag",
    "translated", "macos_reported",
    "environment", "manager", "project", "externally_managed", "user_site",
)  # fmt: skip


def start(system: System, found: Found, notes: Notes) -> Callable[[Notes], None]:
    """Start collect.py in the target; the returned function waits for it and writes its facts down."""
    notes.set("interpreter.executable", found.python)
    notes.set("interpreter.kernel", found.kernel or ABSENT, found.reason)
    if found.failure or not found.python:
        failure = found.failure or StartFailure(kind="not-found", message="there is no Python to ask")
        _write_failure(notes, failure)
        return lambda notes: None
    nonce = "torchdoctor-" + os.urandom(8).hex()
    script = pkgutil.get_data("doctor.inside", "collect.py")
    child = system.start([found.python, "-B", "-", nonce], limit_s=LIMIT_S, stdin=script)

    def finish(notes: Notes) -> None:
        result = child.result()
        answer = read_answer(result.stdout, nonce)
        failure = failure_of(result, answer, found.python or "")
        if failure:
            _write_failure(notes, failure)
        else:
            assert answer is not None
            if not answer.get("project") and answer.get("manager") in ("poetry", "pdm"):
                from doctor.facts.projects import project_of

                answer["project"] = project_of(system, str(answer.get("prefix") or ""), answer["manager"])
            write(answer, notes)
            _write_installed_at(system, notes)

    return finish


def _write_installed_at(system: System, notes: Notes) -> None:
    """An installer makes the dist-info folder anew, and fills it: its time is that of the installation."""
    first = next(iter(notes.get("torch.copies") or ()), None)
    if first is None or not first.version:
        return
    folder = f"{first.path}/torch-{first.version}.dist-info"
    notes.set("torch.installed_at", system.changed_at(folder), folder)


def _write_failure(notes: Notes, failure: StartFailure) -> None:
    notes.set("interpreter.start_failure", failure, ASKED, failure.message)
    notes.set("interpreter.version", failure.version, ASKED)
    reason = "timed-out" if failure.kind == "timed-out" else "crashed"
    for fact in ("interpreter", "torch", "packages"):
        starts = "" if failure.kind == "too-old" else "the target's Python does not start: "
        notes.gap(fact, reason, f"{starts}{failure.message}")  # type: ignore[arg-type]


def read_answer(stdout: str, nonce: str) -> dict[str, Any] | None:
    """The JSON object between the two nonces, or None. Lone surrogates (undecodable paths) become «?»."""
    parts = stdout.split(nonce)
    if len(parts) < 3:
        return None
    try:
        answer = json.loads(parts[1])
    except ValueError:
        return None
    return _printable(answer) if isinstance(answer, dict) else None


def _printable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_printable(one) for one in value]
    if isinstance(value, dict):
        return {key: _printable(one) for key, one in value.items()}
    return value


def failure_of(result: Result, answer: Mapping[str, Any] | None, python: str) -> StartFailure | None:
    """Why the target could not be asked; None where it answered."""

    def failure(kind: str, message: str, **more: Any) -> StartFailure:
        return StartFailure(kind=kind, message=message, **more)  # type: ignore[arg-type]

    if answer and (result.exit_code == TOO_OLD or "torch" not in answer):
        version = str(answer.get("version"))
        return failure("too-old", f"Python {version} is too old to be examined", exit_code=TOO_OLD, version=version)
    if answer:
        return None
    line = telling_line(result.stderr) or telling_line(result.stdout)
    if result.status == "not-found":  # the file is there: what its first line names, or its loader, is not
        return failure(
            "missing-base", f"{python} can't be started: the program that its first line names does not exist"
        )
    if result.status == "permission":
        return failure("permission", f"{python} may not be executed")
    if result.status == "crashed":
        return failure("crashed", line or result.said, signal=result.signal, exit_code=result.exit_code)
    if result.status == "timed-out":
        return failure("timed-out", f"{python}: {result.said}")
    if result.exit_code == 0:
        return failure("not-python", f"{python} ran, but did not answer as a Python does", exit_code=0)
    return failure("exited", line or f"{python}: {result.said}", exit_code=result.exit_code)


def telling_line(text: str) -> str:
    """The line of a failed start that says the most: the fatal error, else the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for word in (
        "Fatal Python error",
        "Library not loaded",
        "error while loading shared libraries",
        "command not found",
        "Error",
    ):
        for line in lines:
            if word in line:
                return line[:500]
    return lines[-1][:500] if lines else ""


def write(answer: Mapping[str, Any], notes: Notes) -> None:
    """Write the facts of one answer down: interpreter, packages and the static side of torch."""
    notes.set("interpreter.start_failure", ABSENT, ASKED)
    notes.values.pop("interpreter.executable", None)
    for name in _PLAIN:
        notes.set(f"interpreter.{name}", answer.get(name), ASKED)
    notes.set("interpreter.architecture", _architecture(answer), ASKED)
    notes.set("interpreter.pip", answer.get("pip") or ABSENT, "sys.path")
    notes.set("interpreter.sys_path", tuple(answer.get("sys_path", ())), ASKED)
    notes.set("interpreter.shadowed", tuple((m, f) for m, f in answer.get("shadowed", ())), "sys.path")
    if answer.get("environment") != "uv-tool":
        notes.set("interpreter.receipt", ABSENT, ASKED)
    elif answer.get("receipt"):
        notes.set("interpreter.receipt", tuple(answer["receipt"]), "uv-receipt.toml")
    else:
        notes.gap("interpreter.receipt", "unreadable", "uv-receipt.toml has what cannot be said again in a command")
    if answer.get("project") is None:
        notes.gap("interpreter.project", "not-applicable", "no project file manages this environment")
    if answer.get("macos_reported") is None:
        notes.gap("interpreter.macos_reported", "not-applicable", "this is no Mac")
    if libc := answer.get("libc"):
        notes.set("host.libc", libc[0], "confstr")
        notes.set("host.libc_version", libc[1], "confstr")
    markers = answer.get("markers", {})
    notes.set("packages", installed.packages_of(answer.get("packages", ()), markers), "dist-info")
    installed.write_torch(answer["torch"], markers, notes)


def _architecture(answer: Mapping[str, Any]) -> str | None:
    """Of this process: a 32-bit Python on a 64-bit kernel is told the kernel's machine by uname."""
    tag = str(answer.get("platform_tag") or "")
    machine = tag.partition("win-")[2] or (
        tag if tag == "win32" else str(answer.get("markers", {}).get("platform_machine", ""))
    )
    word = architecture(machine)
    if answer.get("bits") == 32:
        return {"x86_64": "x86", "arm64": "armv7l"}.get(word or "", word)
    return word

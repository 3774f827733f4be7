"""What the target says of itself: inside/collect.py runs in it, and its one JSON answer is made into facts here."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from doctor import process
from doctor.decode import Refused, decode_fields, fits, loads
from doctor.facts import installed
from doctor.facts.installed import PackageSaid, TorchSaid
from doctor.facts.notes import Notes, gap_from
from doctor.facts.system import System, architecture
from doctor.facts.target import Found
from doctor.fixes import tools
from doctor.fixes.tools import pip
from doctor.knowledge.versions import numbers
from doctor.model.facts import ABSENT, DamagedFile, Gap, StartFailure
from doctor.model.values import dataclass
from doctor.process import Child, Result

LIMIT_S = 30.0  # a cold network disk
TOO_OLD, OLDEST = 79, (3, 6)  # exit code of collect.py below that
ASKED = "asked of the interpreter"
RECORD = "RECORD against the disk"
WHOLE_LIMIT_S = 60.0  # each .py of the family is read
_PLAIN = (
    "version", "build", "implementation", "executable", "prefix", "base_prefix", "free_threaded", "bits",
    "platform_tag", "translated", "macos_reported",
    "environment", "manager", "project", "externally_managed", "user_site",
)  # fmt: skip
# Where collect.py's name of a source is not the fact's own, below «interpreter».
_FACTS = {"packages": ("packages",), "torch": ("torch",), "libc": ("host.libc", "host.libc_version"), "markers": (),
          "required": ("torch.missing_requirements",), "damaged": ("damaged",)}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What collect.py answers; None where it does not know."""

    version: str | None = None
    build: str | None = None
    implementation: str | None = None
    executable: str | None = None
    prefix: str | None = None
    base_prefix: str | None = None
    free_threaded: bool | None = None
    bits: int | None = None
    platform_tag: str | None = None
    translated: bool | None = None
    macos_reported: str | None = None
    environment: str | None = None
    manager: str | None = None
    project: str | None = None
    receipt: tuple[str, ...] | None = None
    externally_managed: bool | None = None
    pip: str | None = None
    sys_path: tuple[str, ...] | None = None
    shadowed: tuple[tuple[str, str], ...] | None = None
    shadowed_packages: tuple[tuple[str, str], ...] | None = None
    user_site: bool | None = None
    libc: tuple[str, str | None] | None = None
    markers: Mapping[str, str] | None = None
    packages: tuple[PackageSaid, ...] | None = None
    torch: TorchSaid | None = None
    required: tuple[str, ...] | None = None  # what torch requires and some folder holds
    damaged: tuple[DamagedFile, ...] | None = None
    gaps: Mapping[str, str] | None = None  # source -> why it is not known, or not whole
    failed: str | None = None  # what kept collect.py itself from answering


@dataclass(frozen=True)
class Heard:
    """An answer, and why parts of it, or all, could not be taken; `too_old`: of a Python that says only its version."""

    answer: Answer
    refused: Mapping[str, str]
    too_old: bool = False


def start(system: System, found: Found, notes: Notes) -> Callable[[Notes], None]:
    """Start collect.py in the target; the returned function waits for it and writes its facts down."""
    notes.set("interpreter.executable", found.python)
    notes.set("interpreter.kernel", found.kernel or ABSENT, found.reason)
    if found.failure or not found.python:
        failure = found.failure or StartFailure(kind="not-found", message="there is no Python to ask")
        _write_failure(notes, failure)
        _write_held(system, found.python, notes)
        return lambda notes: None
    child, heard = _ask(system, found.python, LIMIT_S)

    def finish(notes: Notes) -> None:
        result = child.result()
        try:
            answer = read_answer(heard[0]) if heard else None
        except Refused as error:
            _write_unknown(notes, f"the answer of the target's Python was refused: {error}")
            return
        if answer is None and (result.status in ("flooded", "refused") or result.run_over):
            gap = gap_from("interpreter", result, "the target's Python")
            for fact in ("interpreter", "torch", "packages"):
                notes.set(fact, gap)
        elif failure := failure_of(result, answer, found.python or ""):
            _write_failure(notes, failure)
            _write_held(system, found.python, notes)
        elif answer is not None:
            write(answer, notes, system)
            _write_installed_at(system, notes)

    return finish


def _ask(system: System, python: str, limit_s: float, before: str = "") -> tuple[Child, list[str]]:
    """collect.py at work in the target, and the list that its answer will be put into."""
    script = (pkgutil.get_data("doctor.inside", "collect.py") or b"").decode("ascii")
    heard: list[str] = []

    def hear(text: str) -> str:
        heard[:] = heard or [text]
        return process.DONE

    said = f"SIGNS = {tools.signs()!r}\n{before}{script}"
    return system.start([python, "-B", "-"], limit_s=limit_s, script=said, on_said=hear), heard


def all_damaged_files(system: System, found: Found) -> tuple[DamagedFile, ...] | Gap:
    """Facts.damaged with every .py compared, too: some seconds, for an environment whose torch does not import."""
    child, heard = _ask(system, found.python or "", WHOLE_LIMIT_S, "WHOLE = True\n")
    result = child.result()
    try:
        answer = read_answer(heard[0]).answer if heard else None
    except Refused as error:
        return Gap(fact="damaged", reason="unreadable", detail=f"the answer was refused: {error}", source=RECORD)
    if answer is None or answer.damaged is None:
        return gap_from("damaged", result, "the target's Python")
    return tuple(d for d in answer.damaged if fits("DamagedFile", "version", d.version))


def _write_installed_at(system: System, notes: Notes) -> None:
    """An installer makes the dist-info folder anew, and fills it: its time is that of the installation."""
    first = next(iter(notes.get("torch.copies") or ()), None)
    if first is None or not first.version:
        return
    folder = f"{first.path}/torch-{first.version}.dist-info"
    notes.set("torch.installed_at", system.changed_at(folder), folder)


def _write_unknown(notes: Notes, why: str) -> None:
    """The target's Python runs, and what it is cannot be said."""
    notes.set("interpreter.start_failure", ABSENT, ASKED)
    for fact in ("interpreter", "torch", "packages"):
        notes.gap(fact, "unreadable", why, ASKED)


def _write_failure(notes: Notes, failure: StartFailure) -> None:
    notes.set("interpreter.start_failure", failure, ASKED, failure.message)
    notes.set("interpreter.version", failure.version, ASKED)
    reason = "timed-out" if failure.kind == "timed-out" else "crashed"
    for fact in ("interpreter", "torch", "packages"):
        starts = "" if failure.kind == "too-old" else "the target's Python does not start: "
        notes.gap(fact, reason, f"{starts}{failure.message}")  # type: ignore[arg-type]


def _write_held(system: System, python: str | None, notes: Notes) -> None:
    """What can still be seen of the environment, though its Python does not start."""
    from doctor.facts.held import held

    notes.set("interpreter.held", held(system, python) if python else None, "pyvenv.cfg and *.dist-info")


def read_answer(text: str) -> Heard:
    """The answer as typed values, each source for itself. Raises Refused where it is no answer at all."""
    data = loads(text)
    values, refused = decode_fields(Answer, data)
    answer = Answer(**values)
    whole = "torch" in data or "failed" in data
    if not whole and not _is_old(answer.version):
        raise Refused("it says nothing of what is installed")
    return Heard(answer, refused, too_old=not whole)


def _is_old(version: str | None) -> bool:
    """Whether a Python of that version says nothing else."""
    return bool(version and fits("StartFailure", "version", version)) and numbers(version or "") < OLDEST


def failure_of(result: Result, heard: Heard | None, python: str) -> StartFailure | None:
    """Why the target could not be asked; None where it answered."""

    def failure(kind: str, message: str, **more: Any) -> StartFailure:
        return StartFailure(kind=kind, message=message, **more)  # type: ignore[arg-type]

    if heard and heard.too_old:
        version = heard.answer.version
        return failure("too-old", f"Python {version} is too old to be examined", exit_code=TOO_OLD, version=version)
    if heard:
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


def write(heard: Heard, notes: Notes, system: System) -> None:
    """Write the facts of one answer down: interpreter, packages and the static side of torch."""
    answer = heard.answer
    if answer.failed:
        notes.set("interpreter.version", answer.version, ASKED)
        _write_unknown(notes, f"looking at the target's environment failed in its own Python: {answer.failed}")
        return
    notes.set("interpreter.start_failure", ABSENT, ASKED)
    notes.set("interpreter.held", ABSENT, ASKED)
    notes.values.pop("interpreter.executable", None)
    for name in _PLAIN:
        if fits("Interpreter", name, value := getattr(answer, name)):
            notes.set(f"interpreter.{name}", value, ASKED)
        else:
            notes.gap(f"interpreter.{name}", "unreadable", f"it cannot be {str(value)[:60]!r}", ASKED)
    notes.set("interpreter.architecture", _architecture(answer), ASKED)
    notes.set("interpreter.sys_path", answer.sys_path, ASKED)
    notes.set("interpreter.shadowed", answer.shadowed, "sys.path")
    notes.set("interpreter.shadowed_packages", answer.shadowed_packages, "sys.path")
    if answer.libc and fits("Host", "libc_version", answer.libc[1]):
        notes.set("host.libc", answer.libc[0], "confstr")
        notes.set("host.libc_version", answer.libc[1], "confstr")
    unknown = {**(answer.gaps or {}), **{name: f"refused: {why}" for name, why in heard.refused.items()}}
    if answer.pip or (answer.packages is not None and pip.NAME not in unknown):  # it is looked for among them
        notes.set("interpreter.pip", answer.pip or ABSENT, "sys.path")
    markers = answer.markers or {}
    if answer.packages is not None:
        requires = (answer.torch.requires if answer.torch else None) or ()
        notes.set("packages", installed.packages_of(answer.packages, markers, requires), "dist-info")
    if answer.torch is not None:
        installed.write_torch(answer.torch, markers, notes, unknown.get("torch"))
    if answer.required is not None:
        installed.write_missing(answer.required, notes)
    if answer.damaged is not None:
        notes.set("damaged", tuple(d for d in answer.damaged if fits("DamagedFile", "version", d.version)), RECORD)
    for name, why in unknown.items():
        for fact in _FACTS.get(name, (f"interpreter.{name}",)):
            notes.gap(fact, "unreadable", why, ASKED)
    _write_project(answer, notes, system)


def _write_project(answer: Answer, notes: Notes, system: System) -> None:
    """What made the environment, as far as a file says."""
    kind = tools.kind(answer.environment)
    if answer.environment is not None and not (kind and kind.receipt):
        notes.set("interpreter.receipt", ABSENT, ASKED)
    elif answer.receipt:
        notes.set("interpreter.receipt", answer.receipt, kind.receipt if kind else ASKED)
    else:
        file = kind.receipt if kind else "the receipt"
        notes.gap("interpreter.receipt", "unreadable", f"{file} has what cannot be said again in a command")
    if answer.project is None and answer.prefix and (tool := tools.find(answer.manager)):
        from doctor.facts.projects import project_of

        notes.set("interpreter.project", project_of(system, answer.prefix, tool), ASKED)
    notes.gap("interpreter.project", "not-applicable", "no project file manages this environment")
    project = notes.get("interpreter.project")
    if project and answer.manager and notes.get("torch") is ABSENT:
        from doctor.formats import projects

        text = system.read(project)
        asks = projects.asks_for_torch(text, answer.manager) if isinstance(text, str) else None
        notes.set("interpreter.project_has_torch", asks, project)
    notes.gap("interpreter.project_has_torch", "not-applicable", "no project file decides whether torch is there")
    notes.gap("interpreter.macos_reported", "not-applicable", "this is no Mac")


def _architecture(answer: Answer) -> str | None:
    """Of this process: a 32-bit Python on a 64-bit kernel is told the kernel's machine by uname."""
    tag = answer.platform_tag or ""
    machine = tag.partition("win-")[2] or (
        tag if tag == "win32" else (answer.markers or {}).get("platform_machine", "")
    )
    word = architecture(machine)
    if answer.bits == 32:
        return {"x86_64": "x86", "arm64": "armv7l"}.get(word or "", word)
    return word

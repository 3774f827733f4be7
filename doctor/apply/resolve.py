"""Resolve before anything is changed: the tool's own dry run says whether a plan can be carried out, and what would
change. What each tool is asked, and how its answer reads, is said in fixes/tools; tools of projects resolve in
project.py. An index that does not answer is known after ANSWER_LIMIT_S; from then on the tool may take its time.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from doctor import process
from doctor.apply.redacted import hide
from doctor.fixes.tools import REPORT, Change, Resolution, Said, normalised, of_argv
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.fixes.tools import Variables

ANSWER_LIMIT_S = 13.0
SILENCE_LIMIT_S = 1800.0  # once the index answers: a slow line downloads gigabytes
CONNECT_S = 5  # seconds for each of the tool's two attempts
_UNREACHABLE = re.compile(
    r"connection (broken|refused|error)|NewConnectionError|ConnectTimeout|ReadTimeout|timed out|tcp connect error|"
    r"dns error|name resolution|getaddrinfo|Failed to (fetch|download)|error sending request|CondaHTTPError|"
    r"Network is unreachable|All attempts to connect|Connection reset",
    re.I,
)
_NO_CONNECTION = re.compile(
    r"(?:Failed to establish a new connection|failed to lookup address information|tcp connect error): "
    r"(?:\[Errno -?\d+\] )?([^'\")]+)"
)
_NOISE = re.compile(r"WARNING: |\[notice\]|Looking in")
_PYTHONS = (("bin", "python"), ("Scripts", "python.exe"))  # of an environment


@dataclass(frozen=True, kw_only=True)
class _Asking:
    """How a tool asks: `fixes.tools.Asking` on this machine."""

    system: System
    installed: Mapping[str, str]
    removed: Sequence[str]
    environ: dict[str, str]
    connect_s: int = CONNECT_S

    @property
    def python(self) -> str:
        return next((p for p in (os.path.join(self._folder, *n) for n in _PYTHONS) if os.path.exists(p)), "")

    @property
    def _folder(self) -> str:
        return self.environ.get("VIRTUAL_ENV", "")

    def has(self, pattern: str) -> bool:
        return bool(glob.glob(os.path.join(glob.escape(self._folder), pattern), recursive=True))

    def ask(self, argv: Sequence[str], answered: str, variables: Variables | None = None) -> Said:
        environ = {**{name: value for name, value in (variables or {}).items() if value}, **self.environ}
        with tempfile.TemporaryDirectory(prefix="torchdoctor-") as folder:
            file, report = os.path.join(folder, "report.json"), ""
            words = [file if word == REPORT else word for word in argv]
            result, lines = ask(self.system, words, re.compile(answered), environ)
            with contextlib.suppress(OSError, ValueError), open(file, encoding="utf-8") as said:
                report = said.read()
        return Said(
            ok=result.ok, lines=tuple(lines), stdout=result.stdout, report=report,
            failure=lambda lines: failed(result, lines),
        )  # fmt: skip


def resolve(
    system: System, argv: Sequence[str], installed: Mapping[str, str], removed: Sequence[str], environ: dict[str, str]
) -> Resolution:
    """Ask the tool of a step. `installed`: name -> version; `removed`: what earlier steps will have removed by then.
    A step that no tool can be asked about (an uninstall) resolves by itself."""
    asking = _Asking(system=system, installed=installed, removed=removed, environ=environ)
    tool = of_argv(argv)
    if tool and (answer := tool.dry_run(list(argv), asking)):
        return answer
    names = removed_by(argv)
    changes = tuple(Change(name, installed.get(name), None) for name in names if name in installed)
    return Resolution(ok=True, changes=changes, known=bool(names))


def removed_by(argv: Sequence[str]) -> tuple[str, ...]:
    """The distributions that an uninstall names, or a uv install that replaces them."""
    words = list(argv)
    if "uninstall" in words[1:5]:
        rest = words[words.index("uninstall") + 1 :]
        if "--python" in rest:
            at = rest.index("--python")
            del rest[at : at + 2]
        return tuple(normalised(w) for w in rest if not w.startswith("-"))
    return tuple(normalised(words[i + 1]) for i, word in enumerate(words[:-1]) if word == "--reinstall-package")


# ---- asking


@dataclass
class _Ears:
    """Read both streams of the tool. The time limit is extended once its output shows that an index answered."""

    answered: re.Pattern[str]
    lines: list[str] = field(default_factory=list)

    def hear(self, line: str) -> float | str | None:
        self.lines.append(line.rstrip("\r\n"))
        return SILENCE_LIMIT_S if self.answered.match(line) else None


def ask(
    system: System, argv: Sequence[str], answered: re.Pattern[str], environ: Mapping[str, str]
) -> tuple[process.Result, list[str]]:
    """Run a dry run and read both streams: its result, and all its lines."""
    ears = _Ears(answered)
    child = system.start(argv, limit_s=ANSWER_LIMIT_S, env=environ, on_line=ears.hear, on_error_line=ears.hear)
    try:
        return child.result(), ears.lines
    except BaseException:
        child.kill()
        raise


def failed(result: process.Result, lines: Sequence[str]) -> Resolution:
    """Why a dry run failed, from the last lines of its output."""
    said = [line.strip() for line in lines if line.strip()]
    unreachable = result.status == "timed-out" or any(_UNREACHABLE.search(line) for line in said)
    if result.status == "timed-out":
        said = [f"no answer after {result.limit_s:g} s"]
    elif result.status in ("not-found", "permission"):
        said = [result.said]
    kept = [line for line in said if not _NOISE.match(line)][-4:]
    broken = next((match[1] for line in said if (match := _NO_CONNECTION.search(line))), None)
    if unreachable and broken:  # what follows in the output is that nothing was found
        kept = [broken]
    return Resolution(ok=False, message=hide("\n".join(kept)), unreachable=unreachable)

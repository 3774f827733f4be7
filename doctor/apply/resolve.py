"""Resolve before anything is changed: the tool's own dry run says whether a plan can be carried out, and what would
change.

pip: `install --dry-run --report`; uv: `pip install --dry-run`; conda and mamba: `install --dry-run --json`. Tools of
projects resolve in project.py. An index that does not answer is known after ANSWER_LIMIT_S; from then on the tool may
take its time.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shlex
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from doctor import process
from doctor.apply.listing import normalised
from doctor.apply.redacted import hide
from doctor.fixes.situation import CONDAS
from doctor.fixes.tools import program_name
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System

ANSWER_LIMIT_S = 13.0
SILENCE_LIMIT_S = 1800.0  # once the index answers: a slow line downloads gigabytes
CONNECT_S = 5  # seconds for the tool's own tries, of which it gets two
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
_PIP_ANSWERED = re.compile(r"\s*(Collecting|Downloading|Using cached|Requirement already|Processing|Obtaining) ")
_UV_ANSWERED = re.compile(r"DEBUG (Selecting|Tried|Found (stale|fresh|installed)|Fetching metadata)|Resolved |Would ")
_UV_CHANGE = re.compile(r"\s*([+~-]) ([A-Za-z0-9._-]+)==(\S+)")
_PYTHONS = (("bin", "python"), ("Scripts", "python.exe"))  # of an environment
_OLD_PIP = re.compile(r"no such option: --(dry-run|report)")


@dataclass(frozen=True)
class Change:
    """One distribution: its version before and after; None where it isn't there."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What a dry run said. `known`: the tool could be asked; `message`: its reason where `ok` is False."""

    ok: bool
    changes: tuple[Change, ...] = ()
    message: str = ""
    unreachable: bool = False
    known: bool = True


def resolve(
    system: System, argv: Sequence[str], installed: Mapping[str, str], removed: Sequence[str], environ: dict[str, str]
) -> Resolution:
    """Ask the tool of a step. `installed`: name -> version; `removed`: what earlier steps will have removed by then.
    A step that no tool can be asked about (an uninstall) resolves by itself."""
    words = _as_installer(list(argv), environ)
    if words[1:4] == ["-m", "pip", "install"]:
        return _pip(system, words, installed, removed, environ)
    if words[1:3] == ["pip", "install"] and program_name(words) == "uv":
        return _uv(system, words, installed, removed, environ)
    if program_name(words) in CONDAS and "-p" not in words:
        return Resolution(ok=False, message="this environment is none of conda's, whose active one would be changed.")
    if words[1:2] in (["install"], ["create"]) and program_name(words) in CONDAS:
        return _conda(system, words, installed, environ)
    names = removed_by(argv)
    changes = tuple(Change(name, installed.get(name), None) for name in names if name in installed)
    return Resolution(ok=True, changes=changes, known=bool(names))


def _as_installer(words: list[str], environ: Mapping[str, str]) -> list[str]:
    """pipx and `uv tool` have no dry run: the command of pip or uv that does the same to their environment."""
    folder = environ.get("VIRTUAL_ENV", "")
    python = next((p for p in (os.path.join(folder, *n) for n in _PYTHONS) if os.path.exists(p)), "")
    if program_name(words) == "pipx" and words[1:2] == ["inject"]:
        given = [part for word in words for part in shlex.split(word.partition("--pip-args=")[2])]
        rest = [*(word for word in words[3:] if not word.startswith("--pip-args=")), *given]
        by_pip = glob.glob(os.path.join(glob.escape(folder), "[Ll]ib", "**", "pipx_shared.pth"), recursive=True)
        return [python, "-m", "pip", "install", *rest] if by_pip else _uv_pip("uv", python, rest)
    if program_name(words) == "uv" and words[1:3] == ["tool", "install"]:
        rest = [word for word in words[3:] if word != "--with"]
        if "--python" in rest:
            at = rest.index("--python")
            del rest[at : at + 2]
        return _uv_pip(words[0], python, rest)
    return words


def _uv_pip(uv: str, python: str, rest: Sequence[str]) -> list[str]:
    return [uv, "pip", "install", "--python", python, *rest]


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


# ---- pip


def _pip(
    system: System, words: list[str], installed: Mapping[str, str], removed: Sequence[str], environ: dict[str, str]
) -> Resolution:
    """What an earlier step removes still stands in the way of a dry run. So the index is asked for the packages
    themselves, whatever is installed, and then what they need is resolved against the environment as it is. Where
    something else is removed, too, pip is told to look at the index for all."""
    if not removed:
        first, report = _pip_asked(system, words, (), environ)
        return first if report is None else Resolution(ok=True, changes=_pip_changes(report, installed, False))
    first, wanted = _pip_asked(system, words, ("--ignore-installed", "--no-deps"), environ)
    if wanted is None:
        return first
    names = {normalised(str(item["metadata"]["name"])) for item in wanted["install"]}
    if not names.issuperset(removed):
        first, report = _pip_asked(system, words, ("--ignore-installed",), environ)
        return first if report is None else Resolution(ok=True, changes=_pip_changes(report, installed, True))
    needs = [
        text
        for item in wanted["install"]
        for text in item["metadata"].get("requires_dist") or ()
        if normalised(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]) not in names
    ]
    words = [word for word in words if not _is_requirement(word, names)]
    second, rest = _pip_asked(system, [*words, *needs], (), environ) if needs else (first, {"install": []})
    if rest is None:
        return second
    changes = _pip_changes({"install": [*wanted["install"], *rest["install"]]}, installed, False)
    return Resolution(ok=True, changes=changes)


def _is_requirement(word: str, names: Collection[str]) -> bool:
    return normalised(re.split(r"[=<>!~ \[]", word, maxsplit=1)[0]) in names


def _pip_asked(
    system: System, words: Sequence[str], options: Sequence[str], environ: dict[str, str]
) -> tuple[Resolution, dict[str, Any] | None]:
    """One dry run: its report, or None and why there is none."""
    with tempfile.TemporaryDirectory(prefix="torchdoctor-") as folder:
        file = os.path.join(folder, "report.json")
        dry = ("--dry-run", "--report", file, *options, "--retries", "1", "--timeout", str(CONNECT_S))
        result, lines = ask(system, [*words[:4], *dry, *words[4:]], _PIP_ANSWERED, environ)
        if result.ok:
            with contextlib.suppress(OSError, ValueError), open(file, encoding="utf-8") as said:
                return Resolution(ok=True), json.load(said)
        if any(_OLD_PIP.search(line) for line in lines):
            return Resolution(ok=True, known=False, message="this pip is too old for a dry run"), None
        return failed(result, lines), None


def _pip_changes(report: Mapping[str, Any], installed: Mapping[str, str], all_new: bool) -> tuple[Change, ...]:
    """What pip will change. With --ignore-installed it lists everything: what is there and good enough will stay."""
    items = [(item.get("metadata", {}), bool(item.get("requested"))) for item in report.get("install", ())]
    changes = []
    for metadata, requested in items:
        name, after = normalised(str(metadata.get("name", ""))), str(metadata.get("version", ""))
        before = installed.get(name)
        if all_new and not requested and before and _serves(before, name, [m for m, _ in items]):
            continue
        changes.append(Change(name, before, after))
    return tuple(changes)


def _serves(version: str, name: str, all_metadata: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an installed version meets what every package of the report asks of it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for metadata in all_metadata:
        for text in metadata.get("requires_dist") or ():
            with contextlib.suppress(InvalidRequirement):
                requirement = Requirement(text)
                if normalised(requirement.name) == name and not requirement.specifier.contains(version, True):
                    return False
    return True


# ---- uv


def _uv(
    system: System, words: list[str], installed: Mapping[str, str], removed: Sequence[str], environ: dict[str, str]
) -> Resolution:
    again = [word for name in removed for word in ("--reinstall-package", name)]
    argv = [*words[:3], "--dry-run", "--verbose", *again, *words[3:]]
    environ.setdefault("UV_HTTP_TIMEOUT", str(CONNECT_S))
    environ.setdefault("UV_HTTP_RETRIES", "1")
    result, lines = ask(system, argv, _UV_ANSWERED, environ)
    if not result.ok:
        return failed(result, [line for line in lines if not re.match(r"\s*(DEBUG|TRACE|WARN) ", line)])
    after: dict[str, str | None] = {}
    for line in lines:
        if match := _UV_CHANGE.match(line):
            name = normalised(match[2])
            if match[1] == "-":
                after.setdefault(name, None)
            else:
                after[name] = match[3]
    return Resolution(ok=True, changes=tuple(Change(n, installed.get(n), a) for n, a in sorted(after.items())))


# ---- conda


def _conda(system: System, words: list[str], installed: Mapping[str, str], environ: dict[str, str]) -> Resolution:
    result, lines = ask(system, [*words[:2], "--dry-run", "--json", *words[2:]], re.compile(r"\s*[{\[]"), environ)
    try:
        said = json.loads(result.stdout)
    except ValueError:
        said = {}
    if not result.ok or said.get("success") is False:
        text = str(said.get("message") or said.get("error") or "")
        return failed(result, [*lines, text] if not text else text.splitlines())
    actions = said.get("actions", {})
    after: dict[str, str | None] = {str(p.get("name")): None for p in actions.get("UNLINK", ())}
    after |= {str(p.get("name")): str(p.get("version")) for p in actions.get("LINK", ())}
    return Resolution(ok=True, changes=tuple(Change(n, installed.get(n), a) for n, a in sorted(after.items())))


# ---- asking


@dataclass
class _Ears:
    """Both streams of the tool. The clock is loosened once it shows that an index answered."""

    answered: re.Pattern[str]
    lines: list[str] = field(default_factory=list)

    def hear(self, line: str) -> float | str | None:
        self.lines.append(line.rstrip("\r\n"))
        return SILENCE_LIMIT_S if self.answered.match(line) else None


def ask(
    system: System, argv: Sequence[str], answered: re.Pattern[str], environ: Mapping[str, str]
) -> tuple[process.Result, list[str]]:
    """Run a dry run with an ear on both streams: its result, and all its lines."""
    ears = _Ears(answered)
    child = system.start(argv, limit_s=ANSWER_LIMIT_S, env=environ, on_line=ears.hear, on_error_line=ears.hear)
    try:
        return child.result(), ears.lines
    except BaseException:
        child.kill()
        raise


def failed(result: process.Result, lines: Sequence[str]) -> Resolution:
    """What a dry run that did not succeed says, in its last lines."""
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

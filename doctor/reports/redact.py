"""A report that may be passed on: who, which machine and which secrets are replaced by stand-ins, the same everywhere.

Replaced are: user names (given, and those in paths of home folders), the host's name, home folders, GPU UUIDs, serial
numbers, and secrets (in URLs, in variables, known forms of tokens). Whole words only: a user called «nv» leaves
«nvidia» alone. Names that everybody has (root, ubuntu, runner) say nothing about anybody and stay. In commands, the
target's Python becomes {python}.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from doctor.model.fix import Step
from doctor.model.report import Report

# Accounts of images and services, and words that would damage the report's own language.
PUBLIC = frozenset(
    """
    root user users admin administrator ubuntu debian fedora centos arch rocky ec2-user azureuser opc vagrant docker
    runner runneradmin runner-admin jovyan coder vscode codespace gitpod builder build conda mamba linuxbrew homebrew
    app nobody nonroot default guest public shared test tester dev worker ray airflow jenkins gitlab-runner travis colab
    kaggle sagemaker localhost localdomain python python3 torch pytorch cuda nvidia amd intel apple linux windows macos
    darwin gpu cpu mps driver home
    """.split()  # noqa: SIM905
)
# Values of these fields belong to the report's own vocabulary.
_OWN = frozenset(
    """
    schema tool taken_at verdict id layer severity finding explained_by action pattern fact status also_cures confidence
    kind where live as_of system os_id os_like architecture libc implementation manager environment vendor backend
    """.split()  # noqa: SIM905
)
_SECRET_NAME = r"[A-Za-z0-9_]*(?:TOKEN|SECRET|PASSW(?:OR)?D|API_?KEY|ACCESS_KEY|PRIVATE_KEY|CREDENTIALS?)[A-Za-z0-9_]*"
_SECRET_VARIABLE = re.compile(_SECRET_NAME + r"\Z", re.IGNORECASE)

# Each with the secret as its only group.
_SECRETS = tuple(
    re.compile(p, flags)
    for p, flags in (
        (r"[a-z][a-z0-9+.-]*://[^\s/@:]+:([^\s/@'\"<>]+)@", re.IGNORECASE),  # https://user:token@host
        (r"[a-z][a-z0-9+.-]*://([^\s/@'\"<>]+)@", re.IGNORECASE),  # https://token@host, or both
        (r"[?&](?:[a-z_]*token|sig|signature|api_?key|password|secret)=([^\s&#'\"]+)", re.IGNORECASE),
        (r"(?:^|(?<=[\s'\";]))" + _SECRET_NAME + r"=([^\s'\";]+)", re.IGNORECASE),
        (r"\b((?:gh[opusr]_|github_pat_|glpat-|hf_|pypi-|sk-|xox[abp]-)[A-Za-z0-9_-]{16,})", 0),
        (r"\b(?:Bearer|Basic)\s+([A-Za-z0-9._~+/=-]{16,})", 0),
    )
)
_UUID = re.compile(r"\b(?:GPU|MIG)-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?:/\d+/\d+)?")
_SERIAL = re.compile(r"\bserial(?:[ _]?(?:number|no\.?))?(?:\s*\(system\))?\s*[:=]\s*([A-Za-z0-9-]{6,})", re.IGNORECASE)
_HOME_POSIX = re.compile(r"(?:/home/|/Users/|/mnt/[a-z]/Users/)([^/\s:'\"<>\\]+)")
_HOME_WINDOWS = re.compile(r"[A-Za-z]:[\\/]+(?:Users|Documents and Settings)[\\/]+([^\\/:*?\"<>|\r\n]+)(?=[\\/])")

Rewrite = Callable[[str], str]


def redact(report: Report, *, names: Iterable[tuple[str, str]] = ()) -> Report:
    """The report with stand-ins. `names` says what the report itself can't: ("user" | "host" | "home", text)."""
    if report.redacted:
        return report
    rewrite = _StandIns(report, names).rewrite
    redacted: Report = _map(report, rewrite)
    if report.target.python:
        fixes = tuple(_with_placeholder(f, rewrite(report.target.python)) for f in redacted.plan.fixes)
        redacted = dataclasses.replace(redacted, plan=dataclasses.replace(redacted.plan, fixes=fixes))
    return dataclasses.replace(redacted, redacted=True)


class _StandIns:
    """Which text stands for which. Found in a first walk, so that the same name is replaced where it stands alone."""

    def __init__(self, report: Report, names: Iterable[tuple[str, str]]) -> None:
        self._of: dict[str, str] = {}
        self._count: dict[str, int] = {}
        self._in_paths: set[str] = set()
        for kind, name in names:
            if kind == "home":
                self._add_home(name)
            elif name.lower() not in PUBLIC and len(name) >= 2:
                self._add(kind, name)
                if kind == "host" and (short := name.partition(".")[0]) != name and short.lower() not in PUBLIC:
                    self._add(kind, short)
        texts: list[str] = []
        _map(report, lambda text: texts.append(text) or text)  # type: ignore[func-returns-value]
        for name, value in (report.facts.environ or {}).items():
            if _SECRET_VARIABLE.match(name) and value:
                self._add("token", value)
        for text in texts:
            self._learn(text)
        self._pattern = self._compiled()

    def _add(self, kind: str, text: str) -> None:
        if text not in self._of:
            self._count[kind] = self._count.get(kind, 0) + 1
            self._of[text] = f"{kind}{self._count[kind]}"

    def _add_home(self, home: str) -> None:
        """Only a home in an unusual place; /home/NAME is covered by its user."""
        home = home.rstrip("/\\")
        if home.count("/") + home.count("\\") > 1 and not (_HOME_POSIX.match(home) or _HOME_WINDOWS.match(home + "\\")):
            self._of[home] = "/home/user1"

    def _learn(self, text: str) -> None:
        for pattern in _SECRETS:
            for match in pattern.finditer(text):
                if len(match[1]) > 3 and match[1] not in ("git", "{python}"):
                    self._add("token", match[1])
        for match in _UUID.finditer(text):
            self._add("GPU-", match[0])
        for match in _SERIAL.finditer(text):
            self._add("serial", match[1])
        for pattern in (_HOME_POSIX, _HOME_WINDOWS):
            for match in pattern.finditer(text):
                if match[1].lower() not in PUBLIC and not match[1].startswith((".", "{")):
                    self._add("user", match[1])
                    if len(match[1]) < 3:
                        self._in_paths.add(match[1])

    def _compiled(self) -> re.Pattern[str] | None:
        """Longest first: a name may be part of a longer one. A very short user name is replaced in paths only."""
        parts = []
        for text in sorted(self._of, key=len, reverse=True):
            before = r"(?<=[\\/])" if text in self._in_paths else r"(?<![A-Za-z0-9_])" if text[0].isalnum() else ""
            after = r"(?![A-Za-z0-9_])" if text[-1].isalnum() else ""
            parts.append(f"{before}{re.escape(text)}{after}")
        return re.compile("|".join(parts)) if parts else None

    def rewrite(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._of[match[0]], text) if self._pattern else text


def _map(value: Any, rewrite: Rewrite) -> Any:
    """The value with every text rewritten that is not of the report's own vocabulary."""
    if isinstance(value, str):
        return rewrite(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        changed = {name: v if name in _OWN else _map(v, rewrite) for name, v in fields.items()}
        return dataclasses.replace(value, **changed)
    if isinstance(value, Mapping):
        return {k: _map(v, rewrite) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(_map(v, rewrite) for v in value)
    return value


def _with_placeholder(fix: Any, python: str) -> Any:
    """Commands that say {python} for the target's Python."""
    whole = re.compile(rf"(?<![A-Za-z0-9_./\\-]){re.escape(python)}(?![A-Za-z0-9_/\\.-])")

    def rewrite(text: str) -> str:
        return whole.sub("{python}", text)

    def commands(step: Step) -> Step:
        changed = {name: _map(getattr(step, name), rewrite) for name in ("argv", "shell", "text", "undo", "verify")}
        return dataclasses.replace(step, **changed)

    return dataclasses.replace(
        fix,
        steps=tuple(commands(s) for s in fix.steps),
        alternatives=tuple(_with_placeholder(a, python) for a in fix.alternatives),
    )

"""Installation logs of pip, uv, conda and poetry: what was asked, from where, what was on offer, how it ended."""

from __future__ import annotations

import re
import shlex
from itertools import islice

from doctor.evidence.blocks import Block, commands
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.fixes.tools import all_tools, base, spellings, tool_said
from doctor.model.facts import InstallAttempt
from doctor.regex import Regex

ATTEMPTS_AT_MOST = 50
_COMMAND = Regex(
    rf"(?:^|[\s;&|/\\!'\"`(])((?P<tool>{spellings()})(?:\.exe)?[ \t]+(?P<"
    r"verb>install|add|sync|create|update|download|wheel|lock)\b(?P<rest>[^\n]*))"
)
_OFFERED = Regex(
    r"Could not find a version that satisfies the requirement ([^\s(][^(\n]{0,150}?) ?"
    r"(?:\(from (?!versions)[^()\n]{1,120}\) ?)?\(from versions: ([^)\n]*)\)?(?P<open>)",
    re.S,
)
_NO_MATCH = Regex(r"No matching distribution found for (\S[^\n]*)")
_LOOKING = Regex(r"Looking in (?:indexes|links): ([^\n]+)")
_WHEEL = Regex(r"(?<![\w.])([A-Za-z][\w.]*-\d[\w.+%]*(?:-\d\w*)?-(?:cp|py|pp)\w+-\w+-[\w.]+\.whl)")
_DOWNLOAD = Regex(r"(?:Downloading|Using cached) (\S+\.whl)")
_FAILURES = tuple((tool, Regex(tool.failed)) for tool in all_tools() if tool.failed)
_NAMING = tuple(sign for tool, sign in _FAILURES if "(?P<name>" in tool.failed)
_MISSED = tuple(Regex(tool.missed) for tool in all_tools() if tool.missed)
_FAILED = Regex(
    r"^[ \t]*(?:ERROR: (?!pip's dependency)[^\n]*|error: (?:subprocess-exited-with-error|"
    r"externally-managed-environment|Failed to)[^\n]*|"
    r"OSError: \[Errno 28\][^\n]*|MemoryError|Killed|THESE PACKAGES DO NOT MATCH[^\n]*)",
    re.M,
)
_OF_ANY_PROGRAM = ("MemoryError", "Killed")  # an installer's only where one is at work
_INDEX_OPTIONS = (
    "-i", "--index-url", "--extra-index-url", "--index", "--default-index", "-f", "--find-links", "-c", "--channel",
    "--torch-backend",
)
_VALUE_OPTIONS = (
    *_INDEX_OPTIONS, "-r", "--requirement", "-n", "--name", "-p", "--python", "--prefix", "--target", "-t",
    "--constraint", "--platform", "--python-version", "--only-binary", "--no-binary", "--trusted-host", "--root",
    "--cache-dir", "--timeout", "--group",
)
_WORDS = tuple(f"{name} " if len(name) < 3 else name for tool in all_tools() if tool.said for name in tool.programs)
_MARKS = (
    *_WORDS, "no matching distribution", "could not find a version", "looking in", ".whl", "no solution found",
    "packagesnotfound", "installation candidates",
)


def read(document: Document, notes: Notes) -> None:
    """Note every attempt to install something that torch needs."""
    if not document.has(*_MARKS):
        return
    shell = (c for c in commands(document) if c.kind == "shell" and _COMMAND.search(c.text))
    pieces = list(islice(shell, ATTEMPTS_AT_MOST))
    covered: set[int] = set()
    for command in pieces:
        attempt = _attempt(command, document, notes)
        covered.update(range(command.line, command.last))
        notes.attempts.append(attempt)
    rest = [i for i in range(len(document.lines)) if i not in covered]
    _loose(document, rest, notes)


def parse_command(said: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """(tool, requirements, indexes) of an installation command; None where it is none.

    >>> parse_command("python -m pip install torch==2.5.1 --index-url https://download.pytorch.org/whl/cu124")
    ('pip', ('torch==2.5.1',), ('https://download.pytorch.org/whl/cu124',))
    """
    match = _COMMAND.search(said[:2000])
    if match is None:
        return None
    tool = tool_said(match["tool"]).name
    rest = re.split(r"\s(?:&&|\|\||\||;|>)\s?", match["rest"])[0].replace(
        "\\", "/" if "\\\\" in match["rest"] else "\\\\"
    )
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    requirements, indexes = [], []
    skip = ""
    for word in words:
        if skip:
            if skip in _INDEX_OPTIONS:
                indexes.append(word)
            skip = ""
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            if equals and name in _INDEX_OPTIONS:
                indexes.append(value)
            elif not equals and name in _VALUE_OPTIONS:
                skip = name
        elif re.match(r"[A-Za-z./]", word) and not word.startswith(("returned", "non-zero")):
            requirements.append(word.strip("'\""))
    return tool, tuple(requirements), tuple(indexes)


def _attempt(command: Block, document: Document, notes: Notes) -> InstallAttempt:
    parsed = parse_command(command.text)
    tool, requirements, indexes = parsed or (base().name, (), ())
    output = "\n".join(document.lines[command.first : command.last])
    seen = _outcome(output)
    for i in range(command.first, command.last):
        if any(
            w in document.lines[i]
            for w in ("ERROR:", "Looking in", "Collecting", "Downloading", "Requirement already", "Successfully")
        ):
            notes.understand(i)
    return InstallAttempt(
        tool=tool, command=command.text[:500], requirements=requirements or seen[3],
        indexes=tuple(dict.fromkeys((*indexes, *seen[2]))), failed=seen[0], offered=seen[1], wheel=seen[4],
        message=seen[5],
    )


def _outcome(
    output: str,
) -> tuple[bool | None, tuple[str, ...] | None, tuple[str, ...], tuple[str, ...], str | None, str]:
    """(failed, offered, indexes, requirements, wheel, message) of what an installer printed."""
    failed: bool | None = None
    offered: tuple[str, ...] | None = None
    requirements: tuple[str, ...] = ()
    message = ""
    if m := _OFFERED.search(output):
        failed = True
        versions = " ".join(m[2].split())
        offered = () if versions.strip() in ("none", "") else tuple(v.strip() for v in versions.split(",") if v.strip())
        requirements = (m[1].strip(),)
        message = " ".join(m[0].split())[:300]
    elif m := _NO_MATCH.search(output):
        failed, requirements, message = True, (m[1].strip(),), m[0][:300]
    elif m := next(filter(None, (sign.search(output) for sign in _NAMING)), None):
        failed, requirements, message = True, (f"{m['name']}=={m['version']}",), m[0]
    elif m := _FAILED.search(output) or next(filter(None, (sign.search(output) for _, sign in _FAILURES)), None):
        failed, message = True, m[0].strip()[:300]
        if missed := next(filter(None, (sign.search(output) for sign in _MISSED)), None):
            requirements = tuple(re.findall(r"^[ \t]*-[ \t]*([a-z]\S+)", missed[1], re.M)[:9])
            message += ": " + " ".join(requirements)
    elif "Successfully installed" in output or "Requirement already satisfied" in output:
        failed = False
    indexes = tuple(i.strip() for m in _LOOKING.finditer(output) for i in m[1].split(",") if i.strip())
    wheel = _DOWNLOAD.search(output) or _WHEEL.search(output)
    return failed, offered, indexes, requirements, wheel[1].rsplit("/", 1)[-1] if wheel else None, message


def _loose(document: Document, lines: list[int], notes: Notes) -> None:
    """Attempts whose command line is not shown (or stands in prose or in a Python exception)."""
    text = "\n".join(document.lines[i] for i in lines)
    failed, offered, indexes, requirements, wheel, message = _outcome(text)
    quoted = parse_command(text) if _COMMAND.search(text) else None
    if failed is None and not (wheel and "torch" in wheel) and not quoted:
        return
    if not wheel and (failed is None or message in _OF_ANY_PROGRAM):
        # A command in prose is an advice as often as an attempt: not noted.
        return
    tool = next((tool for tool, sign in _FAILURES if sign.search(text)), base()).name
    if quoted:
        tool = quoted[0]
        indexes = tuple(dict.fromkeys((*quoted[2], *indexes)))
    if notes.attempts and any(a.requirements == requirements and a.offered == offered for a in notes.attempts):
        return
    notes.attempts.append(
        InstallAttempt(
            tool=tool, requirements=requirements or (quoted[1] if quoted else ()), indexes=indexes, failed=failed,
            offered=offered, wheel=wheel, message=message,
        )
    )

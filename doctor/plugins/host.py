"""The process in which one plugin runs: it reads the facts from stdin and answers in JSON on what was stdout.

What the plugin prints goes to stderr. The answer is that of `Answer`, or {"error": one line}.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import field, replace
from typing import Any

from doctor.checks.runner import run_check
from doctor.decode import decode, loads
from doctor.model.facts import ErrorText, Facts, ImportFailure, Torch
from doctor.model.finding import LAYERS, Finding, Outcome
from doctor.model.shapes import KEBAB
from doctor.model.values import dataclass
from doctor.plugin import Message, Plugin
from doctor.reports.json import encode

SIZE = 64 << 20  # characters of the question: texts of tickets are in it
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_OF_A_MESSAGE = 5  # occurrences
_TEXT = 500  # characters of a message


@dataclass(frozen=True, kw_only=True)
class Described:
    """A check of a plugin as its page needs it."""

    id: str
    layer: str
    severity: str
    title: str
    docs: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of a plugin."""

    name: str
    as_of: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a plugin is and, where facts were given, what it says of them. Ids are the plugin's own."""

    checks: tuple[Described, ...] = ()
    messages: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    findings: tuple[Finding, ...] = field(default=())


def main(value: str) -> None:
    """Answer, and end without the plugin's own exit handlers."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        said = _answer(value, sys.stdin.buffer.read().decode("utf-8", "replace"))
    except BaseException as error:  # also SystemExit: whatever it does, somebody waits for an answer
        said = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    json.dump(said, answer)
    answer.flush()
    os._exit(0)


def _answer(value: str, question: str) -> dict[str, Any]:
    asked = loads(question, size=SIZE) if question else {}
    module, _, name = value.partition(":")
    plugin: Any = importlib.import_module(module.strip())
    for part in name.strip().split(".") if name else ():
        plugin = getattr(plugin, part)
    _check(plugin)
    outcomes: list[Outcome] = []
    findings: list[Finding] = []
    if "facts" in asked:
        facts = decode(Facts, asked["facts"])
        facts = replace(facts, errors=(*facts.errors, *_heard(plugin, facts, asked.get("texts") or [])))
        for check in plugin.checks:
            outcome, found = run_check(check, facts)
            outcomes.append(outcome)
            findings += found
    return {
        name: encode(part)
        for name, part in vars(
            Answer(
                checks=tuple(
                    Described(id=c.id, layer=c.layer, severity=c.severity, title=c.title, docs=c.docs)
                    for c in plugin.checks
                ),
                messages=tuple(m.id for m in plugin.messages),
                tables=tuple(Table(name=n, as_of=str(t.get("as_of") or "")) for n, t in plugin.tables.items()),
                outcomes=tuple(outcomes),
                findings=tuple(findings),
            )
        ).items()
    }


def _check(plugin: Any) -> None:
    """TypeError or ValueError where it is not what docs/plugins.md describes."""
    if not isinstance(plugin, Plugin):
        raise TypeError(f"its entry point is a {type(plugin).__name__}, not a doctor.plugin.Plugin")
    for check in plugin.checks:
        if not KEBAB.fullmatch(check.id):
            raise ValueError(f"the id {check.id!r} of a check is not in kebab-case")
        if check.layer not in LAYERS:
            raise ValueError(f"{check.id}: {check.layer!r} is no layer: {', '.join(LAYERS)}")
        if not check.title.endswith("."):
            raise ValueError(f"{check.id}: its title is not a sentence")
        if check.judge is None and check.rule is None:
            raise ValueError(f"{check.id}: it has neither a judge nor a rule")
    ids = [c.id for c in plugin.checks] + [m.id for m in plugin.messages]
    if len(ids) != len(set(ids)):
        raise ValueError("two of its checks and messages have the same id")


def _heard(plugin: Plugin, facts: Facts, texts: list[Any]) -> Iterator[ErrorText]:
    """Its messages, in the texts that were read, or in what was said live."""
    said = [(str(source), str(text)) for source, text in texts] or list(_said(facts))
    for message in plugin.messages:
        regex = re.compile(message.regex, sum(_FLAGS[letter] for letter in message.flags))
        for source, text in said:
            yield from _in_text(message, regex, source, text, numbered=bool(texts))


def _in_text(
    message: Message, regex: re.Pattern[str], source: str, text: str, *, numbered: bool
) -> Iterator[ErrorText]:
    for count, match in enumerate(regex.finditer(text)):
        if count == _OF_A_MESSAGE:
            return
        yield ErrorText(
            pattern=message.id,
            text=" ".join(match[0].split())[:_TEXT],
            groups=tuple((group or "")[:_TEXT] for group in match.groups()),
            source=source,
            line=text.count("\n", 0, match.start()) + 1 if numbered else None,
        )


def _said(facts: Facts) -> Iterator[tuple[str, str]]:
    """(who, what) was said by torch, the driver and the probes."""
    torch = facts.torch
    if isinstance(torch, Torch):
        if isinstance(torch.import_failure, ImportFailure):
            yield "import torch", f"{torch.import_failure.traceback}\n{torch.import_failure.message}"
        yield "import torch", "\n".join(torch.warnings or ())
        yield from (("torch", text) for text in (torch.cuda_error, torch.numpy_error) if isinstance(text, str))
    if isinstance(facts.nvidia.smi_error, str):
        yield "nvidia-smi", facts.nvidia.smi_error
    for source in (*facts.nvidia.sources, *facts.amd.sources, *facts.intel.sources):
        yield source.name, source.message
    for probe in facts.probes or ():
        yield f"probe of {probe.device}", f"{probe.reason}\n{probe.stderr_tail}"

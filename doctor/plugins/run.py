"""Asks plugins what they say of the facts, and makes of their answers what may stand in a report."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import doctor
from doctor import process
from doctor.decode import Refused, decode, loads
from doctor.facts.system import System
from doctor.fixes.actions import BUILDERS
from doctor.model.facts import Facts, Gap, Reason
from doctor.model.finding import LAYERS, Evidence, Finding, Outcome, Remedy
from doctor.model.report import PluginRun
from doctor.model.values import dataclass
from doctor.plugins.host import Answer
from doctor.plugins.installed import Installed
from doctor.reports.json import encode

LIMIT_S = 10.0
FINDINGS_AT_MOST = 50
TEXT = 2000  # characters of one text of a finding
TEXTS = 4 << 20  # bytes of the texts that were read, of each
_CODE = (
    "import sys\n"
    "if sys.path[:1] == ['']: del sys.path[0]\n"  # the folder that we stand in is not the plugin's
    "sys.path.append({root!r})\n"
    "from doctor.plugins.host import main\n"
    "main({value!r})"
)
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(doctor.__file__)))


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What all plugins said. Their ids stand below the plugin's name: "acme/image-outdated"."""

    runs: tuple[PluginRun, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()


def ask(
    plugins: Iterable[Installed], facts: Facts, texts: Sequence[tuple[str, bytes]] = (), *,
    limit_s: float | None = None, until: float | None = None,
) -> Ran:  # fmt: skip
    """All of them, side by side, each within `limit_s`."""
    plugins = tuple(plugins)
    said = [[name, content[:TEXTS].decode("utf-8", "replace")] for name, content in texts]
    question = json.dumps({"facts": encode(facts), "texts": said})
    children = [None if one.problem else _start(one, question, limit_s or LIMIT_S, until) for one in plugins]
    parts = [
        _failed(one, "failed", one.problem) if child is None else _of(one, child)
        for one, child in zip(plugins, children, strict=True)
    ]
    return Ran(
        runs=tuple(run for part in parts for run in part.runs),
        outcomes=tuple(outcome for part in parts for outcome in part.outcomes),
        findings=tuple(finding for part in parts for finding in part.findings),
        gaps=tuple(gap for part in parts for gap in part.gaps),
    )


def describe(one: Installed) -> Answer:
    """What a plugin is. Refused, with the reason, where it does not say."""
    if one.problem:
        raise Refused(one.problem)
    return _answer(_start(one, "", LIMIT_S, None).result())


def _start(one: Installed, question: str, limit_s: float, until: float | None) -> process.Child:
    code = _CODE.format(root=_ROOT, value=one.value)
    environ = System.of_this_process().child_environ()
    return process.start([sys.executable, "-c", code], stdin=question, limit_s=limit_s, until=until, env=environ)


def _of(one: Installed, child: process.Child) -> Ran:
    result = child.result()
    if result.status == "timed-out":
        return _failed(one, "timed-out", result.said)
    try:
        answer = _answer(result)
        names = {check.id for check in answer.checks}
        outcomes = tuple(_outcome(one, outcome, names) for outcome in answer.outcomes)
        findings = tuple(_finding(one, finding, names) for finding in answer.findings[:FINDINGS_AT_MOST])
    except Refused as error:
        return _failed(one, "failed", str(error))
    run = PluginRun(
        name=one.name, distribution=one.distribution, version=one.version, status="ok",
        checks=tuple(f"{one.name}/{check.id}" for check in answer.checks), messages=answer.messages,
        tables=tuple(f"{t.name} {t.as_of}".strip() for t in answer.tables),
    )  # fmt: skip
    return Ran(runs=(run,), outcomes=outcomes, findings=findings)


def _answer(result: process.Result) -> Answer:
    if not result.ok:
        raise Refused(result.said)
    said = loads(result.stdout)
    if isinstance(said, dict) and "error" in said:
        raise Refused(str(said["error"]))
    return decode(Answer, said)


def _failed(one: Installed, status: Literal["failed", "timed-out"], why: str) -> Ran:
    name = one.name[:80]
    run = PluginRun(name=name, distribution=one.distribution, version=one.version, status=status, reason=why)
    reason: Reason = "timed-out" if status == "timed-out" else "crashed"
    gap = Gap(fact=f"plugins.{name}", reason=reason, detail=f"the plugin {name}: {why}", source=one.distribution)
    return Ran(runs=(run,), gaps=(gap,))


def _outcome(one: Installed, outcome: Outcome, names: set[str]) -> Outcome:
    if outcome.id not in names or outcome.layer not in LAYERS:
        raise Refused(f"it speaks of a check {outcome.id!r:.80} that it does not declare")
    return replace(outcome, id=f"{one.name}/{outcome.id}", reason=outcome.reason[:TEXT])


def _finding(one: Installed, finding: Finding, names: set[str]) -> Finding:
    """Its own finding: below its name, a root, of bounded texts."""
    if finding.id not in names or finding.layer not in LAYERS:
        raise Refused(f"it speaks of a check {finding.id!r:.80} that it does not declare")
    for remedy in finding.remedies:
        if remedy.action not in BUILDERS:
            raise Refused(f"{finding.id}: there is no action {remedy.action!r:.80}")
    return replace(
        finding,
        id=f"{one.name}/{finding.id}",
        title=finding.title[:TEXT],
        detail=finding.detail[:TEXT],
        values={name[:80]: value[:TEXT] for name, value in list(finding.values.items())[:40]},
        evidence=tuple(map(_evidence, finding.evidence[:40])),
        remedies=tuple(map(_remedy, finding.remedies[:5])),
        root=True,
        explained_by=None,
    )


def _evidence(said: Evidence) -> Evidence:
    return Evidence(fact=said.fact[:80], value=said.value[:TEXT], source=said.source[:TEXT], quote=said.quote[:TEXT])


def _remedy(said: Remedy) -> Remedy:
    details = {name[:80]: value[:TEXT] for name, value in list(said.details.items())[:20]}
    return Remedy(action=said.action, details=details, text=said.text[:TEXT])

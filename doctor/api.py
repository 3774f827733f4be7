"""The Python interface: `from doctor import compare, examine, judge, plan`.

Quiet, without side effects, typed. What is named in `__all__` of the package `doctor` is stable; everything else may
change.

>>> from doctor import examine
>>> report = examine(probe=False)                       # this process's own Python
>>> report = examine(evidence={"ticket.txt": "…"})      # a pasted text
>>> report.verdict, [finding.id for finding in report.findings]      # doctest: +SKIP
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Literal

from doctor.model.compare import Comparison
from doctor.model.fix import Plan
from doctor.model.report import Report
from doctor.model.request import Request

Shell = Literal["sh", "fish", "powershell", "cmd"]


def examine(
    *,
    python: str | PathLike[str] | None = None,
    evidence: str | Mapping[str, str | bytes] | None = None,
    probe: bool = True,
    devices: Iterable[str] = (),
    only: Iterable[str] = (),
    require: Iterable[str] = (),
    as_of: str | None = None,
    timeout_s: float | None = None,
    time_limit_s: float | None = None,
) -> Report:
    """Examine an environment, or what was said of one.

    `python`: a program, an environment's folder or "kernel:NAME"; by default the Python that runs this code. torch is
    imported in a child process, never in this one. `evidence`: a text, or texts by name, all of one machine; then
    nothing of this machine is looked at. `probe=False` computes nothing on the devices, and takes hardly longer than
    the child's `import torch`. `require`: what must hold, such as "torch>=2.5" or "cuda>=1" (`torchdoctor help
    requirements`); what does not is a fault. `timeout_s` limits each stage of a child, `time_limit_s` the whole. Never
    raises for anything that the machine or the evidence does; ValueError for arguments that make no sense.
    """
    only = tuple(only)
    _check(only=only)
    return _run(
        Request(
            python=None if evidence is not None else fspath(python) if python is not None else sys.executable,
            evidence=_texts(evidence),
            probe=probe,
            devices=tuple(devices),
            only=only,
            require=_demands(require),
            as_of=as_of,
            limit_s=_positive("timeout_s", timeout_s),
            run_limit_s=_positive("time_limit_s", time_limit_s),
        )
    )


def judge(
    stated: str | bytes | Mapping[str, object],
    *,
    evidence: str | Mapping[str, str | bytes] | None = None,
    as_of: str | None = None,
) -> Report:
    """The verdict on facts that somebody read and states (docs/api.md, «Stated facts»), alone or in addition to the
    text that they were read from, which they overrule. ValueError where they are not what they should be."""
    from doctor.evidence.stated import parse

    return _run(Request(stated=parse(stated), evidence=_texts(evidence), as_of=as_of))


def plan(report: Report, *, tool: str | None = None, shell: Shell | None = None) -> Plan:
    """The fixes of a report for another tool (pip, uv, conda, …) or shell than the report's own `plan` is for. Changes
    nothing. ValueError for a tool that does not exist."""
    from doctor.fixes.plan import plan as planned

    check_tool(tool)
    return planned(report.findings, report.facts, tool=tool, shell=shell)


def compare(
    good: Report | str | bytes,
    bad: Report | str | bytes,
    *more: Report | str | bytes,
    names: Iterable[str] | None = None,
) -> Comparison:
    """What differs between machines, and which difference explains what is wrong with one of them: its finding is gone
    when it is judged again with another one's value. Each machine is a report of `examine`, or a text: the JSON of a
    report, a ticket, any evidence. `names`: what to call them, one each. ValueError for a text that cannot be compared
    (a newer schema, one that is cut short, one that says nothing of a machine)."""
    from doctor.comparison import compare as compared
    from doctor.comparison.refusals import says_nothing
    from doctor.evidence.refusals import refusal

    sources = (good, bad, *more)
    called = tuple(names) if names is not None else tuple(f"machine {n}" for n in range(1, len(sources) + 1))
    if len(called) != len(sources):
        raise ValueError(f"there are {len(called)} names for {len(sources)} machines")
    reports = []
    for name, source in zip(called, sources, strict=True):
        if isinstance(source, Report):
            reports.append(source)
            continue
        data = source.encode("utf-8", "replace") if isinstance(source, str) else source
        report = None if (why := refusal(data)) else _run(Request(evidence=((name, data),)))
        why = why or (says_nothing(report) if report else None)
        if report is None or why:
            raise ValueError(f"cannot compare {name}: {why}")
        reports.append(report)
    return compared(reports, called)


def check_tool(tool: str | None) -> None:
    """ValueError where no fix can be spelled for that tool; None is the environment's own."""
    from doctor.fixes import tools

    if tool is not None and tool not in tools.names():
        raise ValueError(f"there is no tool {tool!r}: one of {', '.join(tools.names())}")


def _run(request: Request) -> Report:
    from doctor.pipeline import examine

    return examine(request)


def _texts(evidence: str | Mapping[str, str | bytes] | None) -> tuple[tuple[str, bytes], ...]:
    if evidence is None:
        return ()
    named = {"text": evidence} if isinstance(evidence, str) else evidence
    from doctor.decode import encoded

    return tuple((name, encoded(text) if isinstance(text, str) else text) for name, text in named.items())


def _check(*, only: tuple[str, ...]) -> None:
    if only:
        from doctor.checks import check_of

        if unknown := next((id for id in only if check_of(id) is None), None):
            raise ValueError(f"there is no diagnosis {unknown!r}")


def _demands(required: Iterable[str]) -> tuple[str, ...]:
    if not required:  # what judges them is not loaded before the child starts
        return ()
    from doctor.checks._required import demands

    return demands(required)


def _positive(name: str, value: float | None) -> float | None:
    if value is not None and not value > 0:
        raise ValueError(f"{name} is not above 0")
    return value

"""The part of a ticket that a machine reads back: the facts of a report as one JSON object between two marks, small
enough for an issue. doctor/evidence/own_report.py reads it.

It is a report of schema "1" without what follows from its facts: fields that have their default are left out, so are
outcomes, hypotheses and the plan. Where it would be too long, the facts that least decide anything go first (LEFT_OUT),
each with a gap that says so: what was left out is not known to whoever reads it, never absent.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doctor.decode import name_of
from doctor.model.facts import Facts, Gap, ProbeResult, Torch
from doctor.model.report import Report
from doctor.reports.json import encode
from doctor.reports.sinks import json_text

MARK = "<!-- torchdoctor:v1 -->"
BEGIN = "<!-- torchdoctor:v1 ticket -->"  # the first line of a ticket: what stands before it is not ours
SIZE = 20_000  # characters, all of them ASCII
_TEXT = 2000  # characters of one text, of those that are long


def made(report: Report, *, size: int = SIZE) -> tuple[str, tuple[str, ...]]:
    """The JSON object, a line for each part, and the dotted facts that were left out for its size."""
    facts, left_out = report.facts, list[str]()
    text = _text(report, facts, left_out)
    for names, shrink in LEFT_OUT:
        if len(text) <= size:
            break
        smaller = shrink(facts)
        if smaller != facts:
            gaps = (Gap(fact=n, reason="not-in-evidence", detail="left out of the ticket", source="ticket")
                    for n in names if _is_gone(smaller, n))  # fmt: skip
            facts = dataclasses.replace(smaller, gaps=(*smaller.gaps, *gaps))
            left_out += [n for n in names if n not in left_out]
            text = _text(report, facts, left_out)
    if len(text) > size:
        left_out = ["facts"]
        text = _text(report, Facts(), left_out)  # no facts at all: whoever reads it goes by the text
    return text, tuple(left_out)


def _text(report: Report, facts: Facts, left_out: list[str]) -> str:
    findings = [
        {"id": f.id, "layer": f.layer, "severity": f.severity, "root": f.root, "confidence": f.confidence}
        for f in report.findings[:40]
    ]
    head: dict[str, Any] = {
        "schema": report.schema, "tool": report.tool, "taken_at": report.taken_at, "verdict": report.verdict,
        "limits": list(report.limits[:40]), "findings": findings, "redacted": report.redacted, "left_out": left_out,
    }  # fmt: skip
    lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in head.items()]
    parts = [f"{json.dumps(name)}: {_line(value)}" for name, value in sparse(facts).items()]
    return "{\n" + ",\n".join(lines) + ',\n"facts": {\n' + ",\n".join(parts) + "\n}\n}"


def _line(value: Any) -> str:
    """One line of JSON, in which nothing means anything to Markdown, HTML or a CI: only texts hold these characters."""
    text = json_text(json.dumps(value, separators=(",", ":"), allow_nan=False))
    return text.replace("`", "\\u0060").replace("<", "\\u003c").replace("~~~", "~\\u007e~")


def sparse(value: object) -> Any:
    """As reports/json.py encodes it, without the fields that have their default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: sparse(one) for name, one in _said(value)}
    if isinstance(value, Mapping):
        return {str(key): sparse(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (tuple, list)):
        return [sparse(one) for one in value]
    return encode(value)


def _said(value: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(value):
        one = getattr(value, field.name)
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        if default is dataclasses.MISSING or one != default or type(one) is not type(default):
            yield name_of(field), one


def _is_gone(facts: Facts, name: str) -> bool:
    """Whether a dotted fact has no value any more."""
    value: Any = facts
    for part in name.split("."):
        value = getattr(value, part, None)
    return value is None


# ---- what goes first


def _without_origins(facts: Facts) -> Facts:
    return dataclasses.replace(facts, origins={})


def _without_quotes(facts: Facts) -> Facts:
    return dataclasses.replace(
        facts, origins={name: dataclasses.replace(o, quote="") for name, o in facts.origins.items()}
    )


def _without_measurements(facts: Facts) -> Facts:
    """How a probe ended stays, and the last lines that it said."""

    def short(probe: ProbeResult) -> ProbeResult:
        return dataclasses.replace(probe, stderr_tail=probe.stderr_tail[-300:])

    return dataclasses.replace(facts, probes=facts.probes and tuple(short(p) for p in facts.probes))


def _without(group: str, *names: str) -> Callable[[Facts], Facts]:
    def shrink(facts: Facts) -> Facts:
        value: Any = getattr(facts, group)
        if not dataclasses.is_dataclass(value):  # absent, or not known
            return facts
        smaller: dict[str, Any] = {group: dataclasses.replace(value, **dict.fromkeys(names))}  # type: ignore[type-var]
        return dataclasses.replace(facts, **smaller)

    return shrink


def _short_gaps(facts: Facts) -> Facts:
    """A gap without its sentence: the reason stays."""
    return dataclasses.replace(facts, gaps=tuple(dataclasses.replace(g, detail="", source="") for g in facts.gaps))


def _short_texts(facts: Facts) -> Facts:
    """Long messages lose their middle. The end of a traceback says what it was."""
    errors = tuple(dataclasses.replace(e, text=_shortened(e.text)) for e in facts.errors)
    torch = facts.torch
    if isinstance(torch, Torch) and torch.import_failure:
        failure = torch.import_failure
        failure = dataclasses.replace(
            failure, traceback=_shortened(failure.traceback), message=_shortened(failure.message)
        )
        torch = dataclasses.replace(torch, import_failure=failure)
    probes = facts.probes and tuple(dataclasses.replace(p, reason=_shortened(p.reason)) for p in facts.probes)
    return dataclasses.replace(facts, errors=errors, torch=torch, probes=probes)


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[: _TEXT // 4]} ... {text[-_TEXT * 3 // 4 :]}"


def _package_names(facts: Facts) -> Facts:
    """Packages with name, version and number of copies."""
    if facts.packages is None:
        return facts
    return dataclasses.replace(
        facts, packages=tuple(dataclasses.replace(p, path=None, installer=None, requires=()) for p in facts.packages)
    )


LEFT_OUT: tuple[tuple[tuple[str, ...], Callable[[Facts], Facts]], ...] = (
    (("origins.quote",), _without_quotes),
    (("origins",), _without_origins),
    (("gaps.detail",), _short_gaps),
    (("probes.stderr_tail",), _without_measurements),
    (("interpreter.sys_path", "interpreter.platform_tag"), _without("interpreter", "sys_path", "platform_tag")),
    (("torch.libraries", "torch.requires"), _without("torch", "libraries", "requires")),
    (("packages.path", "packages.installer", "packages.requires"), _package_names),
    (("errors.text", "torch.import_failure.traceback"), _short_texts),
    (("torch.loaded_libraries", "torch.leftovers", "torch.missing_files"),
     _without("torch", "loaded_libraries", "leftovers", "missing_files")),
    (("torch.warnings",), _without("torch", "warnings")),
    (("host.cpu_flags", "host.tools"), _without("host", "cpu_flags", "tools")),
    (("nvidia.packages", "nvidia.libcuda_elsewhere"), _without("nvidia", "packages", "libcuda_elsewhere")),
    (("probes",), lambda facts: dataclasses.replace(facts, probes=None)),
    (("environ",), lambda facts: dataclasses.replace(facts, environ=None)),
    (("packages",), lambda facts: dataclasses.replace(facts, packages=None)),
)  # fmt: skip

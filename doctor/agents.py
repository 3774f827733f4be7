"""The tools that agents call: `torchdoctor mcp` serves them over the Model Context Protocol, by its official SDK.

All are read-only: they look, judge and plan; none runs a command of a plan. Every text that goes in is untrusted
evidence, and every answer is redacted as JSON reports are.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from doctor import __version__
from doctor.model.finding import Finding
from doctor.model.fix import Fix
from doctor.model.report import Report
from doctor.model.request import Request

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = """\
torchdoctor says why PyTorch does not use a machine as it should, and which commands fix it.
check: this machine, or a pasted ticket. judge: facts that you read yourself, each with its quote: use it where a ticket
is prose. plan: the commands for one tool. compare: why it works on one machine and not on another. ticket: what an
issue needs, as Markdown. explain: one diagnosis, erratum or error line. A verdict of "healthy" is proven, "unknown"
means that something is unexplained: ask the first of `questions` next. Nothing here changes the machine; show the
commands of a plan to the user before anybody runs them."""


def server() -> MCPServer[Any]:
    """The server with its tools. ImportError where the extra `mcp` is not installed."""
    from mcp.server.mcpserver import MCPServer
    from mcp_types import ToolAnnotations

    from doctor.fixes import tools

    made: MCPServer[Any] = MCPServer("torchdoctor", version=__version__, instructions=INSTRUCTIONS, log_level="ERROR")
    for function in (check, judge, plan, compare, ticket, explain):
        said = inspect.cleandoc(function.__doc__ or "").replace("{tools}", ", ".join(tools.names()))
        hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
        made.tool(description=said, annotations=hints)(function)
    return made


def check(
    text: str | None = None, python: str | None = None, probe: bool = True, require: list[str] | None = None
) -> dict[str, Any]:
    """Examine this machine's PyTorch, or a pasted ticket, and name the root cause.

    text: a ticket (collect_env, nvidia-smi, a traceback, an install log, prose, or all in one); without it, this
    machine is examined. python: the Python or environment to examine on this machine (default: as `torchdoctor check`
    chooses). probe: also compute on each device (some seconds); without it nothing is proven. require: what must hold,
    such as ["torch>=2.5", "cuda>=1", "driver>=550", "speed>=0.8"]; what does not is a fault, `requirement-unmet`.
    """
    from doctor.checks._required import demands

    try:
        required = demands(require or ())
    except ValueError as error:
        raise _refused(str(error)) from None
    live = python if text is None else None
    return _told(_examined(Request(evidence=_ticket(text), python=live, probe=probe, require=required)))


def judge(stated: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    """The accounted verdict on facts that you read, alone or over the text that you read them from.

    stated: {"schema": "facts-1", "facts": [{"fact": "torch.version", "value": "2.6.0+cu124", "quote": "the words it was
    read from"}, ...], "messages": ["error line, verbatim", ...]}. `fact` is a dotted name of the report schema under
    `facts`: fields of host, interpreter, torch, nvidia, amd, intel, metal; gpus ([{"vendor": "nvidia", "name": "..."}])
    and packages as a whole; environ.NAME. {"absent": true} says that somebody looked and it is not there; leave out
    what is not known. A wrong name or type is refused with the reason.
    """
    from doctor.evidence.stated import parse

    try:
        said = parse(stated)
    except ValueError as error:
        raise _refused(f"stated: {error}") from None
    return _told(_examined(Request(stated=said, evidence=_ticket(text))))


def plan(tool: str | None = None, text: str | None = None, python: str | None = None) -> dict[str, Any]:
    """The commands that fix what `check` finds, for one tool ({tools}) or the environment's own. They are only
    returned, never run."""
    from doctor.api import check_tool

    try:
        check_tool(tool)
    except ValueError as error:
        raise _refused(str(error)) from None
    report = _examined(Request(evidence=_ticket(text), python=python if text is None else None, tool=tool))
    return {"verdict": report.verdict, "fixes": [_fix(fix) for fix in report.plan.fixes],
            "unfixed": [{"finding": id, "why": why} for id, why in report.plan.unfixed]}  # fmt: skip


def compare(good: str, bad: str | None = None, more: list[str] | None = None) -> dict[str, Any]:
    """Why it works on one machine and not on another: what differs, those differences first that explain a finding
    (judged again with the other machine's value, it is gone).

    good, bad, more: texts, each of one machine: the JSON of a report (torchdoctor check --json), a ticket, or any other
    evidence. Without `bad`, `good` is compared with this machine. The machines are called good, bad, machine 3, ….
    """
    from doctor.api import compare as compared
    from doctor.redaction.report import comparison_redaction
    from doctor.reports.json import encode

    texts: list[Report | str] = [good, *([bad] if bad is not None else []), *(more or [])]
    names = ["good", *(["bad"] if bad is not None else []), *(f"machine {n}" for n in range(3, 3 + len(more or [])))]
    live = len(texts) == 1
    if live:
        from doctor.pipeline import examine

        texts.append(examine(Request()))
        names.append("this machine")
    try:
        comparison = compared(texts[0], texts[1], *texts[2:], names=names)
    except ValueError as error:
        raise _refused(str(error)) from None
    told: dict[str, Any] = encode(comparison_redaction(comparison, names=_own_names() if live else ())[0])
    told["differences"] = [one for one in told["differences"] if one["rank"] != "incidental"]
    return told


def ticket(text: str | None = None, python: str | None = None, probe: bool = True) -> str:
    """What a maintainer asks for, as Markdown for an issue: verdict, findings, facts, and a block that `check` reads
    back. Of this machine, or of a pasted text. Nothing is sent; show it to the user before it is posted.

    text, python, probe: as in `check`.
    """
    from doctor.reports import markdown

    return markdown.render(
        _examined(Request(evidence=_ticket(text), python=python if text is None else None, probe=probe))
    )


def explain(what: str) -> dict[str, Any]:
    """What a diagnosis (its id), an erratum (its id) or a pasted error line means, what can be behind it, and what to
    ask."""
    from doctor.checks import check_of
    from doctor.knowledge import lookup

    if (known := check_of(what.strip())) is not None:
        return {"id": known.id, "layer": known.layer, "title": known.title, "page": known.docs}
    if (erratum := lookup.erratum_of(what.strip())) is not None:
        from doctor.reports import errata

        return {"id": erratum.id, "page": errata.markdown_page(erratum)}
    told = _told(_examined(Request(evidence=_ticket(what))))
    return {key: told[key] for key in ("symptoms", "hypotheses", "findings", "questions")}


def _ticket(text: str | None) -> tuple[tuple[str, bytes], ...]:
    """The evidence that a pasted text is; none without one, which means this machine."""
    from doctor.decode import encoded
    from doctor.evidence.refusals import refusal

    if text is None:
        return ()
    data = encoded(text)
    if why := refusal(data):
        raise _refused(f"text: {why}")
    return (("ticket", data),)


def _refused(why: str) -> Exception:
    """The SDK passes the words of its own ToolError on, and of no other exception."""
    from mcp.server.mcpserver.exceptions import ToolError

    return ToolError(why)


def _examined(request: Request) -> Report:
    from doctor.pipeline import examine
    from doctor.redaction.report import redaction

    report = examine(request)
    return redaction(report, names=_own_names() if report.facts.live else ()).report


def _own_names() -> tuple[tuple[str, str], ...]:
    from doctor.facts.own_names import names_of_this_machine

    return names_of_this_machine()


def _told(report: Report) -> dict[str, Any]:
    """What an agent needs of a report: no facts that no finding rests on."""
    return {
        "verdict": report.verdict,
        "unproven": list(report.unproven),
        "limits": list(report.limits),
        "findings": [_finding(finding) for finding in report.findings],
        "symptoms": [{"text": s.text, "explained_by": s.explained_by} for s in report.symptoms],
        "hypotheses": [{"id": h.id, "weight": h.weight, "would_settle": h.would_settle} for h in report.hypotheses[:5]],
        "questions": [{"text": question.text, "command": question.command} for question in report.questions[:3]],
        "fixes": [_fix(fix) for fix in report.plan.fixes],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id, "severity": finding.severity, "root": finding.root, "confidence": finding.confidence,
        "title": finding.title, "detail": finding.detail, "explained_by": finding.explained_by,
        "evidence": [{"fact": e.fact, "value": e.value, "source": e.source, "quote": e.quote} for e in
        finding.evidence],
    }  # fmt: skip


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "finding": fix.finding, "action": fix.action, "title": fix.title, "assumes": list(fix.assumes),
        "steps": [{"text": s.text, "argv": list(s.argv or ()), "needs_root": s.needs_root} for s in fix.steps],
        "alternatives": [other.title for other in fix.alternatives],
    }  # fmt: skip

"""The report for an issue tracker, which is also what `torchdoctor ticket` writes: what a maintainer wants to see,
short, with everything else folded, and a block that machines read back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from doctor.checks import Check, check_of
from doctor.model.finding import SAID_LAST, Finding
from doctor.model.fix import Fix
from doctor.model.report import Report
from doctor.model.values import dataclass
from doctor.reports import block as blocks
from doctor.reports import declared, env, findings, layers, remedies, verdict, words
from doctor.reports.sinks import markdown, markdown_cell, markdown_code, markdown_line
from doctor.reports.text import safe


def render(report: Report, *, block: bool = True) -> str:
    """GitHub-flavoured Markdown: verdict, findings, the layers, and folded what else is known and (`block`) the block
    (reports/block.py) that `check --from` reads back."""
    if not block:
        return _ticket(report, "") + "\n"
    machine = "\n".join(_machine(report))
    return f"{blocks.BEGIN}\n{_ticket(report, machine)}\n"


def render_page(check: Check) -> str:
    """The page of one diagnosis."""
    return "\n".join(_page(check)) + "\n"


def render_sections(title: str, sections: Mapping[str, str]) -> str:
    """A page of our own words: a title, and a paragraph under each head."""
    parts = [f"### {title}", *(f"**{head}**\n\n{_own(text)}" for head, text in sections.items())]
    return "\n\n".join(parts) + "\n"


# What goes first where the ticket would be too long; the verdict, the findings and the block stay.
LENGTH = 60_000  # characters: GitHub takes 65,536 of a body, and a form adds its own
_FINDING = 6000  # of one finding
_LINE = 1500  # of one text
_LESS = ("other tools", "not known", "collect_env", "layers", "findings")


@dataclass(frozen=True)
class _Part:
    """A piece of the ticket. The named ones may be left out where there is no room."""

    text: str
    name: str = ""


def _ticket(report: Report, tail: str) -> str:
    head = "\n".join(_head(report))
    parts = [
        *(_Part(text, "findings" if number else "") for number, text in enumerate(_findings(report))),
        _Part("\n".join(_left_over(report))),
        *(_Part(text, "findings") for text in _findings(report, last=True)),
        _Part("\n".join(_layers(report)), "layers"),
        _Part(_folded("What is installed, as collect_env prints it", _collect_env(report)), "collect_env"),
        _Part(_folded("What other tools' reports say beside that", _other_tools(report)), "other tools"),
        _Part(_folded("Where this comes from, and what is not known", _sources(report)), "not known"),
    ]
    left_out: list[str] = []
    for name in _LESS:
        if _length(head, parts, tail) <= LENGTH:
            break
        if any(part.name == name for part in parts):
            parts = [part for part in parts if part.name != name]
            left_out.append(name)
    if left_out:
        said = "left out, for a ticket has " + f"{LENGTH:,} characters: " + ", ".join(left_out)
        parts.append(_Part(f"({said}; `torchdoctor check --json` has all of it)\n"))
    return "\n".join((head, *(part.text for part in parts if part.text), tail))


def _length(head: str, parts: list[_Part], tail: str) -> int:
    return len(head) + len(tail) + sum(len(part.text) + 1 for part in parts) + 300  # the line that says what is missing


def _head(report: Report) -> Iterator[str]:
    """The verdict in at most five lines: what is wrong, what cures it or what to ask, and of what."""
    yield f"**{_words(verdict.sentence(report))}**"
    yield ""
    root = next((f for f in report.findings if f.root and f.severity == "fault"), None)
    fix = findings.fix_of(report, root) if root else None
    if fix:
        yield f"- to fix it: {_words(remedies.offer(fix))}"
    elif report.questions and report.is_open:
        question = report.questions[0]
        yield f"- to settle it: {_words(question.text)}" + (f" {_code(question.command)}" if question.command else "")
    yield f"- {_words(layers.in_a_line(report))}"
    redacted = ", names and secrets replaced" if report.redacted else ""
    yield f"- {markdown(report.tool)}, {markdown(report.taken_at)}{redacted}"
    yield ""


def _findings(report: Report, *, last: bool = False) -> Iterator[str]:
    for finding in report.findings:
        if finding.root and (finding.id in SAID_LAST) == last:
            text = "\n".join(_finding(report, finding))
            if len(text) > _FINDING:  # whole lines, and no fence that stays open
                text = "\n".join(_finding(report, replace(finding, evidence=finding.evidence[:5]), short=True))
            yield text + "\n"


def _layers(report: Report) -> Iterator[str]:
    yield "| | layer | |"
    yield "|---|---|---|"
    for row in layers.rows(report):
        yield f"| `{row.mark}` | {row.layer} | {_cell(row.text)} |"
    yield ""


def _folded(title: str, lines: Iterable[str]) -> str:
    inside = "\n".join(lines)
    return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>\n" if inside else ""


def _collect_env(report: Report) -> Iterator[str]:
    return _block(env.SHAPES["collect_env"](report), "", "text")


def _other_tools(report: Report) -> Iterator[str]:
    lines = (f"{name}: {_short(' '.join(value.split()))}" for name, value in env.others(report).items())
    return _block("\n".join(lines), "", "text")


def _sources(report: Report) -> Iterator[str]:
    where = ", ".join(report.target.evidence) or report.target.python or "not found"
    yield f"- target: {_code(where)} ({_words(report.target.reason)})"
    for limit in report.limits:
        yield f"- limited by {_code(limit)}"
    for reason in report.unproven:
        yield f"- not proven: {_words(reason)}"
    for outcome in report.outcomes:
        if outcome.status == "crashed":
            yield f"- check {_code(outcome.id)} crashed: {_words(outcome.reason)}"
    for gap in report.facts.gaps:
        yield f"- not known: {_code(gap.fact)}: {_words(gap.detail or gap.reason)}"


def _machine(report: Report) -> Iterator[str]:
    """The block that `check --from` reads back."""
    text, left_out = blocks.made(report)
    yield "<details><summary>For machines: <code>torchdoctor check --from</code> reads this back</summary>"
    yield ""
    if left_out:
        yield f"Left out of it, for its size: {', '.join(map(markdown_code, left_out))}."
        yield ""
    yield blocks.MARK
    yield "```json"
    yield text
    yield "```"
    yield blocks.MARK
    yield ""
    yield "</details>"


def _left_over(report: Report) -> Iterator[str]:
    left = verdict.left_over(report)
    for one in left:
        place = one.symptom.place
        yield f"### not explained: {_words(one.symptom.text)}" + (f" ({_words(place)})" if place else "")
        yield ""
        if one.hypotheses:
            yield from table(
                ("", "diagnosis", "why"),
                (
                    (verdict.how_likely(h), h.id, verdict.why(h, check.title if (check := check_of(h.id)) else ""))
                    for h in one.hypotheses
                ),
            )
            yield ""
    if report.questions and report.is_open:
        yield f"To settle it: {_words(report.questions[0].text)}"
        yield from _command(report.questions[0].command, "")
        yield ""


def _finding(report: Report, finding: Finding, *, short: bool = False) -> Iterator[str]:
    yield f"### {finding.severity}: `{finding.id}`" + (" (likely)" if finding.confidence == "likely" else "")
    yield ""
    yield _words(f"{finding.title} {finding.detail}" if finding.detail != finding.title else finding.title)
    if finding.evidence:
        yield ""
        yield from table(
            ("fact", "value", "source"), ((words.label(e.fact), e.value, e.source) for e in finding.evidence)
        )
    caused = findings.consequences(report, finding)
    if caused:
        yield ""
        yield "Because of it: " + ", ".join(_code(f.id) for f in caused)
    fix = findings.fix_of(report, finding)
    if fix and fix.finding == finding.id:
        yield ""
        yield from _fix(report, fix, short=short)


def _fix(report: Report, fix: Fix, *, short: bool) -> Iterator[str]:
    if not fix.steps:
        yield _words(fix.title)
    for number, step in enumerate(fix.steps[: 3 if short else None], 1):
        hints = remedies.hints(step)
        yield f"{number}. {_words(step.text)}" + (f" ({hints})" if hints else "")
        command = remedies.step_command(step, windows=report.facts.host.system == "windows")
        yield from _command(command or "", "   ")
    for assumed in fix.assumes:
        yield ""
        yield f"(assumes: {_words(assumed.rstrip('.'))})"
    for other in fix.alternatives[: 2 if short else None]:
        yield ""
        yield f"Or: {_words(remedies.offer(other))}"


def _command(text: str, indent: str) -> Iterator[str]:
    """A command is shown whole or not at all."""
    if text and len(text) <= _LINE:
        yield from _block(text, indent)
    elif text:
        yield f"{indent}(the command is too long for a ticket: `torchdoctor fix` prints it)"


def _short(text: str) -> str:
    """The beginning and the end of a long text, so that it leaves room for others."""
    return text if len(text) <= _LINE else f"{text[: _LINE * 2 // 3]} … {text[-_LINE // 3 :]}"


def _words(text: str) -> str:
    return markdown(_short(text))


def _cell(text: str) -> str:
    return markdown_cell(_short(text))


def _code(text: str) -> str:
    return markdown_code(_short(text))


def _page(check: Check) -> Iterator[str]:
    yield f"### `{check.id}`"
    yield ""
    yield f"{_own(check.title)} *({check.severity}, layer {check.layer})*"
    yield ""
    yield _own(declared.declared(check))
    for line in check.docs.splitlines():
        if line and not line.startswith(" "):
            yield ""
            yield f"**{line.strip()}**"
            yield ""
        elif line.strip().startswith("http"):
            yield f"- {_own(line.strip())}"
        else:
            yield _own(line.strip())


def table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """A Markdown table of foreign text."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(_cell(c) for c in row) + " |"


def _own(text: str) -> str:
    """Our own pages: addresses are links there, markup is text."""
    text = safe(text).replace("&", "&amp;")
    for character in "\\`*_[]<>":
        text = text.replace(character, "&lt;" if character == "<" else "\\" + character)
    return text.replace("@", "@\u200b")


def _block(text: str, indent: str, language: str = "sh") -> Iterator[str]:
    """A fence longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{indent}{fence}{language}"
    for line in text.splitlines():
        yield indent + markdown_line(line)
    yield indent + fence

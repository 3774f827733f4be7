"""The report as people read it: one line a layer, faults with evidence and fix, the verdict last.

Words and marks carry the meaning, colour only adds. Prose is wrapped at `width`; commands never are. lines.py is
what all of it is made of, pages.py what is no report.
"""

from __future__ import annotations

from collections.abc import Iterable

from doctor.checks import check_of
from doctor.fixes import quoting
from doctor.knowledge import lookup
from doctor.model.finding import ONLY_TOLD, SAID_LAST, Evidence, Finding
from doctor.model.fix import Fix, Plan, Step
from doctor.model.report import Report
from doctor.reports import errata as errata_text
from doctor.reports import findings, layers, remedies, verdict, words
from doctor.reports.terminal.lines import Line, Lines, cell_len, plain, printed, prose, table
from doctor.reports.terminal.pages import in_full
from doctor.reports.text import headline, safe

_STYLES = {"ok": "green", "!!": "bold red", "!": "yellow", "^": "magenta", "?": "yellow", "-": "dim"}
_SEVERITIES = {"fault": ("FAULT", "bold red"), "warning": ("WARNING", "yellow"), "note": ("note", "cyan")}


def render(
    report: Report,
    *,
    color: bool = False,
    width: int = 80,
    verbose: bool = False,
    quiet: bool = False,
    errata: bool = False,
    headed: bool = False,
) -> str:
    """The whole report as text with a newline at the end; with escape sequences only if `color`. `errata`: all that is
    known to be broken here, in full. `headed`: its first line is on the screen already."""
    lines = _verdict(report, width) if quiet else _report(report, width, verbose, errata, headed)
    return printed(lines, color)


def render_plan(plan: Plan, *, color: bool = False, width: int = 80, windows: bool = False) -> str:
    """The plan of `torchdoctor fix`: every fix with its steps and alternatives, then what no fix is known for."""
    return printed(_plan(plan, width, windows), color)


def _report(report: Report, width: int, verbose: bool, errata: bool, headed: bool) -> Lines:
    if not headed:
        yield from prose(headline(report.tool, report.target), width)
    if report.facts.as_of:
        yield from prose(f"judged by what existed on {report.facts.as_of}", width, style="dim")
    yield Line()
    for row in layers.rows(report):
        yield from _row(row, width)
    if not errata:
        yield from _errata_in_short(report, width)
    roots = [f for f in report.findings if f.root and f.id not in ONLY_TOLD]
    for finding in roots:
        if finding.severity == "fault":
            yield Line()
            yield from _fault(report, finding, width)
    for finding in roots:
        if finding.severity != "fault" and finding.id not in SAID_LAST:
            yield Line()
            yield from _remark(report, finding, width)
    if errata:
        yield from _errata_in_full(report, width)
    yield from _left_over(report, width)
    for finding in roots:
        if finding.id in SAID_LAST:
            yield Line()
            yield from _remark(report, finding, width)
    yield from _others(report, width)
    if verbose:
        yield from _looked(report, width)
    yield Line()
    yield from _verdict(report, width)


def _row(row: layers.Row, width: int) -> Lines:
    start = 18
    lines = list(prose(row.text, width, indent=start)) or [Line()]
    first = Line()
    first.append(f"{row.mark:>3}", style=_STYLES[row.mark])
    first.append(f"  {row.layer:<13}")
    first.append(lines[0].plain[start:])
    yield first
    yield from lines[1:]


def _errata_in_short(report: Report, width: int) -> Lines:
    """Three lines at most, after the layers: what is known of this release is no news each time."""
    start = 18
    mark = "!" if any(f.id in ONLY_TOLD and f.severity == "warning" for f in report.findings) else "-"
    for number, line in enumerate(errata_text.lines(report, width - start)):
        first = Line.assemble((f"{mark:>3}", _STYLES[mark]), "  errata       ") if number == 0 else Line(" " * start)
        yield first.append(safe(line))


def _errata_in_full(report: Report, width: int) -> Lines:
    """--errata: each one with what it means, what fixes it and how to work around it."""
    known = [e for one in errata_text.known(report) if (e := lookup.erratum_of(one.fact))]
    yield Line()
    if not known:
        yield plain("No erratum is known to hold here.")
        return
    serving = errata_text.serving(report.facts, known)
    yield from in_full([(f"Known errata ({len(known)})", [(e, serving.get(e.id, "")) for e in known])], width)


def _heading(finding: Finding) -> Line:
    word, style = _SEVERITIES[finding.severity]
    line = Line()
    line.append(word, style=style)
    line.append(f"  {safe(finding.id)}", style="bold")
    if finding.confidence == "likely":
        line.append("  (likely)")
    return line


def _fault(report: Report, finding: Finding, width: int) -> Lines:
    yield _heading(finding)
    yield from prose(finding.title, width, indent=2)
    if finding.detail and finding.detail != finding.title:
        yield from prose(finding.detail, width, indent=2)
    if finding.evidence:
        yield Line()
        yield from _evidence(finding.evidence, width)
    yield from _consequences(report, finding, width)
    yield from _settled_by(finding)
    yield Line()
    yield from _cure(report, finding, width)


def _settled_by(finding: Finding) -> Lines:
    """What would turn a likely finding into a certain one."""
    if command := finding.values.get("would_settle"):
        yield Line()
        yield plain("  To be certain first")
        yield plain(" " * 9 + command, style="bold")


def _evidence(evidence: Iterable[Evidence], width: int) -> Lines:
    """A table of what fits into the width; a long value (a quoted message) has lines of its own."""
    rows = [(words.label(e.fact), e.value, e.source) for e in evidence]
    short = list(rows)
    while short and sum(max(cell_len(row[i]) for row in short) for i in range(3)) + 12 > width:
        short.remove(max(short, key=lambda row: sum(map(cell_len, row))))
    yield from table(short)
    for label, value, source in (row for row in rows if row not in short):
        yield plain(f"    {label}" + (f"    {source}" if source else ""))
        yield from prose(value, width, indent=6)


def _consequences(report: Report, finding: Finding, width: int) -> Lines:
    caused = findings.consequences(report, finding)
    if not caused:
        return
    yield Line()
    yield plain("  Because of it")
    first = next((f.id for f in report.findings if f.root and f.severity == "fault"), None)
    goes = "goes away with the first fix" if finding.id == first else "goes away with this fix"
    for other in caused:
        text = list(prose(f"{other.id}: {other.title.rstrip('.')} ({goes})", width, indent=6))
        yield Line.assemble("   ", ("^", _STYLES["^"]), f"  {text[0].plain[6:]}")
        yield from text[1:]


def _cure(report: Report, finding: Finding, width: int) -> Lines:
    windows = report.facts.host.system == "windows"
    fix = findings.fix_of(report, finding)
    if fix is None:
        reason = next((why for id, why in report.plan.unfixed if id == finding.id), "")
        yield from prose(f"No fix is known{': ' + reason if reason else '.'}", width, indent=2)
        return
    if fix.finding != finding.id:
        yield from prose(f"The fix of {fix.finding} fixes this too.", width, indent=2)
        return
    yield plain("  To fix it")
    yield from _fix(fix, width, windows)


def _fix(fix: Fix, width: int, windows: bool) -> Lines:
    if not fix.steps:
        yield from prose(fix.title, width, indent=4)
    for number, step in enumerate(fix.steps, 1):
        yield from _step(number, step, width, windows)
    for assumed in fix.assumes:
        yield from prose(f"(assumes: {assumed.rstrip('.')})", width, indent=2, style="dim")
    for alternative in fix.alternatives:
        yield from prose(f"Or: {remedies.offer(alternative)}", width, indent=2)
        for assumed in alternative.assumes:
            if assumed not in fix.assumes:
                yield from prose(f"(assumes: {assumed.rstrip('.')})", width, indent=9, style="dim")
        for step in alternative.steps:
            if remedies.step_command(step):
                yield from _commands(step, windows, indent=9)
            elif remedies.says_more(step, alternative):
                yield from prose(step.text, width, indent=9)


def _step(number: int, step: Step, width: int, windows: bool) -> Lines:
    hints = remedies.hints(step)
    room = width - (len(hints) + 2 if hints else 0)
    lines = list(prose(step.text, room, indent=7)) or [Line(" " * 7)]
    first = Line(f"    {number:<3}{lines[0].plain[7:]}")
    if hints:
        first.append(" " * max(2, width - cell_len(first.plain) - len(hints)))
        first.append(hints, style="yellow")
    yield first
    yield from lines[1:]
    yield from _commands(step, windows, indent=9)


def _commands(step: Step, windows: bool, indent: int) -> Lines:
    """Never wrapped, never cut; a multi-line shell text keeps its lines."""
    for line in (remedies.step_command(step, windows=windows) or "").splitlines():
        yield plain(" " * indent + line, style="bold")


def _remark(report: Report, finding: Finding, width: int) -> Lines:
    """A warning or a note: what it is, and the first command, or what is to be done in words, nothing more."""
    yield _heading(finding)
    yield from prose(finding.detail or finding.title, width, indent=2)
    fix = findings.fix_of(report, finding)
    if fix and fix.finding == finding.id and not fix.steps:
        yield from prose(fix.title, width, indent=4)
    if finding.severity == "warning" and fix and fix.finding == finding.id:
        for step in fix.steps:
            if remedies.step_command(step) is None:
                yield from prose(step.text, width, indent=4)
            yield from _commands(step, report.facts.host.system == "windows", indent=4)


def _left_over(report: Report, width: int) -> Lines:
    """What nothing explains, what could be behind it, and what to ask."""
    for left in verdict.left_over(report):
        yield Line()
        place = left.symptom.place
        where = f" ({place})" if place else ""
        text = list(prose(f"{verdict.not_explained(left.symptom)}{where}", width, indent=3))
        yield Line.assemble((" ? ", "yellow"), text[0].plain[3:])
        yield from text[1:]
        known = [(h, check) for h in left.hypotheses if (check := check_of(h.id))]
        names = max((cell_len(h.id) for h, _ in known), default=0)
        for hypothesis, check in known:
            start = f"     {verdict.how_likely(hypothesis):8}  {hypothesis.id:{names}}  "
            lines = list(prose(verdict.why(hypothesis, check.title), width, indent=len(start)))
            yield Line.assemble(start, lines[0].plain[len(start) :])
            yield from lines[1:]
    if report.questions and report.is_open:
        first = report.questions[0]
        yield Line()
        yield plain("  To settle it")
        yield from prose(first.text, width, indent=4)
        if first.command:
            yield plain(" " * 9 + first.command, style="bold")


def _others(report: Report, width: int) -> Lines:
    if report.others:
        yield Line()
        yield plain("Also in the evidence, not judged")
        for other in report.others:
            yield from prose(f"{other.name}: {other.summary}", width, indent=2)
    broken = [o for o in report.outcomes if o.status == "crashed"]
    if broken:
        yield Line()
        for outcome in broken:
            yield from prose(f"The check {outcome.id} failed, a bug in torchdoctor: {outcome.reason}", width)


def _looked(report: Report, width: int) -> Lines:
    """--verbose: what was skipped and why, what is not known, and where each fact comes from."""
    skipped = [(o.id, o.reason) for o in report.outcomes if o.status == "skipped"]
    for title, rows in (
        ("Not judged", skipped),
        ("Not known", [(g.fact, g.detail or g.reason) for g in report.facts.gaps]),
        ("Sources", [(name, o.source) for name, o in sorted(report.facts.origins.items())]),
        ("Not understood", [("", line) for line in report.unread]),
    ):
        if rows:
            yield Line()
            yield plain(title)
            yield from table(rows, indent=2, gap=2)


def _verdict(report: Report, width: int) -> Lines:
    style = {"faulty": "bold red", "healthy": "green", "unknown": "yellow"}[report.verdict]
    sentence = verdict.sentence(report)
    duration = f"{report.duration_ms / 1000:.1f} s"
    wrong = [f for f in report.findings if f.root and f.severity != "note" and f.id not in ONLY_TOLD]
    more = [f"More: torchdoctor explain {f.id}" for f in wrong[:1]]
    if not wrong and report.hypotheses and report.verdict == "unknown":
        more = [f"More: torchdoctor explain {report.hypotheses[0].id}"]
    fixes = [fix for f in wrong if (fix := findings.fix_of(report, f))]
    if any(remedies.step_command(step) for fix in fixes for step in fix.steps):
        more.append(f"Commands only: torchdoctor fix --print-commands{_same_target(report)}")
    lines = list(prose(sentence, width, style=style))
    last = lines[-1]
    indent = 2 + cell_len(lines[0].plain)
    beside = len(lines) == 1 and bool(more) and indent + cell_len(more[0]) + len(duration) + 2 <= width
    if beside:
        last = Line.assemble((last.plain, style), "  ", more[0])
    if cell_len(last.plain) + len(duration) + 2 <= width:
        last = Line.assemble(last, " " * (width - cell_len(last.plain) - len(duration)), (duration, "dim"))
        duration = ""
    yield from lines[:-1]
    yield last
    for line in more[1:] if beside else more:
        yield Line(" " * (indent if beside else 2) + line)
    if duration:
        yield Line(duration.rjust(width), "dim")


def _same_target(report: Report) -> str:
    """The options that make another command look at the same machine; none where the search would find it again."""
    target = report.target
    windows = report.facts.host.system == "windows" and report.facts.live
    if target.evidence:
        options = [word for name in target.evidence for word in ("--from", "-" if name == "stdin" else name)]
    elif target.python and target.reason.startswith("--python"):
        options = ["--python", target.python]
    else:
        return ""
    return " " + safe(quoting.line(options, windows=windows))


def _plan(plan: Plan, width: int, windows: bool) -> Lines:
    if not plan.fixes and not plan.unfixed:
        yield Line("Nothing to fix.")
    for number, fix in enumerate(plan.fixes):
        if number:
            yield Line()
        yield Line.assemble((safe(fix.finding), "bold"))
        if [step.text.rstrip(".") for step in fix.steps] != [fix.title.rstrip(".")]:  # nothing is said twice
            yield from prose(fix.title, width, indent=2)
        if fix.steps:
            yield from _fix(fix, width, windows)
        if fix.also_cures:
            yield from prose(f"Also fixes: {', '.join(fix.also_cures)}", width, indent=2)
    for id, reason in plan.unfixed:
        yield Line()
        yield from prose(f"{id}: no fix is known{': ' + reason if reason else '.'}", width)

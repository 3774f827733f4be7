"""The report as people read it: one line a layer, faults with evidence and fix, the verdict last.

Words and marks carry the meaning, colour only adds. Prose is wrapped at `width`; commands never are. Foreign text is
only ever put into lines after `safe`, and never parsed as markup: it can neither be one nor move the cursor.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Iterator, Mapping

from doctor.checks import Check, check_of
from doctor.fixes import quoting
from doctor.knowledge import lookup
from doctor.knowledge.codes import Reading
from doctor.knowledge.errata import Erratum
from doctor.model.finding import ONLY_TOLD, Evidence, Finding
from doctor.model.fix import Fix, Plan, Step
from doctor.model.report import Report
from doctor.reports import errata as errata_text
from doctor.reports import summary
from doctor.reports.text import headline, safe

_STYLES = {"ok": "green", "!!": "bold red", "!": "yellow", "^": "magenta", "?": "yellow", "-": "dim"}
_SEVERITIES = {"fault": ("FAULT", "bold red"), "warning": ("WARNING", "yellow"), "note": ("note", "cyan")}
_CODES_IN_FULL = 3
_CAUSES_OF_A_CODE = 6


class Line:
    """A line of text and how its parts look. rich, which takes long to load, is asked only for colours."""

    def __init__(self, text: str = "", style: str = "") -> None:
        self.style = style
        self.parts = [(text, "")]

    @classmethod
    def assemble(cls, *parts: str | tuple[str, str] | Line) -> Line:
        line = cls()
        for part in parts:
            if isinstance(part, Line):
                line.parts += [(text, f"{part.style} {style}".strip()) for text, style in part.parts]
            else:
                line.append(*((part,) if isinstance(part, str) else part))
        return line

    def append(self, text: str, style: str = "") -> Line:
        self.parts.append((text, style))
        return self

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.parts)


Lines = Iterator[Line]


def cell_len(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from rich import cells

    return cells.cell_len(text)


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
    return _printed(lines, color)


def render_plan(plan: Plan, *, color: bool = False, width: int = 80, windows: bool = False) -> str:
    """The plan of `torchdoctor fix`: every fix with its steps and alternatives, then what no fix is known for."""
    return _printed(_plan(plan, width, windows), color)


def render_page(check: Check, *, color: bool = False, width: int = 80) -> str:
    """The page of `torchdoctor explain ID`."""
    return _printed(_page(check, width), color)


def render_sections(title: str, sections: Mapping[str, str], *, color: bool = False, width: int = 80) -> str:
    """A page of our own words: a title, and a paragraph under each head."""

    def lines() -> Lines:
        yield _text(title, style="bold")
        for head, text in sections.items():
            yield Line()
            yield _text(head, style="bold")
            yield from _prose(text, width, indent=4)

    return _printed(lines(), color)


def render_codes(readings: Iterable[Reading], *, color: bool = False, width: int = 80) -> str:
    """What a code can mean, as `torchdoctor explain` shows it: the likeliest in full, the others in a line each."""
    return _printed(_codes(tuple(readings), width), color)


def render_table(
    rows: Iterable[tuple[str, ...]],
    *,
    heads: tuple[str, ...] = (),
    color: bool = False,
    indent: int = 0,
    gap: int = 4,
    width: int | None = None,
    prose: int | None = None,
) -> str:
    """Columns of foreign text, as wide as they need to be; the last one is never cut. With a `width`, columns that do
    not fit go below their row, each with its head. With `prose`, the last column is wrapped at that width."""
    return _printed(_table(rows, heads=heads, indent=indent, gap=gap, width=width, prose=prose), color)


def _printed(lines: Iterable[Line], color: bool) -> str:
    if not color:
        return "".join(f"{line.plain.rstrip()}\n" for line in lines)
    from rich.console import Console
    from rich.text import Text

    file = io.StringIO()
    console = Console(
        file=file, force_terminal=True, color_system="standard", width=200, highlight=False, markup=False, emoji=False,
        legacy_windows=False,
    )  # fmt: skip
    for line in lines:
        text = Text.assemble(*line.parts, style=line.style)
        text.rstrip()
        console.print(text, soft_wrap=True)
    return file.getvalue()


def _text(text: str, style: str = "") -> Line:
    return Line(safe(text), style=style)


def _prose(text: str, width: int, *, indent: int = 0, style: str = "") -> Lines:
    """Wrapped at spaces; a word longer than the line (a path, a command) stays whole."""
    pad = " " * indent
    line = pad
    for word in safe(text).split():
        if line.strip() and cell_len(line) + 1 + cell_len(word) > width:
            yield Line(line, style=style)
            line = pad
        line += word if not line.strip() else f" {word}"
    if line.strip():
        yield Line(line, style=style)


def _wrapped(text: str, room: int) -> list[str]:
    return [line.plain for line in _prose(text, max(room, 20))] or [""]


def _table(
    rows: Iterable[tuple[str, ...]],
    *,
    heads: tuple[str, ...] = (),
    indent: int = 4,
    gap: int = 4,
    width: int | None = None,
    prose: int | None = None,
) -> Lines:
    cells = [tuple(safe(c) for c in row) for row in ((heads, *rows) if heads else rows)]
    if not cells:
        return
    widths = [max(cell_len(row[i]) for row in cells) for i in range(len(cells[0]))]
    kept = len(widths)
    while width and heads and kept > 1 and indent + sum(widths[:kept]) + gap * (kept - 1) > width:
        kept -= 1
    for number, row in enumerate(cells):
        line = Line(" " * indent, style="bold" if heads and number == 0 else "")
        before = indent + sum(widths[: kept - 1]) + gap * (kept - 1)
        shown, *more = [row[kept - 1]] if prose is None else _wrapped(row[kept - 1], prose - before)
        for i, cell in enumerate((*row[: kept - 1], shown)):
            last = i == kept - 1
            line.append(
                cell + ("" if last else " " * (widths[i] - cell_len(cell) + gap)), style="dim" if last and i > 1 else ""
            )
        yield line
        yield from (Line(" " * before + part, style="dim" if kept > 2 else "") for part in more)
        if width and number and (below := [f"{h}: {c}" if h else c for h, c in zip(cells[0], row, strict=True)][kept:]):
            said = "; ".join(text for text, cell in zip(below, row[kept:], strict=True) if cell)
            for part in textwrap.wrap(said, width - indent - 4, break_long_words=False, break_on_hyphens=False):
                yield Line(" " * (indent + 4) + part, style="dim")


def _report(report: Report, width: int, verbose: bool, errata: bool, headed: bool) -> Lines:
    if not headed:
        yield from _prose(headline(report.tool, report.target), width)
    if report.facts.as_of:
        yield from _prose(f"judged by what existed on {report.facts.as_of}", width, style="dim")
    yield Line()
    for row in summary.rows(report):
        yield from _row(row, width)
    if not errata:
        yield from _errata_in_short(report, width)
    roots = [f for f in report.findings if f.root and f.id not in ONLY_TOLD]
    for finding in roots:
        if finding.severity == "fault":
            yield Line()
            yield from _fault(report, finding, width)
    for finding in roots:
        if finding.severity != "fault":
            yield Line()
            yield from _remark(report, finding, width)
    if errata:
        yield from _errata_in_full(report, width)
    yield from _left_over(report, width)
    yield from _others(report, width)
    if verbose:
        yield from _looked(report, width)
    yield Line()
    yield from _verdict(report, width)


def _row(row: summary.Row, width: int) -> Lines:
    start = 18
    lines = list(_prose(row.text, width, indent=start)) or [Line()]
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
    for number, line in enumerate(summary.errata_lines(report, width - start)):
        first = Line.assemble((f"{mark:>3}", _STYLES[mark]), "  errata       ") if number == 0 else Line(" " * start)
        yield first.append(safe(line))


def _errata_in_full(report: Report, width: int) -> Lines:
    """--errata: each one with what it means, what fixes it and how to work around it."""
    known = [e for one in summary.errata(report) if (e := lookup.erratum_of(one.fact))]
    yield Line()
    if not known:
        yield _text("No erratum is known to hold here.")
        return
    serving = errata_text.serving(report.facts, known)
    yield from _sections([(f"Known errata ({len(known)})", [(e, serving.get(e.id, "")) for e in known])], width)


def render_erratum(erratum: Erratum, *, color: bool = False, width: int = 80) -> str:
    """The page of `torchdoctor explain ERRATUM-ID`."""
    return _printed(_erratum_page(erratum, width), color)


def render_errata(
    sections: Iterable[tuple[str, Iterable[tuple[Erratum, str]]]], *, color: bool = False, width: int = 80
) -> str:
    """Sections of errata in full, each erratum with a remark (""  for none)."""
    return _printed(_sections(sections, width), color)


def _sections(sections: Iterable[tuple[str, Iterable[tuple[Erratum, str]]]], width: int) -> Lines:
    for number, (heading, rows) in enumerate(sections):
        if number:
            yield Line()
        yield from _prose(heading, width, style="bold")
        for erratum, remark in rows:
            yield from _erratum(erratum, remark, width)


def _erratum(erratum: Erratum, remark: str, width: int) -> Lines:
    """One erratum: its id and title, what is seen, the release with the fix, the workaround, the source."""
    yield Line()
    yield Line.assemble("  ", (safe(erratum.id), "bold"), f"  ({erratum.kind}, {erratum.severity})")
    for line in (f"{erratum.title}.", erratum.symptom, errata_text.fix(erratum), remark):
        yield from _prose(line, width, indent=4)
    if erratum.workaround:
        yield from _prose(f"Workaround: {erratum.workaround}", width, indent=4)
    yield _text(f"    {erratum.sources[0]}", style="dim")


def _erratum_page(erratum: Erratum, width: int) -> Lines:
    yield Line.assemble((safe(erratum.id), "bold"), f"  ({erratum.kind}, {erratum.severity})")
    yield from _prose(f"{erratum.title}.", width)
    yield Line()
    yield from _table(errata_text.fields(erratum), indent=2, gap=2)
    for heading, text in (("Symptom", erratum.symptom), ("Workaround", erratum.workaround or "None is known.")):
        yield Line()
        yield _text(heading, style="bold")
        yield from _prose(text, width, indent=4)
    yield Line()
    yield _text("Sources", style="bold")
    for source in erratum.sources:
        yield _text(f"    {source}")


def _codes(readings: tuple[Reading, ...], width: int) -> Lines:
    alike: dict[tuple[str, tuple[str, ...]], list[Reading]] = {}  # CUDA's runtime and driver often say the same
    for reading in readings:
        alike.setdefault((reading.meaning, reading.causes), []).append(reading)
    groups = list(alike.values())
    for group in groups[:_CODES_IN_FULL]:
        yield from _code(group, width)
        yield Line()
    if rest := [reading for group in groups[_CODES_IN_FULL:] for reading in group]:
        yield Line("It is also")
        yield from _table(((reading.name, reading.of) for reading in rest), indent=2)
        yield Line()


def _code(alike: list[Reading], width: int) -> Lines:
    """Codes of the same meaning and causes."""
    for reading in alike:
        number = "" if reading.number is None else f"{_number(reading)}, "
        yield from _prose(f"{reading.name}: {number}{reading.of}", width, style="bold")
    first = alike[0]
    yield from _prose(first.meaning, width, indent=2)
    titles = [(id, check.title) for id in first.causes[:_CAUSES_OF_A_CODE] if (check := check_of(id))]
    if titles:
        yield Line("  It can come from")
        yield from _table(titles, indent=4, prose=width)
    yield from _prose(first.next, width, indent=2)
    if first.command:
        yield _text(f"    {first.command}")


def _number(reading: Reading) -> str:
    number = reading.number or 0
    return f"0x{number:08X}" if number > 0xFFFF else str(number)


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
    yield from _prose(finding.title, width, indent=2)
    if finding.detail and finding.detail != finding.title:
        yield from _prose(finding.detail, width, indent=2)
    if finding.evidence:
        yield Line()
        yield from _evidence(finding.evidence, width)
    yield from _consequences(report, finding, width)
    yield from _settled_by(finding)
    yield Line()
    yield from _cure(report, finding, width)


def _settled_by(finding: Finding) -> Lines:
    """What would make a conclusion certain."""
    if command := finding.values.get("would_settle"):
        yield Line()
        yield _text("  To be certain first")
        yield _text(" " * 9 + command, style="bold")


def _evidence(evidence: Iterable[Evidence], width: int) -> Lines:
    """A table of what fits into the width; a long value (a quoted message) has lines of its own."""
    rows = [(summary.label(e.fact), e.value, e.source) for e in evidence]
    short = list(rows)
    while short and sum(max(cell_len(row[i]) for row in short) for i in range(3)) + 12 > width:
        short.remove(max(short, key=lambda row: sum(map(cell_len, row))))
    yield from _table(short)
    for label, value, source in (row for row in rows if row not in short):
        yield _text(f"    {label}" + (f"    {source}" if source else ""))
        yield from _prose(value, width, indent=6)


def _consequences(report: Report, finding: Finding, width: int) -> Lines:
    caused = summary.consequences(report, finding)
    if not caused:
        return
    yield Line()
    yield _text("  Because of it")
    first = next((f.id for f in report.findings if f.root and f.severity == "fault"), None)
    goes = "goes away with the first fix" if finding.id == first else "goes away with this fix"
    for other in caused:
        text = list(_prose(f"{other.id}: {other.title.rstrip('.')} ({goes})", width, indent=6))
        yield Line.assemble("   ", ("^", _STYLES["^"]), f"  {text[0].plain[6:]}")
        yield from text[1:]


def _cure(report: Report, finding: Finding, width: int) -> Lines:
    windows = report.facts.host.system == "windows"
    fix = summary.fix_of(report, finding)
    if fix is None:
        reason = next((why for id, why in report.plan.unfixed if id == finding.id), "")
        yield from _prose(f"No fix is known{': ' + reason if reason else '.'}", width, indent=2)
        return
    if fix.finding != finding.id:
        yield from _prose(f"The fix of {fix.finding} fixes this too.", width, indent=2)
        return
    yield _text("  To fix it")
    yield from _fix(fix, width, windows)


def _fix(fix: Fix, width: int, windows: bool) -> Lines:
    if not fix.steps:
        yield from _prose(fix.title, width, indent=4)
    for number, step in enumerate(fix.steps, 1):
        yield from _step(number, step, width, windows)
    for assumed in fix.assumes:
        yield from _prose(f"(assumes: {assumed.rstrip('.')})", width, indent=2, style="dim")
    for alternative in fix.alternatives:
        yield from _prose(f"Or: {summary.offer(alternative)}", width, indent=2)
        for assumed in alternative.assumes:
            if assumed not in fix.assumes:
                yield from _prose(f"(assumes: {assumed.rstrip('.')})", width, indent=9, style="dim")
        for step in alternative.steps:
            if summary.step_command(step):
                yield from _commands(step, windows, indent=9)
            elif summary.says_more(step, alternative):
                yield from _prose(step.text, width, indent=9)


def _step(number: int, step: Step, width: int, windows: bool) -> Lines:
    hints = summary.hints(step)
    room = width - (len(hints) + 2 if hints else 0)
    lines = list(_prose(step.text, room, indent=7)) or [Line(" " * 7)]
    first = Line(f"    {number:<3}{lines[0].plain[7:]}")
    if hints:
        first.append(" " * max(2, width - cell_len(first.plain) - len(hints)))
        first.append(hints, style="yellow")
    yield first
    yield from lines[1:]
    yield from _commands(step, windows, indent=9)


def _commands(step: Step, windows: bool, indent: int) -> Lines:
    """Never wrapped, never cut; a multi-line shell text keeps its lines."""
    for line in (summary.step_command(step, windows=windows) or "").splitlines():
        yield _text(" " * indent + line, style="bold")


def _remark(report: Report, finding: Finding, width: int) -> Lines:
    """A warning or a note: what it is, and the first command, or what is to be done in words, nothing more."""
    yield _heading(finding)
    yield from _prose(finding.detail or finding.title, width, indent=2)
    fix = summary.fix_of(report, finding)
    if fix and fix.finding == finding.id and not fix.steps:
        yield from _prose(fix.title, width, indent=4)
    if finding.severity == "warning" and fix and fix.finding == finding.id:
        for step in fix.steps:
            if summary.step_command(step) is None:
                yield from _prose(step.text, width, indent=4)
            yield from _commands(step, report.facts.host.system == "windows", indent=4)


def _left_over(report: Report, width: int) -> Lines:
    """What nothing explains, what could be behind it, and what to ask."""
    for left in summary.left_over(report):
        yield Line()
        place = left.symptom.place
        where = f" ({place})" if place else ""
        text = list(_prose(f"{summary.not_explained(left.symptom)}{where}", width, indent=3))
        yield Line.assemble((" ? ", "yellow"), text[0].plain[3:])
        yield from text[1:]
        known = [(h, check) for h in left.hypotheses if (check := check_of(h.id))]
        names = max((cell_len(h.id) for h, _ in known), default=0)
        for hypothesis, check in known:
            start = f"     {summary.how_likely(hypothesis):8}  {hypothesis.id:{names}}  "
            lines = list(_prose(summary.why(hypothesis, check.title), width, indent=len(start)))
            yield Line.assemble(start, lines[0].plain[len(start) :])
            yield from lines[1:]
    if report.questions and report.is_open:
        first = report.questions[0]
        yield Line()
        yield _text("  To settle it")
        yield from _prose(first.text, width, indent=4)
        if first.command:
            yield _text(" " * 9 + first.command, style="bold")


def _others(report: Report, width: int) -> Lines:
    if report.others:
        yield Line()
        yield _text("Also in the evidence, not judged")
        for other in report.others:
            yield from _prose(f"{other.name}: {other.summary}", width, indent=2)
    broken = [o for o in report.outcomes if o.status == "crashed"]
    if broken:
        yield Line()
        for outcome in broken:
            yield from _prose(f"The check {outcome.id} failed, a bug in torchdoctor: {outcome.reason}", width)


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
            yield _text(title)
            yield from _table(rows, indent=2, gap=2)


def _verdict(report: Report, width: int) -> Lines:
    style = {"faulty": "bold red", "healthy": "green", "unknown": "yellow"}[report.verdict]
    sentence = summary.verdict(report)
    duration = f"{report.duration_ms / 1000:.1f} s"
    wrong = [f for f in report.findings if f.root and f.severity != "note" and f.id not in ONLY_TOLD]
    more = [f"More: torchdoctor explain {f.id}" for f in wrong[:1]]
    if not wrong and report.hypotheses and report.verdict == "unknown":
        more = [f"More: torchdoctor explain {report.hypotheses[0].id}"]
    fixes = [fix for f in wrong if (fix := summary.fix_of(report, f))]
    if any(summary.step_command(step) for fix in fixes for step in fix.steps):
        more.append(f"Commands only: torchdoctor fix --print-commands{_same_target(report)}")
    lines = list(_prose(sentence, width, style=style))
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
            yield from _prose(fix.title, width, indent=2)
        if fix.steps:
            yield from _fix(fix, width, windows)
        if fix.also_cures:
            yield from _prose(f"Also fixes: {', '.join(fix.also_cures)}", width, indent=2)
    for id, reason in plan.unfixed:
        yield Line()
        yield from _prose(f"{id}: no fix is known{': ' + reason if reason else '.'}", width)


def _page(check: Check, width: int) -> Lines:
    yield Line.assemble((check.id, "bold"), f"  ({check.severity}, layer {check.layer})")
    yield from _prose(check.title, width, indent=2)
    yield from _prose(summary.declared(check), width, indent=2, style="dim")
    yield Line()
    yield from _docs(check.docs, width)


def _docs(docs: str, width: int) -> Lines:
    """The sections of a page: heads, and below each of them paragraphs; references stand a line each."""
    head, paragraph = "", ""
    for line in docs.splitlines():
        if line.startswith(" ") and head != "References":
            paragraph += f" {line}"
            continue
        yield from _prose(paragraph, width, indent=4)
        paragraph = ""
        if line.startswith(" "):
            yield from _prose(line, width, indent=4)
        else:
            head = line or head
            yield _text(line, style="bold" if line else "")
    yield from _prose(paragraph, width, indent=4)

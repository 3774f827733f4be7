"""`torchdoctor explain`: the page of a diagnosis, a fleet's finding or an erratum, the list of all, or what a code, a
pasted line or a traceback can mean."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import click

from doctor.cli import output
from doctor.cli.codes import NO_VERDICT
from doctor.cli.options import completed_by, unknown_id

if TYPE_CHECKING:
    from doctor.checks import Check
    from doctor.knowledge.codes import Reading
    from doctor.knowledge.messages import ErrorPattern
    from doctor.model.facts import ErrorText, Facts
    from doctor.model.finding import Severity
    from doctor.model.symptom import Hypothesis, Question, Symptom
    from doctor.plugins.host import Described

_Harmless: TypeAlias = "tuple[ErrorText, ErrorPattern]"
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_NEGATIVE = re.compile(r"-(?:0[xX][0-9A-Fa-f]+|\d+)\Z")
_LONGEST_TEXT = 100_000  # characters of pasted text that are read: more is a ticket, for check --from
_CAUSES_SHOWN = 8


# -9 is a code, not an option
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("what", nargs=-1, shell_complete=completed_by("ids_and_errata"))
@click.option("--list", "listed", is_flag=True, help="All diagnoses, in causal order.")
@click.option("--format", "format", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
def command(what: tuple[str, ...], listed: bool, format: str, as_json: bool, color: str) -> int:
    """Explain a diagnosis, an erratum, an error code, or a pasted error message.

    \b
    torchdoctor explain gpu-hidden
    torchdoctor explain fleet-link-slow
    torchdoctor explain 209
    torchdoctor explain "Xid 79"
    torchdoctor explain CUDNN_STATUS_NOT_INITIALIZED
    torchdoctor explain "CUDA error: no kernel image is available for execution"
    torchdoctor explain mps-sdpa-noncontiguous-2-8
    torchdoctor explain --list

    WHAT is an id, a number or name of an error, or text such as a traceback; «-» reads the text from stdin.
    """
    from doctor.checks import all_checks

    for word in what:
        if word[:2] == "--" or (len(what) == 1 and word[:1] == "-" != word and not _NEGATIVE.match(word)):
            raise click.NoSuchOption(word)
    format = "json" if as_json else format
    text = sys.stdin.buffer.read(1 << 20).decode("utf-8", "replace") if what == ("-",) else " ".join(what)
    if listed:
        output.emit(_pages_or_list(all_checks(), format, color, full=False))
        return 0
    if not text.strip():
        raise click.UsageError("name a diagnosis, paste an error line, or ask for --list.")
    text = text.strip()
    checks = [c for c in all_checks() if c.id == text] or _of_plugins(text)
    if not checks and (page := _erratum(text, format, color) or _of_fleet(text, format, color)) is not None:
        output.emit(page)
        return 0
    if not checks and _ID.match(text) and "-" in text:
        raise click.UsageError(unknown_id(text, _all_ids()))
    if checks:
        output.emit(_pages_or_list(checks, format, color, full=True))
        return 0
    return _explain_text(text, format, color)


def _of_plugins(text: str) -> list[Check]:
    """The check of an installed plugin, by its id below the plugin's name ("acme/old-image")."""
    name, slash, id = text.partition("/")
    if not slash or not _ID.match(name) or not _ID.match(id):
        return []
    from doctor.decode import Refused
    from doctor.plugins.installed import installed
    from doctor.plugins.run import describe

    for one in installed():
        if one.name == name:
            try:
                described = describe(one).checks
            except Refused as error:
                raise click.UsageError(f"the plugin {name} does not answer: {error}.") from None
            if not (found := [_as_check(text, c) for c in described if c.id == id]):
                raise click.UsageError(unknown_id(text, [f"{name}/{c.id}" for c in described]))
            return found
    return []


def _as_check(id: str, described: Described) -> Check:
    from doctor.checks import Check

    severities: dict[str, Severity] = {"fault": "fault", "warning": "warning"}
    severity = severities.get(described.severity, "note")
    return Check(severity=severity, id=id, layer=described.layer, title=described.title, docs=described.docs)


def _all_ids() -> Iterable[str]:
    from doctor.checks import all_checks
    from doctor.fleet.judge.catalogue import OWN
    from doctor.knowledge import lookup

    return (*(c.id for c in all_checks()), *OWN, *(e.id for e in lookup.errata()))


def _of_fleet(id: str, format: str, color: str) -> str | None:
    """The page of a finding that only a fleet can have; None where there is none of that id."""
    from doctor.fleet.judge.catalogue import OWN

    own = OWN.get(id)
    if own is None:
        return None
    if format == "json":
        import json

        return json.dumps([{"id": id, "layer": "fleet", **vars(own)}], indent=2)
    sections = {"What it means": own.title, "How it is found": own.found, "What to do": own.remedy}
    if format == "markdown":
        from doctor.reports import markdown

        return markdown.render_sections(f"`{id}` *(torchdoctor fleet)*", sections)
    from doctor.reports.terminal import pages

    return pages.render_sections(
        f"{id}  (torchdoctor fleet)", sections, color=output.wants_color(color), width=output.width()
    )


def _erratum(id: str, format: str, color: str) -> str | None:
    """The page of an erratum; None where there is none of that id."""
    from doctor.knowledge import lookup

    erratum = lookup.erratum_of(id)
    if erratum is None:
        return None
    if format == "json":
        import json

        from doctor.reports import errata

        return json.dumps(errata.as_json(erratum), indent=2, ensure_ascii=False)
    if format == "markdown":
        from doctor.reports import errata

        return errata.markdown_page(erratum)
    from doctor.reports.terminal import pages

    return pages.render_erratum(erratum, color=output.wants_color(color), width=output.width())


def _pages_or_list(checks: Iterable[Check], format: str, color: str, *, full: bool) -> str:
    if format == "json":
        import json

        return json.dumps([_as_json(c, full) for c in checks], indent=2)
    if format == "markdown":
        from doctor.reports import markdown

        if full:
            return "\n".join(markdown.render_page(c) for c in checks)
        heads = ("id", "layer", "severity", "title")
        return "\n".join(markdown.table(heads, ((c.id, c.layer, c.severity, c.title) for c in checks)))
    from doctor.reports.terminal import pages

    shaded, width = output.wants_color(color), output.width()
    if full:
        return "\n".join(pages.render_page(c, color=shaded, width=width) for c in checks)
    layers: dict[str, list[tuple[str, str]]] = {}
    for check in checks:
        layers.setdefault(check.layer, []).append((check.id, check.title))
    ids = max(len(id) for rows in layers.values() for id, _ in rows)  # align the titles of all layers
    return "\n".join(
        f"{layer}\n{pages.render_table([(id.ljust(ids), t) for id, t in rows], indent=2, gap=2, prose=width)}"
        for layer, rows in layers.items()
    )


def _as_json(check: Check, page: bool) -> dict[str, str]:
    entry = {"id": check.id, "layer": check.layer, "severity": check.severity, "title": check.title}
    return {**entry, "page": check.docs} if page else entry


def _explain_text(text: str, format: str, color: str) -> int:
    """What a text can mean, the likeliest first, and what to ask. Exit 3 where nothing in it speaks of a failure."""
    from doctor.knowledge import codes

    readings = codes.readings(text)
    symptoms: list[Symptom] = []
    hypotheses: dict[Symptom, list[Hypothesis]] = {}
    asks: tuple[Question, ...] = ()
    harmless: list[_Harmless] = []
    if not readings or len(text.split()) > 1:  # a code alone is not evidence
        facts = _read(text)
        symptoms, hypotheses, asks = _symptoms(facts)
        harmless = _harmless(facts, symptoms)
    if format == "json":
        import json

        entries = [_symptom_as_json(s, hypotheses[s]) for s in symptoms] + [_reading_as_json(r) for r in readings]
        entries += [_harmless_as_json(error, row) for error, row in harmless]
        output.emit(json.dumps(entries, indent=2, ensure_ascii=False))
    elif format == "markdown":
        output.emit(_as_markdown(hypotheses, harmless, readings))
    elif symptoms or readings or harmless:
        output.emit(_as_text(symptoms, hypotheses, harmless, asks, readings, color))
    if symptoms or readings or harmless:
        return 0
    if format != "json":
        output.complain("No known message or code is in this text. torchdoctor check looks at the machine itself.")
    return NO_VERDICT


def _read(text: str) -> Facts:
    from doctor.decode import encoded
    from doctor.evidence.read import read

    return replace(read((("text", encoded(text[:_LONGEST_TEXT])),)).facts, live=False)


def _harmless(facts: Facts, symptoms: Sequence[Symptom]) -> list[_Harmless]:
    """The harmless warnings, the first line of each kind; none that is also a symptom."""
    from doctor.accounting.harmless import harmless_lines

    found: dict[str, _Harmless] = {}
    for error, row in harmless_lines(facts, symptoms):
        found.setdefault(row.id, (error, row))
    return list(found.values())


def _symptoms(facts: Facts) -> tuple[list[Symptom], dict[Symptom, list[Hypothesis]], tuple[Question, ...]]:
    """The symptoms with known causes, the hypotheses about each, and the question that settles most."""
    from doctor.accounting.account import weighed
    from doctor.accounting.judgement import judged
    from doctor.accounting.symptoms import symptoms_of

    made = judged(facts)
    status = {o.id: o.status for o in made.outcomes}
    symptoms = [s for s in symptoms_of(facts) if s.causes]
    return symptoms, {s: weighed(s, status, facts) for s in symptoms}, made.account.questions[:1]


def _rows(hypotheses: dict[Symptom, list[Hypothesis]]) -> list[tuple[str, str, str]]:
    """(share, id, title) of the likeliest diagnoses behind any of the symptoms."""
    from doctor.checks import check_of

    shares: dict[str, float] = {}
    for found in hypotheses.values():
        for hypothesis in found[:_CAUSES_SHOWN]:
            shares[hypothesis.id] = max(shares.get(hypothesis.id, 0.0), hypothesis.weight)
    ids = sorted(shares, key=lambda id: -shares[id])
    titles = {id: check.title for id in ids if (check := check_of(id))}
    return [(f"{shares[id] * 100:3.0f} %", id, titles.get(id, "not diagnosed yet")) for id in ids]


def _as_markdown(
    hypotheses: dict[Symptom, list[Hypothesis]], harmless: list[_Harmless], readings: tuple[Reading, ...]
) -> str:
    from doctor.checks.run import harmless_warning
    from doctor.reports import markdown

    lines: list[str] = []
    if hypotheses:
        lines += markdown.table(("of the weight", "diagnosis", ""), _rows(hypotheses))
    if harmless:
        heads = (harmless_warning.check.id, "what it means", "when it matters", "what to do")
        rows = [(error.text, row.means, row.matters, row.remedy) for error, row in harmless]
        lines += ["", *markdown.table(heads, rows)] if lines else markdown.table(heads, rows)
    if readings:
        heads = ("code", "kind of code", "what it means", "can come from")
        codes = [(r.name, r.of, r.meaning, ", ".join(r.causes)) for r in readings]
        lines += ["", *markdown.table(heads, codes)] if lines else markdown.table(heads, codes)
    return "\n".join(lines)


def _as_text(
    symptoms: list[Symptom],
    hypotheses: dict[Symptom, list[Hypothesis]],
    harmless: list[_Harmless],
    asks: tuple[Question, ...],
    readings: tuple[Reading, ...],
    color: str,
) -> str:
    from doctor.checks.run import harmless_warning
    from doctor.reports.terminal import pages

    shaded, width = output.wants_color(color), output.width()
    parts, more = [], next((r.causes[0] for r in readings if r.causes), "--list")
    if symptoms:
        rows = _rows(hypotheses)
        told = pages.render_table([(s.text,) for s in symptoms], indent=2, prose=width)
        means = pages.render_table(rows, color=shaded, indent=2, gap=2, prose=width)
        settle = "".join(f"\nTo settle it: {ask.text}\n    {ask.command}\n" for ask in asks)
        parts.append(f"Recognised\n{told}\nIt can mean\n{means}{settle}")
        more = rows[0][1] if rows else more
    if harmless:
        parts += [_meaning(error, row, shaded, width) for error, row in harmless]
        more = more if symptoms else harmless_warning.check.id
    if readings:
        parts.append(pages.render_codes(readings, color=shaded, width=width))
    return "\n".join([*(part.rstrip() + "\n" for part in parts), f"More: torchdoctor explain {more}"])


def _meaning(error: ErrorText, row: ErrorPattern, color: bool, width: int) -> str:
    """One harmless warning, and what else it can mean."""
    from doctor.checks import check_of
    from doctor.reports.terminal import pages

    told = pages.render_table([(error.text,)], indent=2, prose=width)
    causes = [(id, check.title) for id in row.causes if (check := check_of(id))]
    means = pages.render_table(causes, color=color, indent=2, gap=2, prose=width)
    said = pages.render_table([(row.means,), (row.matters,), (row.remedy,)], indent=2, prose=width)
    return f"Recognised\n{told}\nIt can mean\n{means}\n{said}"


def _harmless_as_json(error: ErrorText, row: ErrorPattern) -> dict[str, object]:
    return {
        "pattern": row.id, "kind": row.kind, "text": error.text, "causes": row.causes, "means": row.means,
        "matters": row.matters, "remedy": row.remedy,
    }  # fmt: skip


def _symptom_as_json(symptom: Symptom, hypotheses: list[Hypothesis]) -> dict[str, object]:
    return {
        "pattern": symptom.id, "kind": symptom.kind, "text": symptom.text, "causes": symptom.causes,
        "hypotheses": [{"id": h.id, "weight": h.weight, "would_settle": h.would_settle} for h in hypotheses],
    }  # fmt: skip


def _reading_as_json(reading: Reading) -> dict[str, object]:
    return {
        "code": reading.name, "number": reading.number, "vocabulary": reading.vocabulary, "of": reading.of,
        "kind": reading.kind, "subject": reading.subject, "means": reading.meaning, "causes": reading.causes,
        "next": reading.next, "command": reading.command,
    }  # fmt: skip

"""`torchdoctor explain`: the page of a diagnosis or an erratum, the list of all, or what a pasted line can mean."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from doctor.cli import output
from doctor.cli.codes import NO_VERDICT
from doctor.cli.options import completed_by, unknown_id

if TYPE_CHECKING:
    from doctor.checks import Check
    from doctor.model.symptom import Hypothesis, Symptom

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_LONGEST_TEXT = 100_000  # characters of pasted text that are read: more is a ticket, for check --from
_CAUSES_SHOWN = 8


@click.command()
@click.argument("what", nargs=-1, shell_complete=completed_by("ids_and_errata"))
@click.option("--list", "listed", is_flag=True, help="All diagnoses, in causal order.")
@click.option("--format", "format", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
def command(what: tuple[str, ...], listed: bool, format: str, as_json: bool, color: str) -> int:
    """Explain a diagnosis, an erratum, or a pasted error line.

    \b
    torchdoctor explain gpu-hidden
    torchdoctor explain "CUDA error: no kernel image is available for execution"
    torchdoctor explain mps-sdpa-noncontiguous-2-8
    torchdoctor explain --list

    WHAT is an id, or text; «-» reads the text from stdin.
    """
    from doctor.checks import all_checks

    format = "json" if as_json else format
    text = sys.stdin.buffer.read(1 << 20).decode("utf-8", "replace") if what == ("-",) else " ".join(what)
    if listed:
        output.emit(_pages_or_list(all_checks(), format, color, pages=False))
        return 0
    if not text.strip():
        raise click.UsageError("name a diagnosis, paste an error line, or ask for --list.")
    text = text.strip()
    checks = [c for c in all_checks() if c.id == text]
    if not checks and (page := _erratum(text, format, color)) is not None:
        output.emit(page)
        return 0
    if not checks and _ID.match(text) and "-" in text:
        raise click.UsageError(unknown_id(text, _all_ids()))
    if checks:
        output.emit(_pages_or_list(checks, format, color, pages=True))
        return 0
    return _explain_text(text, format, color)


def _all_ids() -> Iterable[str]:
    from doctor.checks import all_checks
    from doctor.knowledge import lookup

    return (*(c.id for c in all_checks()), *(e.id for e in lookup.errata()))


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
    from doctor.reports import terminal

    return terminal.render_erratum(erratum, color=output.wants_color(color), width=output.width())


def _pages_or_list(checks: Iterable[Check], format: str, color: str, *, pages: bool) -> str:
    if format == "json":
        import json

        return json.dumps([_as_json(c, pages) for c in checks], indent=2)
    if format == "markdown":
        from doctor.reports import markdown

        if pages:
            return "\n".join(markdown.render_page(c) for c in checks)
        heads = ("id", "layer", "severity", "title")
        return "\n".join(markdown.table(heads, ((c.id, c.layer, c.severity, c.title) for c in checks)))
    from doctor.reports import terminal

    if pages:
        return "\n".join(terminal.render_page(c, color=output.wants_color(color)) for c in checks)
    rows = [(c.layer, c.id, c.title) for c in checks]
    return terminal.render_table(rows, color=output.wants_color(color))


def _as_json(check: Check, page: bool) -> dict[str, str]:
    entry = {"id": check.id, "layer": check.layer, "severity": check.severity, "title": check.title}
    return {**entry, "page": check.docs} if page else entry


def _explain_text(text: str, format: str, color: str) -> int:
    """What a text can mean, the likeliest first, and what to ask. Exit 3 where nothing in it speaks of a failure."""
    from doctor.accounting.account import weighed
    from doctor.accounting.judgement import judged
    from doctor.accounting.symptoms import symptoms_of
    from doctor.checks import check_of
    from doctor.evidence.read import read

    facts = replace(read((("text", text[:_LONGEST_TEXT].encode()),)).facts, live=False)
    made = judged(facts)
    status = {o.id: o.status for o in made.outcomes}
    symptoms = [s for s in symptoms_of(facts) if s.causes]
    hypotheses = {s: weighed(s, status, facts) for s in symptoms}
    if format == "json":
        import json

        output.emit(json.dumps([_symptom_as_json(s, hypotheses[s]) for s in symptoms], indent=2))
        return 0 if symptoms else NO_VERDICT
    if not symptoms:
        output.complain("No known message is in this text. torchdoctor check looks at the machine itself.")
        return NO_VERDICT
    shares: dict[str, float] = {}
    for found in hypotheses.values():
        for hypothesis in found[:_CAUSES_SHOWN]:
            shares[hypothesis.id] = max(shares.get(hypothesis.id, 0.0), hypothesis.weight)
    ids = sorted(shares, key=lambda id: -shares[id])
    titles = {id: check.title for id in ids if (check := check_of(id))}
    rows = [(f"{shares[id] * 100:3.0f} %", id, titles.get(id, "not diagnosed yet")) for id in ids]
    heads = ("of the weight", "diagnosis", "")
    if format == "markdown":
        from doctor.reports import markdown

        output.emit("\n".join(markdown.table(heads, rows)))
        return 0
    from doctor.reports import terminal

    told = terminal.render_table([(s.text,) for s in symptoms], indent=2)
    means = terminal.render_table(rows, color=output.wants_color(color), indent=2)
    asks = made.account.questions[:1]
    settle = "".join(f"\nTo settle it: {ask.text}\n    {ask.command}\n" for ask in asks)
    more = f"More: torchdoctor explain {ids[0] if ids else '--list'}"
    output.emit(f"Recognised\n{told}\nIt can mean\n{means}{settle}\n{more}")
    return 0


def _symptom_as_json(symptom: Symptom, hypotheses: list[Hypothesis]) -> dict[str, object]:
    return {
        "pattern": symptom.id, "kind": symptom.kind, "text": symptom.text, "causes": symptom.causes,
        "hypotheses": [{"id": h.id, "weight": h.weight, "would_settle": h.would_settle} for h in hypotheses],
    }  # fmt: skip

"""`torchdoctor explain`: the page of a diagnosis, the list of all, or what a pasted error line can mean."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from doctor.cli import output
from doctor.cli.codes import NO_VERDICT
from doctor.cli.options import unknown_id

if TYPE_CHECKING:
    from doctor.checks import Check
    from doctor.knowledge.lookup import ErrorPattern

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_LONGEST_LINE = 20_000  # of pasted text that is matched: more is no message


@click.command()
@click.argument("what", nargs=-1)
@click.option("--list", "listed", is_flag=True, help="All diagnoses, in causal order.")
@click.option("--format", "format", type=click.Choice(("terminal", "markdown", "json")), default="terminal")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--color", type=click.Choice(("auto", "always", "never")), default="auto", show_default=True)
def command(what: tuple[str, ...], listed: bool, format: str, as_json: bool, color: str) -> int:
    """Explain a diagnosis, or what a pasted error line can mean.

    \b
    torchdoctor explain gpu-hidden
    torchdoctor explain "CUDA error: no kernel image is available for execution"
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
    if not checks and _ID.match(text) and "-" in text:
        raise click.UsageError(unknown_id(text, (c.id for c in all_checks())))
    if checks:
        output.emit(_pages_or_list(checks, format, color, pages=True))
        return 0
    return _explain_text(text, format, color)


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
    """What a message can mean, the likeliest first. Exit 3 where no pattern knows it: that is no verdict."""
    from doctor.checks import check_of

    matches = list(matching(text))
    if format == "json":
        import json

        output.emit(json.dumps([{"pattern": p.id, "text": t, "causes": p.causes} for p, t in matches], indent=2))
        return 0 if matches else NO_VERDICT
    if not matches:
        output.complain("No known message is in this text. torchdoctor check looks at the machine itself.")
        return NO_VERDICT
    ids = list(dict.fromkeys(id for pattern, _ in matches for id in pattern.causes))
    rows = [(id, check.title if (check := check_of(id)) else "not diagnosed yet") for id in ids]
    if format == "markdown":
        from doctor.reports import markdown

        output.emit("\n".join(markdown.table(("it can mean", ""), rows)))
        return 0
    from doctor.reports import terminal

    told = terminal.render_table([(t,) for _, t in matches], indent=2)
    means = terminal.render_table(rows, color=output.wants_color(color), indent=2)
    output.emit(f"Recognised\n{told}\nIt can mean\n{means}\nMore: torchdoctor explain {ids[0] if ids else '--list'}")
    return 0


def matching(text: str) -> Iterator[tuple[ErrorPattern, str]]:
    """The patterns that occur in the text, each with the words that it matched."""
    from doctor.knowledge.lookup import error_patterns

    text = text[:_LONGEST_LINE]
    lower = text.lower()
    for pattern in error_patterns():
        if pattern.literals and not any(literal in lower for literal in pattern.literals):
            continue
        if match := re.search(pattern.regex, text, _flags(pattern.flags)):
            yield pattern, match[0]


def _flags(letters: str) -> re.RegexFlag:
    """ "im" -> re.IGNORECASE | re.MULTILINE."""
    flags = re.RegexFlag(0)
    for letter in letters:
        flags |= {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}.get(letter, re.RegexFlag(0))
    return flags

"""Pages of the terminal that are not a report: a diagnosis, an erratum, codes, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doctor.checks import Check, check_of
from doctor.knowledge.codes import Reading
from doctor.knowledge.errata import Erratum
from doctor.reports import declared
from doctor.reports import errata as errata_text
from doctor.reports.terminal.lines import Line, Lines, plain, printed, prose, table
from doctor.reports.text import safe

_CODES_IN_FULL = 3
_CAUSES_OF_A_CODE = 6


def render_page(check: Check, *, color: bool = False, width: int = 80) -> str:
    """The page of `torchdoctor explain ID`."""
    return printed(_page(check, width), color)


def render_sections(title: str, sections: Mapping[str, str], *, color: bool = False, width: int = 80) -> str:
    """A page of our own words: a title, and a paragraph under each head."""

    def lines() -> Lines:
        yield plain(title, style="bold")
        for head, text in sections.items():
            yield Line()
            yield plain(head, style="bold")
            yield from prose(text, width, indent=4)

    return printed(lines(), color)


def render_codes(readings: Iterable[Reading], *, color: bool = False, width: int = 80) -> str:
    """What a code can mean, as `torchdoctor explain` shows it: the likeliest in full, the others in a line each."""
    return printed(_codes(tuple(readings), width), color)


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
    return printed(table(rows, heads=heads, indent=indent, gap=gap, width=width, prose=prose), color)


def render_erratum(erratum: Erratum, *, color: bool = False, width: int = 80) -> str:
    """The page of `torchdoctor explain ERRATUM-ID`."""
    return printed(_erratum_page(erratum, width), color)


def render_errata(
    sections: Iterable[tuple[str, Iterable[tuple[Erratum, str]]]], *, color: bool = False, width: int = 80
) -> str:
    """Sections of errata in full, each erratum with a remark (""  for none)."""
    return printed(in_full(sections, width), color)


def in_full(sections: Iterable[tuple[str, Iterable[tuple[Erratum, str]]]], width: int) -> Lines:
    """Sections of errata, each erratum with its remark."""
    for number, (heading, rows) in enumerate(sections):
        if number:
            yield Line()
        yield from prose(heading, width, style="bold")
        for erratum, remark in rows:
            yield from _erratum(erratum, remark, width)


def _erratum(erratum: Erratum, remark: str, width: int) -> Lines:
    """One erratum: its id and title, what is seen, the release with the fix, the workaround, the source."""
    yield Line()
    yield Line.assemble("  ", (safe(erratum.id), "bold"), f"  ({erratum.kind}, {erratum.severity})")
    for line in (f"{erratum.title}.", erratum.symptom, errata_text.fix(erratum), remark):
        yield from prose(line, width, indent=4)
    if erratum.workaround:
        yield from prose(f"Workaround: {erratum.workaround}", width, indent=4)
    yield plain(f"    {erratum.sources[0]}", style="dim")


def _erratum_page(erratum: Erratum, width: int) -> Lines:
    yield Line.assemble((safe(erratum.id), "bold"), f"  ({erratum.kind}, {erratum.severity})")
    yield from prose(f"{erratum.title}.", width)
    yield Line()
    yield from table(errata_text.fields(erratum), indent=2, gap=2)
    for heading, text in (("Symptom", erratum.symptom), ("Workaround", erratum.workaround or "None is known.")):
        yield Line()
        yield plain(heading, style="bold")
        yield from prose(text, width, indent=4)
    yield Line()
    yield plain("Sources", style="bold")
    for source in erratum.sources:
        yield plain(f"    {source}")


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
        yield from table(((reading.name, reading.of) for reading in rest), indent=2)
        yield Line()


def _code(alike: list[Reading], width: int) -> Lines:
    """Codes of the same meaning and causes."""
    for reading in alike:
        number = "" if reading.number is None else f"{_number(reading)}, "
        yield from prose(f"{reading.name}: {number}{reading.of}", width, style="bold")
    first = alike[0]
    yield from prose(first.meaning, width, indent=2)
    titles = [(id, check.title) for id in first.causes[:_CAUSES_OF_A_CODE] if (check := check_of(id))]
    if titles:
        yield Line("  It can come from")
        yield from table(titles, indent=4, prose=width)
    yield from prose(first.next, width, indent=2)
    if first.command:
        yield plain(f"    {first.command}")


def _number(reading: Reading) -> str:
    number = reading.number or 0
    return f"0x{number:08X}" if number > 0xFFFF else str(number)


def _page(check: Check, width: int) -> Lines:
    yield Line.assemble((check.id, "bold"), f"  ({check.severity}, layer {check.layer})")
    yield from prose(check.title, width, indent=2)
    yield from prose(declared.declared(check), width, indent=2, style="dim")
    yield Line()
    yield from _docs(check.docs, width)


def _docs(docs: str, width: int) -> Lines:
    """The sections of a page: heads, and below each of them paragraphs; references stand a line each."""
    head, paragraph = "", ""
    for line in docs.splitlines():
        if line.startswith(" ") and head != "References":
            paragraph += f" {line}"
            continue
        yield from prose(paragraph, width, indent=4)
        paragraph = ""
        if line.startswith(" "):
            yield from prose(line, width, indent=4)
        else:
            head = line or head
            yield plain(line, style="bold" if line else "")
    yield from prose(paragraph, width, indent=4)

"""Errata in words: what every format says of one, and the page of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from doctor.knowledge import lookup
from doctor.knowledge.choose import choose
from doctor.knowledge.errata import BACKENDS, Erratum, fix_is_ahead
from doctor.knowledge.versions import compared
from doctor.model.facts import Facts

NAMES = {"cpu": "CPU", "cuda": "CUDA", "rocm": "ROCm", "mps": "MPS", "xpu": "XPU"}
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "windows": "Windows"}
_STATUS = {
    "verified": "versions and fix are stated by the sources",
    "single": "one report",
    "unclear": "the versions are uncertain",
}


def fix(erratum: Erratum) -> str:
    """Where it is fixed, in one sentence."""
    if erratum.fixed_in is None:
        return "No release with a fix is known."
    if fix_is_ahead(erratum):
        return f"It will be fixed in torch {erratum.fixed_in}."
    return f"It is fixed in torch {erratum.fixed_in}."


def serving(facts: Facts, rows: Iterable[Erratum]) -> dict[str, str]:
    """id -> the sentence that names the best release without it that serves the machine, where one is known."""
    builds = choose(facts).builds
    found = {}
    for erratum in rows:
        best = next((b.release for b in builds if b.release and lookup.affects(erratum, b.release) is False), None)
        if best is not None and (erratum.fixed_in is None or compared(best) >= compared(erratum.fixed_in)):
            found[erratum.id] = f"torch {best} serves this machine and does not have it."
        elif best is not None:
            found[erratum.id] = f"On this machine, torch {best} does not have it."
    return found


def where(erratum: Erratum) -> str:
    """On what it is met: "MPS on M1, M2; macOS >=14.4,<15; beside cudnn <9.15"."""
    backends = ", ".join(NAMES[b] for b in BACKENDS if b in erratum.backends)
    parts = [backends + (f" on {', '.join(erratum.devices)}" if erratum.devices else "")]
    if erratum.cpu:
        parts.append("CPUs " + ", ".join(f"without {c[1:]}" if c[0] == "-" else f"with {c}" for c in erratum.cpu))
    parts += [f"{_SYSTEMS[name]} {spec}".strip() for name, spec in erratum.systems.items()]
    parts += [f"beside {name} {spec}".strip() for name, spec in erratum.needs.items()]
    return "; ".join(parts)


def versions(erratum: Erratum) -> str:
    """Of which torch it is: "torch >=2.8,<2.9.1", "nightlies of 2022-05-20 to 2022-06-01"."""
    parts = [f"torch {erratum.versions}"] if erratum.versions else []
    if erratum.nightlies:
        first, last = erratum.nightlies[0], erratum.nightlies[-1]
        parts.append(f"nightlies from {first} on" if last is None else f"nightlies of {first} to {last}")
    return ", ".join(parts)


def fields(erratum: Erratum) -> Iterator[tuple[str, str]]:
    """(name, value) of what a page says of it in a table."""
    yield "versions", versions(erratum)
    yield "where", where(erratum)
    if erratum.ops:
        yield "operations", ", ".join(erratum.ops)
    if erratum.message:
        yield "message", erratum.message
    yield "fix", fix(erratum)
    yield "certainty", f"{_STATUS[erratum.status]}; last looked at {erratum.looked}"


def as_json(erratum: Erratum) -> dict[str, Any]:
    """The row as JSON has it, with all fields."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(erratum).items()}


def markdown_page(erratum: Erratum) -> str:
    """One erratum as Markdown."""
    return "\n".join(_markdown(erratum, level=3)) + "\n"


def _markdown(erratum: Erratum, level: int) -> Iterator[str]:
    from doctor.reports.sinks import markdown as prose

    yield f"{'#' * level} `{erratum.id}`"
    yield ""
    yield f"{prose(erratum.title)}. *({erratum.kind}, {erratum.severity})*"
    yield ""
    for name, value in fields(erratum):
        yield f"- {name}: {prose(value)}"
    yield f"- what is seen: {prose(erratum.symptom)}"
    if erratum.workaround:
        yield f"- workaround: {prose(erratum.workaround)}"
    yield f"- sources: {' '.join(f'<{source}>' for source in erratum.sources)}"
    yield ""


def page(rows: Iterable[Erratum], releases: Iterable[str]) -> str:
    """docs/errata.md: how many of each backend and severity, by release, and all of them by backend."""
    rows = tuple(rows)
    lines = [
        "# Errata: what is known to be broken in exactly which torch",
        "",
        "Made by scripts/generate.py from doctor/knowledge/tables/errata.json; change it there. On the command line:",
        "`torchdoctor errata` for this machine, `torchdoctor errata --torch 2.8.0 --backend mps` for another,",
        "`torchdoctor explain ERRATUM-ID` for one, `torchdoctor probe --errata` to try them.",
        "",
        f"{len(rows)} rows, {sum(bool(e.trigger) for e in rows)} of them with a computation that shows them, "
        f"{sum(e.fixed_in is None for e in rows)} without a known fix.",
        "",
        "## By release",
        "",
        "| torch | grave | others | grave ones |",
        "|---|---|---|---|",
    ]
    for release in releases:
        here = [e for e in rows if lookup.affects(e, release)]
        grave = [e for e in here if e.severity == "grave"]
        if here:
            ids = ", ".join(f"[{e.id}](#{e.id})" for e in grave)
            lines.append(f"| {release} | {len(grave)} | {len(here) - len(grave)} | {ids} |")
    for backend, of_backend in _by_backend(rows).items():
        lines += ["", f"## {backend}", ""]
        for erratum in of_backend:
            lines += _markdown(erratum, level=3)
    return "\n".join(lines).rstrip() + "\n"


def _by_backend(rows: Iterable[Erratum]) -> Mapping[str, list[Erratum]]:
    """Each row under its only backend, those of several together, in the order of BACKENDS."""
    found: dict[str, list[Erratum]] = {NAMES[b]: [] for b in BACKENDS}
    found["Several backends"] = []
    for erratum in sorted(rows, key=lambda e: e.id):
        name = NAMES[erratum.backends[0]] if len(erratum.backends) == 1 else "Several backends"
        found[name].append(erratum)
    return {name: listed for name, listed in found.items() if listed}

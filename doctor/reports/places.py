"""Where in the user's files a finding belongs: the line of a requirements file, pyproject.toml, Dockerfile or
environment.yml that brings in what it is about, or the line of the pasted text that it was read from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.formats.manifests import IMAGE, INDEX, PYTHON, normalised
from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.model.values import dataclass
from doctor.regex import Regex

TORCH = "torch"
_LINE = Regex(r"\A(.*), line (\d{1,7})\Z", re.DOTALL)


@dataclass(frozen=True)
class Place:
    """A line, from 1, of a file as it is called from the repository's root, with slashes."""

    file: str
    line: int


def places(report: Report, finding: Finding) -> tuple[Place, ...]:
    """The lines that a finding is about, the most telling first; () where no file says anything of it."""
    if not report.facts.live:
        return tuple(dict.fromkeys(_in_evidence(report, finding)))[:10]
    declared = report.facts.declared or ()
    for what in dict.fromkeys(_subjects(report, finding)):
        if found := [Place(d.file, d.line) for d in declared if d.what == what]:
            return tuple(dict.fromkeys(found))
    return ()


def _subjects(report: Report, finding: Finding) -> Iterator[str]:
    """What a line must bring in to be the one, the best first. Without any better one it is torch, then the image."""
    for remedy in finding.remedies:
        if package := remedy.details.get("package"):
            yield normalised(package)
        if remedy.action in ("fix-index", "add-index"):
            yield INDEX
        if remedy.action == "change-image":
            yield IMAGE
    yield from (normalised(value) for name, value in finding.values.items() if name in ("package", "companion"))
    if finding.layer == "interpreter":
        yield PYTHON
    if finding.layer == "install":
        yield INDEX
    if finding.layer == "libraries":
        names = {d.what for d in report.facts.declared or ()} - {TORCH, INDEX, IMAGE, PYTHON}
        yield from sorted(name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", finding.detail))
    yield from (TORCH, IMAGE)


def _in_evidence(report: Report, finding: Finding) -> Iterator[Place]:
    """The quoted lines of the files that were read, else the first line of the first file."""
    files = report.target.evidence
    for evidence in finding.evidence:
        match = _LINE.match(evidence.source)
        origin = report.facts.origins.get(evidence.fact)
        if match and match[1] in files:
            yield Place(match[1], int(match[2]))
        elif match and len(files) == 1:
            yield Place(files[0], int(match[2]))
        elif origin and origin.line and len(files) == 1:
            yield Place(files[0], origin.line)
    if files:
        yield Place(files[0], 1)

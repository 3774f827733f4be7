"""The harmless warnings of a text, told when everything else has been said. Pure.

They explain no symptom and make no verdict: what is left over stays so. A line that a finding or a symptom rests on is
never called harmless, nor one of whose graver meanings something was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from doctor.checks.run.harmless_warning import check, told
from doctor.checks.runner import quoted
from doctor.knowledge.messages import ErrorPattern, harmless_row
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import ONLY_TOLD, Finding
from doctor.model.symptom import Symptom

AT_MOST = 3  # findings
_QUOTED = 200  # characters of a line that are compared


def harmless(facts: Facts, findings: Iterable[Finding], symptoms: Sequence[Symptom]) -> tuple[Finding, ...]:
    """One finding for each kind of harmless warning, in the order of the text, three at most. Only of a text: what
    torch says to torchdoctor on a live machine tells nothing to the user's program."""
    if facts.live:
        return ()
    others = [f for f in findings if f.id not in ONLY_TOLD and f.id != check.id]
    made: dict[str, Finding] = {}
    for error, row in harmless_lines(facts, symptoms):
        if row.id not in made and not any(_speaks_of(finding, error, row) for finding in others):
            made[row.id] = told(facts, error, row)
    return tuple(made.values())[:AT_MOST]


def harmless_lines(facts: Facts, symptoms: Sequence[Symptom]) -> Iterator[tuple[ErrorText, ErrorPattern]]:
    """The lines that are harmless warnings, in the order of the text, each with its row; none is a symptom, too."""
    for error in facts.errors:
        row = harmless_row(error.pattern)
        if row and not _is_a_symptom(error, symptoms):
            yield error, row


def _is_a_symptom(error: ErrorText, symptoms: Iterable[Symptom]) -> bool:
    """Whether the line, or its words, must be explained."""
    place = (error.source, error.line)
    return any((s.line is not None and (s.source, s.line) == place) or error.text == s.text for s in symptoms)


def _speaks_of(finding: Finding, error: ErrorText, row: ErrorPattern) -> bool:
    """Whether the finding is one of the graver meanings of the row, or rests on the line."""
    if finding.id in row.causes:
        return True
    here, said = quoted(error).source, error.text[:_QUOTED]
    return any(
        (error.line is not None and e.source == here) or said in e.quote or said in e.value for e in finding.evidence
    )

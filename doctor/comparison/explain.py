"""Which difference explains a finding: judged again with the other machine's value, the finding is gone. Pure.

From facts to verdict everything is a pure function, so a machine that never was can be judged: this one with that
one's driver. Only what can be changed is exchanged (causes); what torch then said stays as it was seen, so nothing is
explained by its own consequence.
"""

from __future__ import annotations

from collections.abc import Sequence

from doctor.accounting.judgement import judged
from doctor.checks import check_of
from doctor.comparison.subjects import Subject, with_value
from doctor.model.facts import Facts
from doctor.model.finding import Finding, Outcome
from doctor.model.report import Report

TRIED_TOGETHER = 60  # differences that are taken together, at most


def explaining(
    finding: Finding, facts: Facts, reference: Report, causes: Sequence[Subject]
) -> tuple[tuple[Subject, ...], ...]:
    """The differences (`causes`) each of which alone makes the finding go, when the facts take the reference's
    value; where none does, the smallest set of them found that does together; () where even all of them do not."""
    other = reference.facts
    answer = _answer(finding, reference.outcomes)
    alone = tuple((s,) for s in causes if _is_gone(finding, with_value(facts, other, s), answer))
    if alone:
        return alone
    causes = causes[:TRIED_TOGETHER]
    if len(causes) < 2 or not _is_gone(finding, _with_all(facts, other, causes), answer):
        return ()
    needed = list(causes)
    for subject in causes:  # leave out what is not needed, one by one
        without = [s for s in needed if s is not subject]
        if _is_gone(finding, _with_all(facts, other, without), answer):
            needed = without
    return (tuple(needed),)


def _with_all(facts: Facts, other: Facts, causes: Sequence[Subject]) -> Facts:
    for subject in causes:
        facts = with_value(facts, other, subject)
    return facts


def is_said(finding: Finding, facts: Facts, reference: Report, effects: Sequence[Subject]) -> bool:
    """Whether the finding is gone without what was said and seen (messages, probes, the import): then that is enough to
    find it, and no exchange of causes can take it away."""
    return _is_gone(finding, _with_all(facts, reference.facts, effects), _answer(finding, reference.outcomes))


def _answer(finding: Finding, outcomes: Sequence[Outcome]) -> tuple[str, str]:
    """How the finding's check ended, and why."""
    return next(((o.status, o.reason) for o in outcomes if o.id == finding.id), ("passed", ""))


def _is_gone(finding: Finding, facts: Facts, there: tuple[str, str]) -> bool:
    """Whether the judgement no longer has it, and does not merely fail to know: its check is ruled out, or can say as
    little as on the machine that is well (`there`; of texts without a message)."""
    done = judged(facts)
    if any(f.id == finding.id for f in done.account.findings):
        return False
    if finding.confidence == "likely":  # concluded from hypotheses: then its check could not say before, either
        return True
    here = _answer(finding, done.outcomes)
    return here[0] == "passed" or here == there


def rests_on(finding: Finding, subject: Subject) -> bool:
    """Whether the finding's evidence, or what its check needs, names a fact of the subject."""
    named = {item.fact for item in finding.evidence}
    check = check_of(finding.id)
    needed = {name for need in (check.needs if check else ()) for name in need.split("|")}
    named |= needed - {"packages", "environ", "torch"}  # of all packages and variables only those that it names
    return any(overlap(field, name) for field in subject.fields for name in named)


def overlap(field: str, name: str) -> bool:
    """Whether one dotted name is the other, or stands above it."""
    return field == name or field.startswith(f"{name}.") or name.startswith(f"{field}.")

"""The pure middle of the flow, from facts to a verdict: checks, accounting, verdict."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.accounting.account import Account, account
from doctor.accounting.harmless import harmless
from doctor.accounting.symptoms import symptoms_of
from doctor.accounting.verdict import Verdict, verdict
from doctor.checks.runner import judge, settle
from doctor.model.facts import REMARK, Facts
from doctor.model.finding import SAID_LAST, Finding, Outcome
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is said of a machine: the outcomes of the checks, the account of its symptoms, and the verdict."""

    outcomes: tuple[Outcome, ...]
    account: Account
    verdict: Verdict


def judged(facts: Facts, *, only: Iterable[str] = (), limits: tuple[str, ...] = (), words: str = "") -> Judgement:
    """Judge the facts. `only`: ids to which the judgement is limited; symptoms are then not accounted for. `limits`:
    the options that limited it, which keep it from being a verdict on the whole. `words`: the text that the facts were
    read from, compared with labelled tickets where the facts decide nothing, or only make a fault likely."""
    wanted = tuple(only)
    outcomes, findings = judge(facts, wanted)
    if set(wanted) & set(SAID_LAST):
        findings = settle((*findings, *harmless(facts, findings, symptoms_of(facts))))
    made = Account(findings=findings) if wanted else account(facts, outcomes, findings)
    said = verdict(facts, made, outcomes, limits)
    fault = _only_likely(made)
    if words and not wanted and (fault or said.value == "unknown"):
        from doctor.accounting.resemblance import contradicts, with_resemblance

        status = {o.id: o.status for o in outcomes}
        if fault and contradicts(fault.id, made, words, facts, status):
            made = account(facts, outcomes, findings, {fault.id})
            said = verdict(facts, made, outcomes, limits)
        if said.value == "unknown" and not _only_harmless(facts, made):
            made = with_resemblance(made, words, facts, status)
    return Judgement(outcomes=outcomes, account=made, verdict=said)


def _only_likely(made: Account) -> Finding | None:
    """The only fault, if it is merely likely."""
    faults = [f for f in made.findings if f.severity == "fault"]
    return faults[0] if len(faults) == 1 and faults[0].confidence == "likely" else None


def _only_harmless(facts: Facts, made: Account) -> bool:
    """Whether harmless warnings are all that a text complains of: then it resembles no ticket."""
    told = any(f.id in SAID_LAST for f in made.findings)
    return told and not made.symptoms and not any(e.pattern == REMARK for e in facts.errors)

"""The pure middle of the flow, from facts to a verdict: checks, accounting, verdict."""

from __future__ import annotations

from collections.abc import Iterable

from doctor.accounting.account import Account, account
from doctor.accounting.verdict import Verdict, verdict
from doctor.checks import is_programs_own
from doctor.checks.runner import judge
from doctor.model.facts import Facts
from doctor.model.finding import Outcome
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is said of a machine: the outcomes of the checks, the account of its symptoms, and the verdict."""

    outcomes: tuple[Outcome, ...]
    account: Account
    verdict: Verdict


def judged(
    facts: Facts, *, only: Iterable[str] = (), limits: tuple[str, ...] = (), words: str = ""
) -> Judgement:
    """Judge the facts. `only`: ids to which the judgement is limited; symptoms are then not accounted for. `limits`:
    the options that limited it, which keep it from being a verdict on the whole. `words`: the text that the facts were
    read from, compared with labelled tickets where the facts decide nothing."""
    wanted = tuple(only)
    outcomes, findings = judge(facts, wanted)
    made = Account(findings=findings) if wanted else account(facts, outcomes, findings)
    said = verdict(facts, made, outcomes, limits)
    answered = any(is_programs_own(f.id) for f in made.findings)
    if words and said.value == "unknown" and not wanted and not answered:
        from doctor.accounting.resemblance import with_resemblance

        made = with_resemblance(made, words, facts, {o.id: o.status for o in outcomes})
    return Judgement(outcomes=outcomes, account=made, verdict=said)

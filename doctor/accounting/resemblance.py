"""What a text resembles, where nothing in it that is understood decides: the causes that labelled tickets with such
words had become hypotheses, and so the next question has an aim. Pure.

Words are compared (doctor/knowledge/words.py), not what they say. So a cause that clearly leads is told as a warning
that is likely, and no fault comes of it: there is still no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from doctor.accounting.account import SHOWN, Account, questions_about, weigh
from doctor.checks import all_checks, check_of
from doctor.checks.run import no_fault_described
from doctor.checks.runner import settle
from doctor.knowledge import lookup
from doctor.knowledge.lookup import Resemblance
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Finding
from doctor.model.symptom import RESEMBLES, Hypothesis, Symptom

AT_LEAST = 0.15  # the share of all causes from which one is worth a hypothesis
LEADS = 0.4  # … and from which it is told: right in 22 of 31 new tickets (the first runs of the ninth and tenth round)
ASKS = 0.4  # its share from which a text is called a question: right in 13 of 16 new tickets (the same first runs)


def with_resemblance(account: Account, text: str, facts: Facts, status: Mapping[str, str]) -> Account:
    """The account of a text without a verdict, with the causes of tickets like it. `status`: of each check's
    outcome."""
    found = lookup.resemblances(text)
    if found and found[0].cause == lookup.HEALTHY and found[0].share >= ASKS and _says_nothing(account):
        return replace(account, findings=settle((*account.findings, _only_asks(found[0], facts)), all_checks()))
    alike = {r.cause: r for r in found if r.share >= AT_LEAST and check_of(r.cause)}
    told = {h.symptom for h in account.hypotheses}
    symptom = next((s for s in account.left_over if s.id not in told), None) or Symptom(
        id=RESEMBLES, kind="unknown", subject="", text="Nothing in this text names a cause", source="text"
    )
    about = weigh({id: r.share for id, r in alike.items()}, symptom, status, facts)[:SHOWN]
    if not about:
        return account
    symptoms = account.symptoms if symptom in account.symptoms else (*account.symptoms, symptom)
    hypotheses = (*account.hypotheses, *(_told_of(h, alike[h.id]) for h in about))
    findings = account.findings
    if leader := _leader(alike, about, account):
        findings = settle((*findings, _told(alike[leader.id], leader, facts)), all_checks())
    return replace(
        account,
        findings=findings,
        symptoms=symptoms,
        hypotheses=hypotheses,
        questions=questions_about(symptoms, hypotheses, findings, facts),
    )


def _nothing_found(account: Account) -> bool:
    """Whether no check has found anything."""
    return all(f.severity == "note" for f in account.findings)


def _says_nothing(account: Account) -> bool:
    """Whether no check has found anything, and no message is left over that is known for a fault."""
    return _nothing_found(account) and not any(s.causes for s in account.left_over)


def _only_asks(alike: Resemblance, facts: Facts) -> Finding:
    """The note on a text that describes no fault."""
    return no_fault_described.check.found(
        facts,
        f"It reads like the tickets in which nothing was wrong ({alike.tickets} are known): a question, or a wish.",
        evidence=(Evidence(fact=RESEMBLES, value=f"{alike.share:.0%}", source="words of the text"),),
        remedies=no_fault_described.check.usual,
        confidence="likely",
    )


def _leader(alike: Mapping[str, Resemblance], about: Sequence[Hypothesis], account: Account) -> Hypothesis | None:
    """The cause that most of such tickets had, if nothing speaks against it and no check has found anything. Of a
    message that is known and left over it has to be the likeliest cause, too."""
    first = about[0]
    clear = alike[first.id].share >= LEADS and not first.speaks_against
    agreed = all(_likeliest(s, account) == first.id for s in account.left_over if s.causes)
    return first if clear and agreed and _nothing_found(account) else None


def _likeliest(symptom: Symptom, account: Account) -> str | None:
    """The cause that weighs most of those that a symptom can have."""
    return next((h.id for h in account.hypotheses if h.symptom == symptom.id), None)


def _told(alike: Resemblance, hypothesis: Hypothesis, facts: Facts) -> Finding:
    """The warning: what the tickets like this one had, and what would settle it. On words alone nothing is changed, so
    no remedy comes with it."""
    check = check_of(hypothesis.id)
    assert check is not None
    return check.found(
        facts,
        "Nothing in this text proves it, but it reads like the tickets that had this cause "
        f"({alike.tickets} are known).",
        evidence=(Evidence(fact=RESEMBLES, value=f"{alike.share:.0%}", source="words of the text"),
                  *check.needs_shown(facts)),
        severity="warning",
        confidence="likely",
        would_settle=hypothesis.would_settle or None,
    )  # fmt: skip


def _told_of(hypothesis: Hypothesis, alike: Resemblance) -> Hypothesis:
    """The hypothesis with where it comes from. It weighs no more than its share of all causes."""
    said = f"tickets that read like this one had it ({alike.tickets} are known)"
    weight = round(min(hypothesis.weight, alike.share), 3)
    return replace(hypothesis, weight=weight, speaks_for=(said, *hypothesis.speaks_for))

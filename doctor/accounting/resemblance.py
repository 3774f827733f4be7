"""What a text resembles, where nothing in it that is understood decides: the causes that labelled tickets with such
words had become hypotheses, and so the next question has an aim. Pure.

Words are compared (doctor/knowledge/words.py), not what they say: no finding comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from doctor.accounting.account import SHOWN, Account, questions_about, weigh
from doctor.checks import check_of
from doctor.knowledge import lookup
from doctor.knowledge.lookup import Resemblance
from doctor.model.facts import Facts
from doctor.model.symptom import RESEMBLES, Hypothesis, Symptom

AT_LEAST = 0.2  # the share of all causes from which one is worth a hypothesis


def with_resemblance(account: Account, text: str, facts: Facts, status: Mapping[str, str]) -> Account:
    """The account of a text without a verdict, with the causes of tickets like it. `status`: of each check's
    outcome."""
    alike = {r.cause: r for r in lookup.resemblances(text) if r.share >= AT_LEAST and check_of(r.cause)}
    told = {h.symptom for h in account.hypotheses}
    symptom = next((s for s in account.left_over if s.id not in told), None) or Symptom(
        id=RESEMBLES, kind="unknown", subject="", text="Nothing in this text names a cause", source="text"
    )
    about = weigh({id: r.share for id, r in alike.items()}, symptom, status, facts)[:SHOWN]
    if not about:
        return account
    symptoms = account.symptoms if symptom in account.symptoms else (*account.symptoms, symptom)
    hypotheses = (*account.hypotheses, *(_told_of(h, alike[h.id]) for h in about))
    return replace(
        account,
        symptoms=symptoms,
        hypotheses=hypotheses,
        questions=questions_about(symptoms, hypotheses, account.findings, facts),
    )


def _told_of(hypothesis: Hypothesis, alike: Resemblance) -> Hypothesis:
    """The hypothesis with where it comes from. It weighs no more than its share of all causes."""
    said = f"tickets that read like this one had it ({alike.tickets} are known)"
    weight = round(min(hypothesis.weight, alike.share), 3)
    return replace(hypothesis, weight=weight, speaks_for=(said, *hypothesis.speaks_for))

"""What a text resembles, where nothing in it that is understood decides: the causes that labelled tickets like it had
become hypotheses, and so the next question has an aim. Pure.

Words, phrases and traits are compared (doctor/knowledge/words.py), and nothing is concluded from what they say. So a
cause that clearly leads is told as a warning that is likely, and no fault comes of it: there is still no verdict. They
can take a verdict away: a fault that is only likely, and that tickets like the text did not have, is a hypothesis
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from doctor.accounting.account import SHOWN, Account, questions_about, weigh
from doctor.accounting.traits import traits_of
from doctor.checks import check_of, is_programs_own
from doctor.checks.run import no_fault_described
from doctor.checks.runner import settle
from doctor.knowledge import words
from doctor.knowledge.words import HEALTHY, Resemblance
from doctor.model.facts import Facts
from doctor.model.finding import ONLY_TOLD, Evidence, Finding
from doctor.model.symptom import RESEMBLES, Hypothesis, Symptom

AT_LEAST = 0.1  # the share of such tickets that had a cause, from which it is worth a hypothesis
LEADS = 0.2  # … and from which the likeliest one is told
ASKS = 0.2  # the same of tickets in which nothing was wrong, from which a text is called a question
DOUBTED = 0.2  # the odds of a likely fault below which it is doubted …
CONTRADICTS = 0.75  # … if another cause has these


def with_resemblance(account: Account, text: str, facts: Facts, status: Mapping[str, str]) -> Account:
    """The account of a text without a verdict, with the causes of tickets like it. `status`: of each check's
    outcome."""
    found = _compared(text, facts, account.symptoms)
    if found and found[0].cause == HEALTHY and found[0].share >= ASKS and _says_nothing(account):
        others = (f for f in account.findings if not is_programs_own(f.id))
        return replace(account, findings=settle((*others, _only_asks(found[0], facts))))
    alike = {r.cause: r for r in found if r.share >= AT_LEAST and check_of(r.cause)}
    told = {h.symptom for h in account.hypotheses}
    symptom = next((s for s in account.left_over if s.id not in told), None) or Symptom(
        id=RESEMBLES, kind="unknown", subject="", text="Nothing in this text proves a cause", source="text"
    )
    about = weigh({id: r.share for id, r in alike.items()}, symptom, status, facts)
    about = sorted((h for h in about if not h.speaks_against), key=lambda h: -alike[h.id].odds)[:SHOWN]
    if not about:
        return account
    symptoms = account.symptoms if symptom in account.symptoms else (*account.symptoms, symptom)
    hypotheses = (*account.hypotheses, *(_told_of(h, alike[h.id]) for h in about))
    findings = account.findings
    if leader := _leader(alike, about, account):
        others = (f for f in findings if not is_programs_own(f.id))
        findings = settle((*others, _told(alike[leader.id], leader, facts)))
    return replace(
        account,
        findings=findings,
        symptoms=symptoms,
        hypotheses=hypotheses,
        questions=questions_about(symptoms, hypotheses, findings, facts),
    )


def contradicts(id: str, account: Account, text: str, facts: Facts, status: Mapping[str, str]) -> bool:
    """Whether tickets like a text had another cause than this likely one. Where the words alone make it likelier than
    not, the phrases, which take longer, are not asked."""
    terms = words.terms_of(text)
    if words.says(terms, traits_of(facts, account.symptoms)).get(id, 0.0) >= 0:
        return False
    odds = {r.cause: r.odds for r in _compared(text, facts, account.symptoms) if status.get(r.cause) != "passed"}
    return odds.get(id, 1.0) < DOUBTED and max(odds.values()) > CONTRADICTS


def _compared(text: str, facts: Facts, symptoms: Iterable[Symptom]) -> tuple[Resemblance, ...]:
    """The causes of tickets like a text, the likeliest first; () where it speaks of something else."""
    return words.resemblances(text, words.terms_of(text), traits_of(facts, symptoms))


def _nothing_found(account: Account) -> bool:
    """Whether no check has found what explains the text. A known defect of the release does not: it need not have been
    met."""
    return all(f.severity == "note" or f.id in ONLY_TOLD or is_programs_own(f.id) for f in account.findings)


def _says_nothing(account: Account) -> bool:
    """Whether no check has found anything, and no message is left over that is known for a fault."""
    return _nothing_found(account) and not any(s.causes for s in account.left_over)


def _only_asks(alike: Resemblance, facts: Facts) -> Finding:
    """The note on a text that describes no fault."""
    return no_fault_described.check.found(
        facts,
        f"It reads like a question, or a wish: in {_of_ten(alike)} labelled tickets like it nothing was wrong.",
        evidence=(Evidence(fact=RESEMBLES, value=f"{alike.share:.0%}", source="labelled tickets"),),
        remedies=no_fault_described.check.usual,
        confidence="likely",
    )


def _leader(alike: Mapping[str, Resemblance], about: Sequence[Hypothesis], account: Account) -> Hypothesis | None:
    """The cause that most of such tickets had, if no check has found anything: it takes the place of a guess that the
    program is at fault."""
    first = about[0]
    known = any(f.id == first.id for f in account.findings)
    return first if alike[first.id].share >= LEADS and not known and _nothing_found(account) else None


def _told(alike: Resemblance, hypothesis: Hypothesis, facts: Facts) -> Finding:
    """The warning: what the tickets like this one had, and what would settle it. On words alone nothing is changed, so
    no remedy comes with it."""
    check = check_of(hypothesis.id)
    assert check is not None
    return check.found(
        facts,
        f"Nothing in this text proves it, but {_of_ten(alike)} labelled tickets like it had this cause: "
        f"{check.title.rstrip('.')}.",
        evidence=(Evidence(fact=RESEMBLES, value=f"{alike.share:.0%}", source="labelled tickets"),
                  *check.needs_shown(facts)),
        severity="warning",
        confidence="likely",
        would_settle=hypothesis.would_settle or None,
    )  # fmt: skip


def _of_ten(alike: Resemblance) -> str:
    """The share in words."""
    return f"about {max(1, round(alike.share * 10))} of 10"


def _told_of(hypothesis: Hypothesis, alike: Resemblance) -> Hypothesis:
    """The hypothesis with where it comes from. It weighs no more than its share of all causes."""
    said = f"tickets that read like this one had it ({alike.tickets} are known)"
    weight = round(min(hypothesis.weight, alike.share), 3)
    return replace(hypothesis, weight=weight, speaks_for=(said, *hypothesis.speaks_for))

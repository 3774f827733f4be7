"""Runs all checks over the facts, once, and settles how their findings relate: borders, roots, consequences, order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache

from doctor.checks import (
    Check,
    Judgement,
    Rule,
    Unknown,
    check_of,
    checks_on,
    gap_of,
    is_known,
    layers,
    occurs_on,
    systems_of,
)
from doctor.checks._accelerators import accelerators
from doctor.checks._memo import once_for_facts
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import LAYERS, Evidence, Finding, Outcome, Status

SEVERITIES = ("fault", "warning", "note")


def judge(facts: Facts, only: Iterable[str] = ()) -> tuple[tuple[Outcome, ...], tuple[Finding, ...]]:
    """All outcomes, and the findings in the order in which to read them. `only` limits the judgement to those ids."""
    wanted = frozenset(only)
    outcomes: list[Outcome] = []
    findings: list[Finding] = []
    for one in _in_order(systems_of(facts)):
        if isinstance(one, Outcome):
            if not wanted or one.id in wanted:
                outcomes.append(one)
        elif _is_asked(one, facts) if one.on_request else not wanted or one.id in wanted:
            outcome, found = run_check(one, facts)
            outcomes.append(outcome)
            findings.extend(found)
    return tuple(outcomes), settle(findings)


@lru_cache(maxsize=16)  # a report that somebody changed may name any system
def _in_order(there: tuple[str, ...]) -> tuple[Check | Outcome, ...]:
    """The checks of what can occur there; in place of each other one, which is not even loaded, its
    outcome."""
    can = {check.id: check for check in checks_on(there)}
    return tuple(can.get(id) or _outcome(id, layer, "passed") for id, layer in layers().items())


def _is_asked(check: Check, facts: Facts) -> bool:
    return all(is_known(facts, need) for need in check.needs)


def run_check(check: Check, facts: Facts) -> tuple[Outcome, tuple[Finding, ...]]:
    """One check alone. A check that raises is `crashed` and never stops the others."""
    id, layer = check.id, check.layer
    try:
        said = _apply(check, check.rule, facts) if check.rule and facts.errors else None
        if not said and check.judge:
            said = check.judge(facts)
        if isinstance(said, Unknown):
            return _outcome(id, layer, "skipped", said.reason), ()
        found = () if said is None else (said,) if isinstance(said, Finding) else tuple(said)
    except Exception as error:
        where = error.__traceback__
        while where and where.tb_next:
            where = where.tb_next
        place = f" (line {where.tb_lineno} of {where.tb_frame.f_code.co_filename})" if where else ""
        return _outcome(id, layer, "crashed", f"{type(error).__name__}: {error}{place}"), ()
    if found:
        return _outcome(id, layer, "found"), found
    why = cannot_say(check, facts)
    return _outcome(id, layer, "skipped", why) if why else _outcome(id, layer, "passed"), ()


@lru_cache(maxsize=2048)  # most outcomes are those of every ticket
def _outcome(id: str, layer: str, status: Status, reason: str = "") -> Outcome:
    return Outcome(id=id, layer=layer, status=status, reason=reason)


def cannot_say(check: Check, facts: Facts) -> str | None:
    """Why a check that found nothing cannot rule its diagnosis out; None where it can: it cannot occur on this system,
    or torch uses every GPU that it would keep from it, or all facts that it needs are known."""
    if check.systems and not occurs_on(check.systems, systems_of(facts)):
        return None
    if check.keeps_from and _refuted(facts, check.keeps_from, check.even_if_listed):
        return None
    for need in check.needs:
        if why := _unknown(facts, need):
            return why
    return None if check.needs else "it does not say what rules it out"


@once_for_facts
def _unknown(facts: Facts, need: str) -> str | None:
    """Why a need of many checks is not met; None where it is."""
    if is_known(facts, need):
        return None
    if need == "messages":
        return "its message was not heard, and not everything was" if facts.live else "its message is not there"
    name = need.partition("|")[0]
    gap = gap_of(facts, name)
    return f"{name} is not known: {gap.detail or gap.reason.replace('-', ' ')}"


@once_for_facts
def _refuted(facts: Facts, keeps_from: tuple[str, ...], even_if_listed: bool) -> bool:
    """Whether torch uses every GPU that a diagnosis would keep from it."""
    kept = [a for a in accelerators(facts) if a.vendor in keeps_from]
    enough = ("proven",) if even_if_listed else ("proven", "used")
    return bool(kept) and all(a.state in enough for a in kept)


def _apply(check: Check, rule: Rule, facts: Facts) -> Judgement:
    for error in facts.errors:
        if error.pattern not in rule.errors:
            continue
        if rule.when and not rule.when(facts, error):
            continue
        if rule.unless and rule.unless(facts, error):
            continue
        values = dict(rule.values(facts, error)) if rule.values else {}
        remedies = rule.remedies(facts) if callable(rule.remedies) else rule.remedies
        return check.found(
            facts,
            rule.detail.format(*error.groups, text=error.text, **values),
            evidence=(quoted(error), *rule.facts),
            remedies=remedies,
            confidence=rule.confidence,
            **values,  # type: ignore[arg-type]
        )
    return None


def quoted(error: ErrorText) -> Evidence:
    """A recognised message as Evidence."""
    source = error.source + (f", line {error.line}" if error.line else "")
    return Evidence(fact="message", value=error.text, source=source, quote=error.text)


def settle(findings: Iterable[Finding], of: Callable[[str], Check | None] = check_of) -> tuple[Finding, ...]:
    """Apply the borders (`instead_of`), mark consequences (`explains`), and order: severity, roots first, layer.

    A replaced finding disappears; a consequence stays, names its root, and is no second fault in the reader's eyes.
    Only a finding at least as severe replaces or explains another one. `of`: the check of an id.
    """
    kept = list(findings)
    if not kept:
        return ()
    by_id = {f.id: check for f in kept if (check := of(f.id))}
    rank = {s: i for i, s in enumerate(SEVERITIES)}

    def beats(winner: Finding, loser: Finding) -> bool:
        return winner.id != loser.id and rank[winner.severity] <= rank[loser.severity]

    replaced = {
        loser.id
        for winner in kept
        for loser in kept
        if loser.id in by_id[winner.id].instead_of
        and winner.id not in by_id[loser.id].instead_of
        and beats(winner, loser)
    }
    kept = [f for f in kept if f.id not in replaced]
    causes: dict[str, str] = {}
    own: dict[int, str] = {}  # of each finding: there may be several of an id, of which not all follow
    for cause in kept:  # in causal order: the earliest layer is the deepest cause
        for place, other in enumerate(kept):
            if _explains(by_id[cause.id], by_id[other.id], other) and beats(cause, other):
                causes.setdefault(other.id, cause.id)
                own.setdefault(place, cause.id)
    kept = [
        replace(f, root=False, explained_by=own[place]) if place in own and _grounded(f.id, causes) else f
        for place, f in enumerate(kept)
    ]
    return tuple(sorted(kept, key=lambda f: (rank[f.severity], not f.root, LAYERS.index(f.layer))))


def _explains(cause: Check, check: Check, other: Finding) -> bool:
    """Whether findings of `cause` explain `other`: by declaration, or because they keep the GPUs that it misses."""
    if other.id in cause.explains:
        return True
    return check.follows_kept_gpus and bool(set(other.values.get("vendors", "").split(", ")) & set(cause.keeps_from))


def _grounded(id: str, causes: dict[str, str]) -> bool:
    """Whether id has a cause that is not, in a circle, its own consequence."""
    seen = {id}
    while id in causes:
        id = causes[id]
        if id in seen:
            return False
        seen.add(id)
    return len(seen) > 1

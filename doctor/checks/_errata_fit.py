"""Which erratum is behind what a text or a probe shows. Pure.

A message that only one fault prints is the best lead, then a computation of the probe that was found wrong, a thread
that the text cites, and the operation that it names. Where it names none, what it shows (evidence/signs.py) is compared
with what the rows say, and counts with how closely a row is about this very release, system and device.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from math import log

from doctor.checks._errata import matches
from doctor.checks._torch import numbers
from doctor.evidence import signs, threads
from doctor.knowledge import lookup
from doctor.knowledge.errata import Erratum, Match, newest_in
from doctor.knowledge.load import of_tables
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.values import dataclass

# People compare results with these: they are the fault only where nothing else is named.
MEASURES = ("abs", "all", "allclose", "any", "argmax", "equal", "max", "mean", "min", "std", "sum", "to", "item")
SEEN_ALONE = 1.0  # how much must fit where no operation is named
PLACED = 0.5  # for each condition of a row that is met here
COVERED = 0.5  # where a row has all that is seen
WHERE_SEEN = {"images", "text", "training"}  # in what work it was met, which says little of what is wrong
NOT_SURE = 0.25  # lost where it is not known whether this very build has it
FEW = 3  # releases
NEAR_DAYS = 200
NOT_CITED = 1_000


def with_message(facts: Facts, diagnosis: str) -> tuple[Match, ErrorText] | None:
    """The erratum whose message was heard, with the message; where torch's release is not known, a verified one, if
    no other row has that message. A message that other faults print too counts only of a known release, where the
    text names the operation. Left out: what a recognised message says that does not mean `diagnosis`; and a build that
    is only judged by the releases around it."""
    rows = ((e, lookup.error_pattern(e.pattern)) for e in facts.errors)
    meant = {e.text for e, row in rows if row and diagnosis not in row.causes}
    spoken = [(" ".join(e.text.lower().split()), e) for e in facts.errors if not any(m in e.text for m in meant)]
    together = "\n".join(text for text, _ in spoken)
    said = [(id, message) for id, message in _messages() if message in together]
    heard = {id: e for id, message in said for text, e in reversed(spoken) if message in text}
    if not heard:
        return None
    unknown = isinstance(facts.torch, Torch | None) and (facts.torch is None or facts.torch.version is None)
    ops = {_name(op) for op in facts.operations}
    for match in matches(facts):
        erratum, error = match.erratum, heard.get(match.erratum.id)
        if error is None or (erratum.shared and (unknown or not {_name(op) for op in erratum.ops} & ops)):
            continue
        same = (m.erratum for m in matches(facts) if heard.get(m.erratum.id) is error)
        alone = unknown and [e for e in same if _was_out(e, facts.as_of)] == [erratum]
        guess = alone and erratum.status == "verified"
        if _is_certain(match, facts) or guess:
            return match, error
    return None


def _was_out(erratum: Erratum, as_of: str | None) -> bool:
    """Whether any build that has the fault was there on a day."""
    if as_of is None or (erratum.nightlies and str(erratum.nightlies[0]) <= as_of):
        return True
    return any(lookup.affects(erratum, release) for release in lookup.torch_versions(as_of=as_of))


@of_tables
def _messages() -> tuple[tuple[str, str], ...]:
    """(id, its message as it is looked for) of the errata that print one."""
    return tuple((e.id, " ".join(e.message.lower().split())) for e in lookup.errata() if e.message.strip())


def out_of_memory(facts: Facts) -> tuple[Match, ErrorText] | None:
    """The erratum that makes an operation take far too much memory, where a text names that operation and memory ran
    out, with the message that says so."""
    rows = ((e, lookup.error_pattern(e.pattern)) for e in facts.errors)
    error = next((e for e, row in rows if row and row.kind == "memory"), None)
    if error is None:
        return None
    for fit in explaining(facts, ("slow", "leak"), ("cuda", "rocm", "xpu")):
        match, e = fit.match, fit.match.erratum
        if fit.named and "memory" in f"{e.title} {e.symptom}" and e.status == "verified" and _is_certain(match, facts):
            return match, error
    return None


def _is_certain(match: Match, facts: Facts) -> bool:
    """Whether this very build is known to have it, whatever else is not known of the machine."""
    torch = facts.torch
    dated = bool(match.erratum.nightlies)
    version = torch.version if isinstance(torch, Torch) else None
    return bool(version) and (match.exact or dated) and lookup.affects(match.erratum, str(version)) is True


def cited(facts: Facts) -> tuple[Match, None] | None:
    """The erratum of this very build, on what is here, whose thread the text cites."""
    of_threads = _of_threads(facts)
    found = (m for m in matches(facts) if m.erratum.id in of_threads and _is_certain(m, facts)) if of_threads else ()
    match = min(found, key=lambda m: of_threads[m.erratum.id], default=None)
    return (match, None) if match else None


@dataclass(frozen=True)
class Fit:
    """An erratum that may be behind what is shown. `named`: the text names its operation, or the probe found its own
    computation wrong; else only what is seen fits."""

    match: Match
    named: bool


def explaining(facts: Facts, kinds: Iterable[str], backends: Iterable[str]) -> tuple[Fit, ...]:
    """The errata of these kinds and backends that the text or the probes lead to, the best fit first."""
    kinds, backends = frozenset(kinds), frozenset(backends)
    ops = {_name(op) for op in facts.operations}
    faults = {
        str(fault).replace("-", "_")
        for probe in facts.probes or ()
        for listed in (probe.data.get("silent_faults"),)
        if isinstance(listed, list | tuple)
        for fault in listed
    }
    of_threads = _of_threads(facts)
    common, worth, shown = _how_common(), _worth(kinds, backends), set(facts.signs)
    telling = shown - WHERE_SEEN
    found = []
    for place, match in enumerate(matches(facts)):
        e = match.erratum
        if e.kind not in kinds or not backends & set(match.backends):
            continue
        proven = bool(e.trigger) and e.trigger in faults
        cited = e.id in of_threads
        concerned = {_name(op) for op in e.ops} & ops
        measured = {op for op in concerned if op in MEASURES}
        said = sum(1 / common[op] for op in concerned - measured)
        shared = _signs_of(e) & shown
        seen = sum(worth[sign] for sign in shared)
        if telling:
            seen += COVERED * len(shared & telling) / len(telling)
        placed = PLACED * _closeness(match, facts)
        certain = _is_certain(match, facts)
        fit = seen + placed - (0 if certain else NOT_SURE)
        named = proven or cited or bool(concerned)
        if named or (seen and fit >= SEEN_ALONE and (certain or _is_near(e, facts))):
            told = (not proven, of_threads.get(e.id, NOT_CITED), not said, bool(said) and not certain, -said)
            order = (*told, not measured, -fit, place)
            found.append((order, Fit(match, named)))
    return tuple(fit for _, fit in sorted(found, key=lambda one: one[0]))


def _name(op: str) -> str:
    """The last part of an operation's name, in lower case: "nn.functional.linear" and "Linear" are one."""
    return op.rpartition(".")[2].lower()


@of_tables
def _how_common() -> Mapping[str, int]:
    """How many errata concern an operation: one that few concern says more."""
    return Counter(name for e in lookup.errata() for name in {_name(op) for op in e.ops})


def _of_threads(facts: Facts) -> dict[str, int]:
    """The ids of the errata whose threads the text cites, each with that thread's place among its sources: the first
    is the report of the fault itself."""
    found: dict[str, int] = {}
    cited = frozenset(facts.threads)
    numbers = {thread.rpartition("#")[2] for thread in cited}
    for erratum in lookup.errata() if cited else ():
        for place, source in enumerate(erratum.sources):
            if any(number in source for number in numbers) and not cited.isdisjoint(threads.of(source)):
                found.setdefault(erratum.id, place)
    return found


@of_tables
def _signs_of(erratum: Erratum) -> frozenset[str]:
    """What a row says of how its fault shows and when."""
    found = set(signs.of(f"{erratum.title}\n{erratum.symptom}\n{erratum.workaround}\n{' '.join(erratum.ops)}"))
    if any(">" in wanted for wanted in erratum.systems.values()):
        found.add("system-updated")  # it began with a release of the system
    return frozenset(found)


@of_tables
def _worth(kinds: frozenset[str], backends: frozenset[str]) -> Mapping[str, float]:
    """What each sign counts: the more, the fewer rows of these kinds and backends show it. From 0 to 1."""
    rows = [e for e in lookup.errata() if e.kind in kinds and backends & set(e.backends)]
    shown = Counter(sign for e in rows for sign in _signs_of(e))
    whole = log(len(rows) + 1)
    return {sign: log((len(rows) + 1) / (shown[sign] or 1)) / whole for sign in signs.SIGNS} if rows else {}


def _is_near(erratum: Erratum, facts: Facts) -> bool:
    """Whether the build here, of which it is not known if it has the fault, was made within months of one that had
    it."""
    torch = facts.torch
    version = torch.version if isinstance(torch, Torch) else None
    made = lookup.release_date(lookup.release_of(version)) if version else None
    newest = newest_in(erratum.versions)
    seen = lookup.release_date(newest) if newest else erratum.nightlies[0] if erratum.nightlies else None
    if made is None or seen is None:
        return False
    return abs((date.fromisoformat(made) - date.fromisoformat(seen)).days) <= NEAR_DAYS


def _closeness(match: Match, facts: Facts) -> int:
    """How many of its conditions, beyond the backend, tie a row to this place: the system (twice, where it was updated
    to that in which the fault began), the device, few releases."""
    e, host = match.erratum, facts.host
    wanted = e.systems.get(host.system or "", "") if "the version of macOS" not in match.unknown else ""
    began = re.findall(r">=? ?([\d.]+)", wanted) if "system-updated" in facts.signs else []
    few = sum(lookup.affects(e, release) is True for release in lookup.torch_versions()) <= FEW
    return (
        bool(wanted)
        + any(numbers(first)[:2] == numbers(host.macos or "")[:2] for first in began)
        + (bool(e.devices) and "the model of the device" not in match.unknown)
        + (few and not any(u.startswith("whether") for u in match.unknown))
    )


def alone(facts: Facts, kind: str, backend: str) -> tuple[Fit, ...]:
    """The erratum of a kind that holds on a backend whatever the operation, if it is the only one of that kind there: a
    text that names no operation leads to it."""
    found = [m for m in matches(facts) if m.erratum.kind == kind and backend in m.backends and m.applies]
    return (Fit(found[0], named=False),) if len(found) == 1 else ()

"""This torch is known to be broken in ways that this machine meets.

What it means
    Every release of torch has faults of its own; these concern exactly this one, on this device and system. Whatever is
    computed without the operations named is not touched by them. A warning: results are wrong, turn to NaN, or memory
    leaks, and nothing tells you. A note: crashes, errors and slowness, which are seen when they come.

How to see it yourself
    torchdoctor errata lists all of them; torchdoctor explain ERRATUM-ID tells more of one; torchdoctor probe --errata
    tries those for which a short computation is known.

What to do
    Where you use one of the operations named, take the workaround that is given, or install the release with the fix.

References
    https://github.com/pytorch/pytorch/issues?q=label%3A%22module%3A+correctness+%28silent%29%22
    https://github.com/pytorch/pytorch/releases (the known issues of each release)
"""

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._errata import as_evidence, matches, used_backends
from doctor.checks._torch import release_of
from doctor.knowledge import lookup
from doctor.knowledge.errata import Match
from doctor.model.facts import Facts, Torch
from doctor.model.finding import Finding, Remedy, Severity

NOTHING = "take the workaround where you use the operations that are named"
check = Check(
    severity="warning",
    needs=("torch.version",),
    usual=(Remedy(action="none", details={"reason": NOTHING}, text=f"{NOTHING[0].upper()}{NOTHING[1:]}."),),
)

SHOWN = 3


@check
def judge(facts: Facts) -> Judgement:
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.imports is False or torch.version is None:
        return None
    used = used_backends(facts)
    if not used:
        return Unknown("whether torch computes on a device here is not known")
    known = [m for m in matches(facts) if m.applies and m.erratum.status != "unclear"]
    silent = [m for m in known if _warns(m, used)]
    rest = [m for m in known if m not in silent]
    found = [_found(facts, silent, "warning")] if silent else []
    found += [_found(facts, rest, "note")] if rest else []
    may = len(matches(facts))
    return found or (Unknown(f"whether {may} errata hold here is not known: torchdoctor errata -v") if may else None)


def _warns(match: Match, used: tuple[str, ...]) -> bool:
    """Whether it spoils results or memory without a word, on a device that torch uses. A build that is only judged by
    the releases around it may have been patched."""
    e = match.erratum
    return e.silent and e.severity != "minor" and match.exact and any(b in used for b in match.backends)


def _found(facts: Facts, known: list[Match], severity: Severity) -> Finding:
    release = release_of(facts) or ""
    titles = "; ".join(m.erratum.title for m in known[:SHOWN])
    more = f"; and {len(known) - SHOWN} more: torchdoctor errata" if len(known) > SHOWN else ""
    free = _first_without(release, known)
    cured = f" torch {free} has {'none of them' if len(known) > 1 else 'it fixed'}." if free else ""
    reason = NOTHING + (f", or torch {free}" if free else "")
    advice = Remedy(action="none", details={"reason": reason}, text=f"{reason[0].upper()}{reason[1:]}.")
    return check.found(
        facts,
        f"Known of torch {release} here: {titles}{more}.{cured}",
        evidence=("torch.version", *(as_evidence(m) for m in known)),
        remedies=(advice,),
        severity=severity,
        torch=release,
        count=len(known),
        errata=" ".join(m.erratum.id for m in known),
        first_without=free,
    )


def _first_without(release: str, known: list[Match]) -> str | None:
    """The first later release that is known to have none of them."""
    known_releases = lookup.torch_versions()
    later = known_releases[known_releases.index(release) + 1 :] if release in known_releases else ()
    return next((v for v in later if all(lookup.affects(m.erratum, v) is False for m in known)), None)

"""What stands in a comparison, whatever the format: the sentence on top, the sections of differences, their remarks.
Pure."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.compare import Comparison, Difference, Explained, Rank, Unexplained
from doctor.model.values import dataclass

TITLES: dict[Rank, str] = {
    "explains": "Explains it",  # proven by judging again
    "rests": "What the findings rest on",
    "follows": "What follows, or was seen",
    "matters": "Could matter: a check, the choice of a build or a probe depends on it",
    "incidental": "Nothing depends on it",
}
SHOWN: dict[Rank, int] = {"explains": 12, "rests": 6, "follows": 6, "matters": 8, "incidental": 0}
VERDICTS = {"healthy": "healthy", "faulty": "faulty", "unknown": "no verdict"}


@dataclass(frozen=True)
class Section:
    """The differences of one rank. `more`: how many are not shown."""

    rank: Rank
    title: str
    differences: tuple[Difference, ...]
    more: int


def sections(comparison: Comparison, *, every: bool = False) -> tuple[Section, ...]:
    """Those that have something, in their order; `every`: nothing left out."""
    made = []
    for rank, title in TITLES.items():
        found = tuple(d for d in comparison.differences if d.rank == rank)
        shown = found if every else found[: SHOWN[rank]]
        if found:
            made.append(Section(rank, title, shown, len(found) - len(shown)))
    return tuple(made)


def verdict(comparison: Comparison) -> str:
    """The one sentence on top."""
    causes = [d for d in comparison.differences if d.rank == "explains"]
    findings = list(dict.fromkeys(e.finding for d in causes for e in d.explains if _counts(comparison, e)))
    if findings:
        alone = [d.label for d in causes if any(e.finding == findings[0] and not e.together_with for e in d.explains)]
        labels = alone or [d.label for d in causes if any(e.finding == findings[0] for e in d.explains)]
        joined = (" or " if alone else " together with ").join(labels[:3])
        more = f" ({len(findings) - 1} more below)" if len(findings) > 1 else ""
        return f"{findings[0]} is explained by {joined}{more}."
    if comparison.unexplained:
        one = next((u for u in comparison.unexplained if u.rests_on), comparison.unexplained[0])
        if one.rests_on:
            differs = "differs" if len(one.rests_on) == 1 else "differ"
            return f"{one.finding} of {one.machine} rests on {listed(one.rests_on, 3)}, which {differs}."
        return f"No known difference explains {one.finding} of {one.machine}."
    if any(d.rank != "incidental" for d in comparison.differences):
        same = {tuple(f.id for f in m.findings) for m in comparison.machines}
        unsure = [m.name for m in comparison.machines if m.verdict == "unknown"]
        if 0 < len(unsure) < len(comparison.machines):
            return f"What differs explains no finding, and there is no verdict on {listed(unsure)}."
        if len(same) == 1:
            return "The findings are the same on all machines; what differs explains none of them."
        return "They differ, and no finding is explained by it."
    return "Nothing differs that a check, the choice of a build or a probe depends on."


def _counts(comparison: Comparison, explained: Explained) -> bool:
    """Whether it is a fault or a warning that is explained; notes do not make the headline."""
    return any(
        f.id == explained.finding and f.severity != "note"
        for m in comparison.machines
        if m.name == explained.machine
        for f in m.findings
    )


def remarks(difference: Difference) -> Iterator[str]:
    """What it explains, one sentence for each finding, however many machines have it."""
    by: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for one in difference.explains:
        by.setdefault((one.finding, one.reference, one.together_with), []).append(one.machine)
    for (finding, reference, others), machines in by.items():
        also = f" and its {', '.join(others)}" if others else ""
        yield f"{finding} of {listed(machines)} is gone with the value of {reference}{also}"


def unexplained(left: Unexplained) -> str:
    """One finding without a proven reason, in a sentence."""
    named = f"; it rests on {listed(left.rests_on, 4)}, which may be it" if left.rests_on else ""
    return f"{left.why}{named}"


def listed(names: list[str] | tuple[str, ...], at_most: int = 4) -> str:
    """Some names: "a, b, c, d and 12 more"."""
    more = len(names) - at_most
    return ", ".join(names[:at_most]) + (f" and {more} more" if more > 0 else "")


def found(comparison: Comparison, index: int) -> str:
    """The verdict of one machine with its findings: "faulty: gpu-hidden"."""
    machine = comparison.machines[index]
    ids = [
        f.id + (" (likely)" if f.confidence == "likely" else "") for f in machine.findings if f.severity != "note"
    ]
    return VERDICTS[machine.verdict] + (f": {', '.join(ids)}" if ids else "")


def value_at(difference: Difference, name: str) -> str:
    """The value that one machine has."""
    return next((value.text for value in difference.values if name in value.machines), "not known")

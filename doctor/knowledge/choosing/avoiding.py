"""Newest is not always best: a build with a grave erratum on this machine comes behind one that serves as well.

Only a neighbour takes its place (of the same minor release or the one before), and only one that lacks a grave erratum
of the newer one and has no other: of older releases less is written down, which does not make them better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from doctor.knowledge import lookup
from doctor.knowledge.choosing.machines import Kind, Machine
from doctor.knowledge.errata import Erratum, Match, Place, grave_for
from doctor.knowledge.load import of_tables
from doctor.knowledge.versions import numbers

if TYPE_CHECKING:
    from doctor.knowledge.choosing.ranking import Candidate, Trial

NAMED = 2  # errata told in a reason


def preferred(trials: Sequence[Trial], machine: Machine, kind: Kind) -> Iterator[Trial]:
    """The trials, best first, with the first one behind a neighbour where that is better off, and both saying why."""
    first = trials[0]
    bad = {m.erratum.id: m.erratum for m in grave(first.candidate, machine, kind) if m.applies}
    near = takewhile(partial(_is_near, first), islice(trials, 1, None)) if bad else ()
    for other in near:
        if not _serves_as_well(first, other):
            continue
        there = {m.erratum.id: m.applies for m in grave(other.candidate, machine, kind)}
        lacks = [e for id, e in bad.items() if id not in there]
        if lacks and all(id in bad for id, applies in there.items() if applies):
            yield from _swapped(first, other, lacks)
            yield from (t for t in islice(trials, 1, None) if t is not other)
            return
    yield from trials


def _swapped(first: Trial, other: Trial, lacks: list[Erratum]) -> tuple[Trial, Trial]:
    said = "; ".join(f"{e.title} ({e.id})" for e in lacks[:NAMED])
    said += f"; and {len(lacks) - NAMED} more" if len(lacks) > NAMED else ""
    newest = first.candidate
    reason = f"{newest.release} is newer, but it has a known fault here: {said}"
    chosen = replace(other, candidate=replace(other.candidate, reasons=(*other.candidate.reasons, reason)))
    behind = replace(
        first,
        candidate=replace(newest, against=(*newest.against, f"known fault: {said}")),
        known_fault=True,
    )
    return chosen, behind


def _is_near(first: Trial, other: Trial) -> bool:
    """Whether a build is of the same minor release as the first one or of the one before. What serves as well comes in
    the order of the releases, so none follows behind the first that is not."""
    newer, older = (numbers(t.candidate.release)[:2] for t in (first, other))
    return newer == older or older == _minor_before(newer)


def _serves_as_well(first: Trial, other: Trial) -> bool:
    a, b = first.candidate, other.candidate
    return (
        b.covers == a.covers
        and other.strongest == first.strongest
        and other.crutch == first.crutch
        and other.missing_companions <= first.missing_companions
        and (b.status == "verified" or a.status != "verified")
    )


@of_tables
def _minor_before(minor: tuple[int, ...]) -> tuple[int, ...] | None:
    minors = sorted({numbers(v)[:2] for v in lookup.torch_versions()})
    return minors[minors.index(minor) - 1] if minor in minors and minors.index(minor) else None


def grave(candidate: Candidate, machine: Machine, kind: Kind) -> list[Match]:
    """The grave errata of that build on this machine, those that may hold too. What it would bring along is known where
    its wheel pins it."""
    if not candidate.release or kind == "jetson":
        return []
    cuda = lookup.cuda_of_backend(candidate.backend)
    pins = lookup.pins_of(candidate.release, candidate.backend)
    cudnn = next((version for name, version in pins.items() if name.startswith("nvidia-cudnn")), None)
    known = {"python": machine.python, "cuda": cuda, "cudnn": cudnn}
    place = Place(
        version=candidate.release,
        backends=(kind,),
        devices={kind: tuple(name for c in machine.of(kind) if (name := _device(c.target, kind, c.name)))},
        system={"linux": "linux", "macos": "darwin", "win": "windows"}[machine.platform.partition("_")[0]],
        system_version=machine.macos,
        libraries={name: version for name, version in known.items() if version},
    )
    return list(grave_for(place))


def _device(target: str | None, kind: Kind, name: str) -> str | None:
    if kind == "cuda":
        return f"sm_{target.replace('.', '')}" if target else None
    if kind == "mps":
        return next((word for word in name.split() if word[:1] == "M" and word[1:].isdigit()), None)
    return target

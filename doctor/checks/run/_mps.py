"""What is known of faults of MPS in a range of torch and macOS."""

from __future__ import annotations

import re

from doctor.checks._torch import numbers, release_of
from doctor.knowledge import lookup
from doctor.model.facts import Facts


def known_faults(facts: Facts, cause: str) -> tuple[lookup.KnownFault, ...]:
    """The known faults of that id whose ranges hold this torch and this macOS; those for any version come last."""
    release, macos = release_of(facts), facts.host.macos
    if release is None:
        return ()
    held = [
        f
        for f in lookup.mps_faults()
        if f.cause == cause and within(release, f.torch) and (not macos or within(macos, f.macos))
    ]
    return tuple(sorted(held, key=lambda f: f.torch == "any"))


def within(version: str, words: str) -> bool:
    """Whether a version lies in a range such as "2.7-2.13.0", "<= 2.9", "< 2.11.0", "14.4", "any"; a bound that names
    fewer parts stands for all that begin so.

    >>> within("2.13.1", "2.7-2.13.0"), within("2.0.1", "<= 2.0.x"), within("26.2", "26.x")
    (False, True, True)
    """
    here = numbers(version)
    if words.startswith("any"):
        return True
    if found := re.match(r"(<=?)\s*(\d[\d.]*\d|\d)", words):
        bound = numbers(found[2])
        return here[: len(bound)] <= bound if found[1] == "<=" else here < bound
    if found := re.match(r"(\d[\d.]*)(?:\.x)?\s*-\s*(\d[\d.]*\d|\d)", words):
        first, last = numbers(found[1]), numbers(found[2])
        return here[: len(first)] >= first and here[: len(last)] <= last
    if found := re.match(r"(\d[\d.]*\d|\d)(?:\.x)?", words):
        bound = numbers(found[1])
        return here[: len(bound)] == bound
    return False

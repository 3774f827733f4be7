"""Which of several like things is too slow, and which end of a bad link is to blame. Standard library only: the ranks
use it to choose what to measure again, doctor/fleet to judge.

The rule is one-sided: below median - max(3 * 1.4826 * MAD, share * median). 1.4826 * MAD estimates the standard
deviation of normal data (Rousseeuw and Croux, Alternatives to the median absolute deviation, JASA 1993). Fewer than
FEWEST say nothing of each other. Where rates scatter so much that the limit lies far below the median, what is between
the two is not known to be slow, nor to be healthy: it is noisy.
"""

from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

Edge = Tuple[Any, Any]
FEWEST = 4
DEVICE_SHARE = 0.05  # equal GPUs differ by a few per cent
LINK_SHARE = 0.10
DEVICE_NOISE, LINK_NOISE = 0.10, 0.20  # below the median by more is not healthy, however rates scatter
MADS = 3 * 1.4826


def median(values: Iterable[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2.0


def spread(values: Sequence[float]) -> Tuple[float, float]:
    """(median, median absolute deviation)"""
    centre = median(values)
    return centre, median(abs(value - centre) for value in values)


def threshold(values: Sequence[float], share: float) -> Optional[float]:
    """Below it is slow; None where there are too few."""
    if len(values) < FEWEST:
        return None
    centre, mad = spread(values)
    return centre - max(MADS * mad, share * centre)


def is_noisy(value: float, centre: float, noise: float) -> bool:
    """Whether a rate that is not slow by the rule is too far below the class's median to be called healthy."""
    return value < (1.0 - noise) * centre


def culprits(edges: Iterable[Edge], bad: Iterable[Edge]) -> Tuple[List[Any], List[Edge]]:
    """(ends to blame, pairs to blame) for the bad ones among measured pairs; both directions are one pair.

    Bad with at least two different partners: the end. Bad with one: the link. The end with most bad pairs comes first
    (of equals the one with the larger share), because its partners look bad by it alone.
    """
    partners: Dict[Any, Set[Any]] = {}
    for one, other in edges:
        partners.setdefault(one, set()).add(other)
        partners.setdefault(other, set()).add(one)
    ill: Dict[Any, Set[Any]] = {}
    for one, other in bad:
        ill.setdefault(one, set()).add(other)
        ill.setdefault(other, set()).add(one)
    ends = []
    while ill:
        worst = max(ill, key=lambda end: (len(ill[end]), len(ill[end]) / float(max(1, len(partners.get(end, ()))))))
        if len(ill[worst]) < 2:
            break
        ends.append(worst)
        for other in ill.pop(worst) - {worst}:  # two nodes may have one name
            ill[other].discard(worst)
            if not ill[other]:
                del ill[other]
    seen, links = set(), []
    for one, others in ill.items():
        for other in others:
            if frozenset((one, other)) not in seen:
                seen.add(frozenset((one, other)))
                links.append((one, other))
    return ends, links

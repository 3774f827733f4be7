"""What a comparison of machines says: schema "compare-1"."""

from __future__ import annotations

from typing import Literal

from doctor.model.finding import Severity
from doctor.model.values import dataclass

SCHEMA = "compare-1"
Rank = Literal["explains", "rests", "follows", "matters", "incidental"]
RANKS: tuple[str, ...] = Rank.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Found:
    """A diagnosis of one machine that nothing else explains."""

    id: str  # public: torchdoctor explain ID
    severity: Severity  # only a fault makes the verdict "faulty"
    title: str  # what it is, one sentence
    confidence: Literal["certain", "likely"] = "certain"  # "likely": concluded from what is left over


@dataclass(frozen=True, kw_only=True)
class Machine:
    """One of the machines that were compared."""

    name: str  # of its report or evidence
    summary: str  # its torch, Python, system, GPUs and driver in one line
    verdict: Literal["healthy", "faulty", "unknown"]  # of this version's judgement
    findings: tuple[Found, ...] = ()  # the roots, faults first


@dataclass(frozen=True, kw_only=True)
class Value:
    """A value, and which machines have it."""

    text: str  # as people read it
    machines: tuple[str, ...]  # names


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A finding that is gone when its machine is judged again with the value of another one that lacks it."""

    machine: str  # that has the finding
    finding: str  # its id
    reference: str  # the machine whose value was taken
    together_with: tuple[str, ...] = ()  # labels of the other differences that must be taken along; usually none


@dataclass(frozen=True, kw_only=True)
class Difference:
    """What differs: one thing, though it may show in several facts.

    `rank`: "explains" (judged with another machine's value, a finding is gone), "rests" (a finding's evidence or its
    check names it), "follows" (what torch, the driver or a program then said), "matters" (a check, the choice of a
    build or a probe depends on it), "incidental" (nothing depends on it).
    """

    subject: str  # stable: "nvidia-driver", "packages.numpy", "environ.CUDA_VISIBLE_DEVICES"
    label: str  # as people say it: "NVIDIA driver"
    rank: Rank  # what it means, see above
    facts: tuple[str, ...]  # the dotted facts that differ
    values: tuple[Value, ...]  # the different values, the first machine's first
    unknown: tuple[str, ...] = ()  # machines of which it is not known
    explains: tuple[Explained, ...] = ()  # the findings that it explains
    used_by: tuple[str, ...] = ()  # what depends on it: ids of checks (at most 5), "choice of a build", "probe"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Machines with the same findings and the same values of all that counts."""

    machines: tuple[str, ...]  # names
    verdict: Literal["healthy", "faulty", "unknown"]  # of all of them
    findings: tuple[str, ...] = ()  # ids of the roots that all of them have
    odd: bool = False  # not the largest group, nor as large


@dataclass(frozen=True, kw_only=True)
class Unexplained:
    """A finding that no known difference explains."""

    machine: str  # that has it
    finding: str  # its id
    why: str  # one sentence
    rests_on: tuple[str, ...] = ()  # labels of what differs and is named by its evidence or its check: not proven


@dataclass(frozen=True, kw_only=True)
class Known:
    """What is the same on all machines, or not known of some."""

    label: str  # as people say it
    text: str  # the value; of what is not known, the machines of which it is not
    rank: Rank = "incidental"  # as a difference in it would be ranked at least


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """schema "compare-1": see reports/compare-1.schema.json."""

    schema: str = SCHEMA  # always "compare-1"
    tool: str  # who made it: "torchdoctor 1.0"
    taken_at: str  # when the newest of the machines was judged, UTC
    machines: tuple[Machine, ...]  # in the order of the arguments; the first is the one known to be good
    differences: tuple[Difference, ...] = ()  # those that explain a finding first
    unexplained: tuple[Unexplained, ...] = ()  # findings that some machines have and others lack, without a reason
    groups: tuple[Group, ...] = ()  # the largest first
    same: tuple[Known, ...] = ()  # what matters and is the same
    unknown: tuple[Known, ...] = ()  # what matters and cannot be compared
    redacted: bool = False  # whether names, secrets and serial numbers were replaced by stand-ins

"""What the judgement says: outcomes of checks, findings, and the remedies that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from doctor.model.values import dataclass

Severity = Literal["fault", "warning", "note"]
Status = Literal["passed", "found", "skipped", "crashed"]  # of a check
# Tells of the release, not of this machine: every torch has some. It gets no fix, and --strict does not count it.
ONLY_TOLD = ("known-errata",)
SAID_LAST = ("harmless-warning",)  # after what is left unexplained: nobody is to stop reading there
ASKS_ONLY = "no-fault-described"  # a text that reads like a question
NO_FAULT = (*SAID_LAST, ASKS_ONLY)  # what they say of a text is that it shows no fault
OPEN_IF_NOTED = ("requirement-unmet",)  # a note of it: what was required is not known, so there is no verdict
LAYERS = ("machine", "driver", "interpreter", "torch", "libraries", "install", "run")  # in causal order


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One fact that a finding rests on."""

    fact: str  # dotted name, or a label such as "needed"
    value: str  # as text
    source: str = ""  # where it was seen
    quote: str = ""  # the text as it stood there


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What would cure a finding, in the closed vocabulary of docs/design.md section 7, before it is made into steps.

    `details` keys: torch actions take `torch` (exact version or PEP 440 specifier) and `backend`; others `package`,
    `spec`, `name`, `value`, `minimum`, `module`, `path`, `reason`. `instead_of` names the torch that was asked for,
    where another takes its place; replace-interpreter takes `torch` and `backend`, too. A torch action without them:
    the choice decides.
    """

    action: str  # of the closed vocabulary: "upgrade-driver", "install-torch"
    details: Mapping[str, str] = field(default_factory=dict)  # what the action needs, by the keys above
    text: str = ""  # one sentence for the user where the action's own sentence would not do


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One diagnosis. `root` is False and `explained_by` set when another finding causes it."""

    id: str  # public and never reused: torchdoctor explain ID
    layer: str  # machine, driver, interpreter, torch, libraries, install or run, in causal order
    severity: Severity  # only a fault makes the verdict "faulty"
    title: str  # what it is, one sentence
    detail: str  # the same with the values of this machine
    values: Mapping[str, str] = field(default_factory=dict)  # the values that the sentences name, by their names
    evidence: tuple[Evidence, ...] = ()  # what it rests on
    confidence: Literal["certain", "likely"] = "certain"  # "likely": concluded from what is left over
    root: bool = True  # whether nothing else that was found causes it
    explained_by: str | None = None  # the finding that causes it
    remedies: tuple[Remedy, ...] = ()  # the first is the one to take, the others are alternatives


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one check ended: «nothing found» can be told from «couldn't look»."""

    id: str  # of the check
    layer: str  # of the check
    status: Status  # "passed": ruled out; "skipped": cannot say
    reason: str = ""  # why it was skipped or crashed

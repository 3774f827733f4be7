"""What the judgement says: outcomes of checks, findings, and the remedies that they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["fault", "warning", "note"]
# Tells of the release, not of this machine: every torch has some. It gets no fix, and --strict does not count it.
ONLY_TOLD = ("known-errata",)
LAYERS = ("machine", "driver", "interpreter", "torch", "libraries", "install", "run")  # in causal order


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One fact that a finding rests on."""

    fact: str  # dotted name, or a label such as "needed"
    value: str
    source: str = ""
    quote: str = ""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """What would cure a finding, in the closed vocabulary of docs/design.md section 7, before it is made into steps.

    `details` keys: torch actions take `torch` (exact version or PEP 440 specifier) and `backend`; others `package`,
    `spec`, `name`, `value`, `minimum`, `module`, `path`, `reason`. `instead_of` names the torch that was asked for,
    where another takes its place; replace-interpreter takes `torch` and `backend`, too. A torch action without them:
    the choice decides.
    """

    action: str
    details: Mapping[str, str] = field(default_factory=dict)
    text: str = ""  # one sentence for the user where the action's own sentence would not do


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One diagnosis. `root` is False and `explained_by` set when another finding causes it."""

    id: str
    layer: str
    severity: Severity
    title: str
    detail: str
    values: Mapping[str, str] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    confidence: Literal["certain", "likely"] = "certain"
    root: bool = True
    explained_by: str | None = None
    remedies: tuple[Remedy, ...] = ()  # the first is the one to take, the others are alternatives


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How one check ended: «nothing found» can be told from «couldn't look»."""

    id: str
    layer: str
    status: Literal["passed", "found", "skipped", "crashed"]
    reason: str = ""

"""The whole answer: what JSON reports hold and what every renderer takes."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from doctor.model.facts import Facts
from doctor.model.finding import Finding, Outcome
from doctor.model.fix import Plan
from doctor.model.symptom import Hypothesis, Question, Symptom
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Target:
    """The environment that was examined. `reason` says why it was this one («active environment»)."""

    python: str | None  # the Python that was examined, its path; null where the evidence names none
    reason: str  # why this one: "active environment", "--python"
    evidence: tuple[str, ...] = ()  # the names of the files read, for --from


@dataclass(frozen=True, kw_only=True)
class Other:
    """Another machine found in the same evidence, not judged."""

    name: str  # what the evidence calls it
    summary: str  # what is known of it, one sentence


@dataclass(frozen=True, kw_only=True)
class PluginRun:
    """A plugin that was asked, and how that ended. Its checks and findings have ids below its name: acme/old-image."""

    name: str  # of its entry point
    distribution: str = ""  # that it was installed with
    version: str = ""  # of that distribution
    status: Literal["ok", "failed", "timed-out"]  # of the plugin itself; its checks have outcomes of their own
    reason: str = ""  # why it failed
    checks: tuple[str, ...] = ()  # ids
    messages: tuple[str, ...] = ()  # ids of the messages that it recognises
    tables: tuple[str, ...] = ()  # name and date of each table that it brings along


@dataclass(frozen=True, kw_only=True)
class Report:
    """schema "1": see reports/report-1.schema.json. Times are UTC, ISO 8601."""

    schema: str = "1"  # always "1"
    tool: str  # who made it: "torchdoctor 1.0"
    taken_at: str  # when, UTC
    duration_ms: float  # of the whole examination
    target: Target  # what was examined
    # "healthy" is proven; "unknown": neither proven nor is a fault found
    verdict: Literal["healthy", "faulty", "unknown"]
    unproven: tuple[str, ...] = ()  # why it is not healthy though no fault was found, a clause each
    limits: tuple[str, ...] = ()  # the options by which the user limited what is judged ("--no-probe")
    facts: Facts  # what was seen
    outcomes: tuple[Outcome, ...] = ()  # how each check ended
    findings: tuple[Finding, ...] = ()  # the diagnoses: faults first, roots before what they cause
    symptoms: tuple[Symptom, ...] = ()  # what speaks of a failure, each with the finding that explains it
    hypotheses: tuple[Hypothesis, ...] = ()  # about the symptoms that are left over
    questions: tuple[Question, ...] = ()  # what would settle them, the most telling first
    plan: Plan = field(default_factory=Plan)  # what to do about the findings
    plugins: tuple[PluginRun, ...] = ()  # checks of others that ran beside the catalogue's
    others: tuple[Other, ...] = ()  # further machines that the same evidence speaks of
    unread: tuple[str, ...] = ()  # lines of the evidence that were not understood (at most 200), quoted
    redacted: bool = False  # whether names, secrets and serial numbers were replaced by stand-ins

    @property
    def is_open(self) -> bool:
        """Whether there is no verdict though one was wanted. Where the user limited the judgement, and all that was
        asked for has an answer, none was."""
        return self.verdict == "unknown" and not (self.limits and not self.unproven)

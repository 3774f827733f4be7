"""What a plugin is made of. These names are stable; docs/plugins.md shows how to use them.

A plugin is a distribution with an entry point in the group "torchdoctor.checks" that names a Plugin. It runs in a
process of its own, within a time limit, on the facts of a report: it adds findings, and changes nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from doctor.checks import Check, Judgement, Rule, Unknown
from doctor.checks._machine import heard
from doctor.model.facts import ABSENT, ErrorText, Facts, Gpu, Package, Torch
from doctor.model.finding import Evidence, Finding, Remedy
from doctor.model.values import dataclass

__all__ = [
    "ABSENT", "Check", "ErrorText", "Evidence", "Facts", "Finding", "Gpu", "Judgement", "Message", "Package", "Plugin",
    "Remedy", "Rule", "Torch", "Unknown", "heard",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message to be recognised in texts and in what torch, the driver and the probes say. A check finds it by
    `heard(facts, id)`, and a Rule by its id."""

    id: str  # kebab-case
    regex: str  # searched for in each text; its groups become ErrorText.groups
    flags: str = ""  # "i", "m", "s", as in re


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """`tables`: name -> {"as_of": "2026-01-31", "source": …, "rows": […]}, JSON values that the checks read; their
    names and dates are listed in the report."""

    checks: tuple[Check, ...]
    messages: tuple[Message, ...] = ()
    tables: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def rows(self, table: str) -> Any:
        """The rows of one of its tables."""
        return self.tables[table]["rows"]

"""What a collector writes its facts down in: values with their origins, and gaps where there is no value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doctor.model.facts import Gap, Origin, Reason
from doctor.process import Result

_REASONS: dict[str, Reason] = {
    "timed-out": "timed-out", "not-found": "not-installed", "permission": "permission", "crashed": "crashed",
}  # fmt: skip


class Notes:
    """Facts by dotted names (`nvidia.driver`), while they are being collected. The first value of a fact stays.

    `patience_s`: seconds that a tool which has not answered still gets, where all else is known; None: its own limit.
    `devices_used_at`: time.monotonic() at which the first of our own children began to use a GPU.
    """

    def __init__(self) -> None:
        self.patience_s: float | None = None
        self.devices_used_at: float | None = None
        self.values: dict[str, Any] = {}
        self.origins: dict[str, Origin] = {}
        self._gaps: dict[str, Gap] = {}

    def set(self, fact: str, value: Any, source: str = "", quote: str = "") -> None:
        """Write a fact down. None is ignored (not known); a Gap is kept as the reason why there is no value."""
        if isinstance(value, Gap):
            self._gaps.setdefault(fact, replace(value, fact=fact, source=value.source or source))
        elif value is not None and fact not in self.values:
            self.values[fact] = value
            if source:
                self.origins[fact] = Origin(source=source, quote=quote[:500])

    def get(self, fact: str) -> Any:
        """The value so far, or None."""
        return self.values.get(fact)

    def gap(self, fact: str, reason: Reason, detail: str = "", source: str = "") -> None:
        self.set(fact, Gap(fact=fact, reason=reason, detail=detail, source=source))

    def unanswered(self, fact: str, result: Result, source: str) -> None:
        """A fact that a program should have told, and didn't."""
        self.set(fact, gap_from(fact, result, source))

    def fields(self, part: str) -> dict[str, Any]:
        """The values below a part: `host` -> {"system": …}."""
        start = part + "."
        return {name[len(start) :]: value for name, value in self.values.items() if name.startswith(start)}

    def unfilled(self) -> tuple[tuple[str, Gap], ...]:
        """(fact, gap) of all facts that stayed without a value."""
        return tuple((fact, gap) for fact, gap in self._gaps.items() if fact not in self.values)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps of facts that stayed without a value."""
        return tuple(gap for fact, gap in self.unfilled() if not fact.startswith("gpus."))


def gap_from(fact: str, result: Result, source: str) -> Gap:
    """Why a program's answer is missing."""
    reason = _REASONS.get(result.status, "unreadable")
    return Gap(fact=fact, reason=reason, detail=f"{source}: {result.said}", source=source)

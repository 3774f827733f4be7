"""Findings and machines for the tests of plans."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.model.finding import Finding, Remedy

Wish = str | tuple[str, Mapping[str, str]]


def finding(
    id: str, *remedies: Wish, layer: str = "torch", severity: str = "fault", explained_by: str | None = None
) -> Finding:
    """A finding with remedies: an action's name, or (name, details)."""
    return Finding(
        id=id,
        layer=layer,
        severity=severity,  # type: ignore[arg-type]
        title=id,
        detail="",
        root=explained_by is None,
        explained_by=explained_by,
        remedies=tuple(Remedy(action=r) if isinstance(r, str) else Remedy(action=r[0], details=r[1]) for r in remedies),
    )

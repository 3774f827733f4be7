"""What a fix costs, summed up from its steps, so that alternatives can be compared."""

from __future__ import annotations

from dataclasses import replace

from doctor.model.fix import Fix


def priced(fix: Fix) -> Fix:
    """The fix and its alternatives with their costs."""
    sizes = [step.downloads_mb for step in fix.steps if step.downloads_mb]
    return replace(
        fix,
        needs_root=any(step.needs_root for step in fix.steps),
        needs_reboot=any(step.needs_reboot for step in fix.steps),
        downloads_mb=sum(sizes) if sizes else None,
        alternatives=tuple(priced(other) for other in fix.alternatives),
    )

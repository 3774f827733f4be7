"""A plan as somebody types it here: an interpreter below the current folder is named from there (`.venv/bin/python`).

Only what is shown on the terminal: scripts, files and what --run carries out keep the whole path.
"""

from __future__ import annotations

import os
from dataclasses import replace

from doctor.model.fix import Fix, Plan
from doctor.model.report import Report


def nearby(plan: Plan, report: Report, folder: str | None = None) -> Plan:
    """The plan with the path of the report's interpreter from `folder` (default: the current one), where it lies
    below it."""
    python = report.target.python or ""
    if not report.facts.live or not os.path.isabs(python):
        return plan
    try:
        short = os.path.relpath(python, folder or os.getcwd())
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return plan
    if short.startswith(os.pardir) or os.sep not in short or os.sep + short == python:  # above, beside, or the root
        return plan

    def shown(fix: Fix) -> Fix:
        steps = tuple(
            replace(s, argv=tuple(short if word == python else word for word in s.argv)) if s.argv else s
            for s in fix.steps
        )
        return replace(fix, steps=steps, alternatives=tuple(map(shown, fix.alternatives)))

    return replace(plan, fixes=tuple(map(shown, plan.fixes)))

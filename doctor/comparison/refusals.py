"""What cannot be compared though it could be read. Pure."""

from __future__ import annotations

from doctor.model.report import Report
from doctor.reports import summary


def says_nothing(report: Report) -> str | None:
    """Why a machine cannot be compared though its text could be read."""
    return "nothing in it says anything of a machine" if summary.nothing_recognised(report.facts) else None

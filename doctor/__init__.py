"""torchdoctor: why PyTorch does not use this machine as it should, and which commands fix it.

Start reading at pipeline.py; docs/design.md tells the rest. The names in `__all__` are the stable Python interface
(docs/api.md); they are loaded when they are first asked for, so that `torchdoctor --help` imports none of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.api import compare, examine, judge, plan
    from doctor.model.compare import Comparison
    from doctor.model.facts import ABSENT, Facts
    from doctor.model.finding import Finding
    from doctor.model.fix import Fix, Plan, Step
    from doctor.model.report import Report

__version__ = "1.0.0.dev0"
__all__ = [
    "ABSENT", "Comparison", "Facts", "Finding", "Fix", "Plan", "Report", "Step", "__version__", "compare", "examine",
    "judge", "plan",
]  # fmt: skip

_HOMES = {
    "doctor.api": ("compare", "examine", "judge", "plan"),
    "doctor.model.compare": ("Comparison",),
    "doctor.model.facts": ("ABSENT", "Facts"),
    "doctor.model.finding": ("Finding",),
    "doctor.model.fix": ("Fix", "Plan", "Step"),
    "doctor.model.report": ("Report",),
}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

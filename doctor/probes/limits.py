"""How many seconds a stage of a child may take, and all that is started for one examination."""

from __future__ import annotations

from collections.abc import Callable

IMPORT_LIMIT_S = 60.0  # from a cold network disk; a warm one needs a few seconds
DRIVER_LIMIT_S = 30.0  # a healthy server needs seconds a GPU without persistence mode
STAGE_LIMIT_S = 60.0  # the first kernel may be compiled by the driver (PTX)
LONG_LIMIT_S = 300.0  # of the stages that take many seconds on a slow machine
RUN_LIMIT_S = {"quick": 300.0, "full": 1800.0, "soak": 600.0}  # of all children; a soak has its minutes besides
LONG_STAGES = ("silent", "training", "memory", "sustained", "compile", "workers", "distributed", "extensions")
MANY_GPUS = 8  # with more, the driver's limit doubles


def run_limit(mode: str, stage_limit_s: float | None) -> float:
    """Seconds for all that is started for one examination. Who allows a stage more than we do allows more to the whole.

    >>> run_limit("quick", None), run_limit("soak:30", None), run_limit("quick", 600.0)
    (300.0, 2400.0, 3000.0)
    """
    kind, _, minutes = mode.partition(":")
    base = RUN_LIMIT_S.get(kind, RUN_LIMIT_S["quick"]) * max(1.0, (stage_limit_s or 0.0) / STAGE_LIMIT_S)
    return base + (60 * float(minutes) if minutes else 0.0)


def stage_limit(stage: str, many_gpus: Callable[[], bool]) -> float:
    """Seconds for a stage, where neither the user nor the caller says how many."""
    if stage in ("start", "import"):
        return IMPORT_LIMIT_S
    if stage in ("driver", "open"):
        return DRIVER_LIMIT_S * (2 if many_gpus() else 1)
    return LONG_LIMIT_S if stage in LONG_STAGES else STAGE_LIMIT_S

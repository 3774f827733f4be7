"""What the driver says of a GPU, from a management library that is played by a test."""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any

import pytest

from doctor.inside.stages import monitor

FOREIGN, ANOTHER = 4_000_000_001, 4_000_000_002  # no system's process ids
NOT_FOUND, TOO_SMALL = 6, 7


class Library:
    """Answers nvmlDeviceGetProcessUtilization with rows of (process id, percent, seconds from now)."""

    def __init__(self, *rows: tuple[int, int, float]) -> None:
        self.rows = rows

    def nvmlDeviceGetProcessUtilization(self, handle: Any, buffer: Any, count: Any, after: Any) -> int:
        if not self.rows:
            return NOT_FOUND
        count._obj.value = len(self.rows)
        if buffer is None:
            return TOO_SMALL
        for place, (pid, percent, late) in zip(buffer, self.rows, strict=True):
            place.pid, place.computing, place.time_us = pid, percent, int((time.time() + late) * 1e6)
        return 0


def watch(library: object) -> monitor.Watch:
    nvml = object.__new__(monitor.Nvml)
    nvml.ctypes, nvml.library, nvml.handle = ctypes, library, ctypes.c_void_p()
    made = object.__new__(monitor.Watch)
    made.nvml, made.began = nvml, time.time()
    return made


OWN = (os.getpid(), 60, 1.0)


@pytest.mark.parametrize(
    ("library", "said"),
    [
        (Library(OWN, (FOREIGN, 40, 1.0)), {"foreign_utilization_percent": 40, "busy": True}),
        (Library(OWN, (FOREIGN, 4, 1.0), (ANOTHER, 7, 1.0)), {"foreign_utilization_percent": 7}),
        (Library(OWN, (FOREIGN, 3, 1.0), (FOREIGN, 30, 2.0)), {"foreign_utilization_percent": 30, "busy": True}),
        (Library(OWN), {"foreign_utilization_percent": 0}),
        (Library(OWN, (FOREIGN, 90, -60.0)), {"foreign_utilization_percent": 0}),
        (Library((FOREIGN, 90, 1.0)), {}),
        (Library(), {}),
        (object(), {}),
    ],
    ids=["another computes", "others draw a screen", "the highest share", "alone", "before we began",
         "in a container it has other process ids", "nothing sampled", "an old library"],
)  # fmt: skip
def test_who_else_computed(library: object, said: dict[str, object]) -> None:
    assert watch(library).others() == said


def test_the_driver_lays_a_share_out_as_it_says() -> None:
    """nvml.h: unsigned int, unsigned long long, four unsigned int."""
    sizes = []

    class Sized(Library):
        def nvmlDeviceGetProcessUtilization(self, handle: Any, buffer: Any, count: Any, after: Any) -> int:
            sizes.append(ctypes.sizeof(buffer) if buffer is not None else 0)
            return super().nvmlDeviceGetProcessUtilization(handle, buffer, count, after)

    watch(Sized(OWN, (FOREIGN, 1, 1.0))).others()
    assert sizes == [0, 64]


def test_without_the_library_nothing_is_known() -> None:
    made = object.__new__(monitor.Watch)
    made.nvml, made.began = None, 0.0
    assert made.others() == {}

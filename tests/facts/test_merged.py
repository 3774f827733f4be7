"""One list of GPUs, and when there is none to be had."""

from __future__ import annotations

from doctor.facts.gpus import merged
from doctor.facts.notes import Notes
from doctor.model.facts import Gpu, Source


def merged_of(**values: object) -> Notes:
    notes = Notes()
    for name, value in values.items():
        notes.set(name.replace("__", "."), value, "test")
    merged.write(notes)
    return notes


def test_an_empty_bus_is_no_gpu() -> None:
    assert merged_of(gpus__pci=()).get("gpus") == ()


def test_a_driver_that_hangs_may_hide_one() -> None:
    hung = (Source(name="nvidia-smi", status="timed-out", message="no answer after 10 s"),)
    notes = merged_of(gpus__pci=(), nvidia__sources=hung)
    assert notes.get("gpus") is None
    assert [(g.fact, g.reason) for g in notes.gaps] == [("gpus", "timed-out")]
    seen = Gpu(vendor="nvidia", pci_id="10de:2684")
    assert merged_of(gpus__pci=(seen,), nvidia__sources=hung).get("gpus") == (seen,)

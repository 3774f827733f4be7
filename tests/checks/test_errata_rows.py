"""Texts lead to the right rows of the table as it is."""

from __future__ import annotations

from dataclasses import replace

from doctor.checks import _errata_fit
from doctor.evidence.read import read


def test_of_an_unknown_release_only_what_was_out_on_that_day_is_named() -> None:
    text = "On my M1 Mac, device mps: Error: buffer is not large enough. Must be 5448 bytes\nzsh: abort"
    facts = read((("ticket", text.encode()),)).facts
    old = _errata_fit.with_message(replace(facts, as_of="2022-10-03"), "torch-release-bug")
    assert old is not None
    assert old[0].erratum.id == "mps-view-buffer-abort-1-12"  # not the one of 2.8.0


def test_the_thread_that_a_row_names_first_is_about_it() -> None:
    text = "Noise on mps, see https://github.com/pytorch/pytorch/issues/141471\nM3 Max, macOS 15.1, torch 2.5.1"
    found = _errata_fit.cited(read((("ticket", text.encode()),)).facts)
    assert found is not None
    assert found[0].erratum.id == "mps-conv3d-channels-last-2-5"

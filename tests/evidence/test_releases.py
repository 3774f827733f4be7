"""Of several releases of torch in one text, the one that fails."""

import pytest

from doctor.evidence.notes import ReleaseMention
from doctor.evidence.read import read
from doctor.evidence.releases import told
from doctor.model.facts import Torch

COMPARED = {
    "Works with torch 2.4.1, not with torch 2.5.1.": "2.5.1",
    "torch 2.8.0 peak vram is 6.3 GB\ntorch 2.9.1 peak vram is 12.7 GB\nIt can fail, with torch 2.9.1, here.": "2.9.1",
    "After upgrading to torch 2.9.0 all images are black. With torch 2.8.0 they were right.": "2.9.0",
    "PyTorch 2.1.2 does not do this. My torch 2.2.1 does.": "2.2.1",
    "It does not happen with torch 2.1.0. My torch 2.2.1 does it.": "2.2.1",
    "I upgraded from torch 2.0.1 to torch 2.1.0 and it crashes.": "2.1.0",
}


def version(text: str) -> str | None:
    torch = read((("ticket.txt", text.encode()),)).facts.torch
    return torch.version if isinstance(torch, Torch) else None


@pytest.mark.parametrize("text", COMPARED)
def test_the_release_that_fails_is_this_machines(text: str) -> None:
    assert version(text) == COMPARED[text]


def test_a_release_that_works_alone_is_not_this_machines() -> None:
    assert version("It works fine with torch 2.4.1.\nBut my model trains on the CPU only.") is None


def test_what_a_program_prints_stands_above_sentences() -> None:
    listed = "Works with torch 2.4.1, not with torch 2.5.1.\n\nPackage    Version\n---------- -------\ntorch      2.6.0\n"
    assert version(listed) == "2.6.0"


@pytest.mark.parametrize("said", ["torch 2.9.1 and CUDA 12.8", "I have torch 2.9.1", ""])
def test_a_bare_mention_says_nothing_of_a_failure(said: str) -> None:
    assert all(one.fails is None for one in told(said))


@pytest.mark.parametrize("build", ["", "+cu{}"])
def test_many_mentions_are_not_each_held_against_all(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    is_of = ReleaseMention.is_of
    monkeypatch.setattr(ReleaseMention, "is_of", lambda one, other: asked.append(other) or is_of(one, other))
    lines = f"With torch 2.5.1{build} it fails.\nWith torch 2.4.1{build} it works.\n"
    assert str(version("".join(lines.format(n, n) for n in range(100, 600)))).startswith("2.5.1")
    assert len(asked) < 5_000

"""The beds that need no more than the CPU build of the tests' own torch environment: linked, broken, examined, cured by
hand where no wheel is needed. The suite runs a sample, TORCHDOCTOR_TEST_ALL=1 all of these, scripts/ward.py every
bed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sample import only
from tests.ward.bed import Bed, all_beds
from tests.ward.page import page
from tests.ward.place import Place, link_environment
from tests.ward.stay import examined
from tests.ward.store import BASES, WHEELS

ROOT = Path(__file__).resolve().parents[2]
FAST = [bed for bed in all_beds() if bed.fast]
# One of each kind of fault, and the healthy ones that cost the least.
SAMPLE = (
    "healthy-cpu", "numpy-not-installed", "no-proc", "few-open-files", "libtorch-cpu-missing", "install-cut-short",
    "base-python-removed", "pythonhome-elsewhere", "torch-py", "logging-py",
)  # fmt: skip
RUN = only([bed.name for bed in FAST], SAMPLE)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the beds are those of a Linux machine")


@pytest.fixture
def place(bed: Bed, torch_python: str) -> Iterator[Place]:
    """An environment that shares its files with the one that has torch: beside it, for links need one disk."""
    source = Path(os.path.abspath(torch_python)).parents[1]
    root = source.parent / f"ward-{os.getpid()}-{bed.name}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    try:
        link_environment(source, root / "env")
        yield Place(root, root / "env", root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.parametrize("bed", [bed for bed in FAST if bed.name in RUN], ids=lambda bed: bed.name)
def test_a_bed_is_what_was_written_down(bed: Bed, place: Place) -> None:
    for program in bed.needs:
        if shutil.which(program) is None or (program == "unshare" and os.geteuid() != 0):
            pytest.skip(f"needs {program}, and root")
    bed.breaks(place)
    row = examined(bed, place, fixes=bed.cure == "hand")
    assert not row.problems, row
    assert row.cured is not False


def test_the_ward_is_large_and_every_bed_is_whole() -> None:
    beds = all_beds()
    assert len(beds) >= 60
    assert len(FAST) >= 18
    ids = {check.id for check in __import__("doctor.checks", fromlist=["all_checks"]).all_checks()}
    for bed in beds:
        assert bed.says, bed.name
        assert bed.id is None or bed.id in ids, bed.name
        assert bed.base in BASES, bed.name
        assert not bed.fast or bed.base == "cpu", f"{bed.name} needs more than the tests' own torch"
    assert all(wheel.requirement for wheel in WHEELS)


def test_the_page_is_what_was_kept() -> None:
    assert (ROOT / "docs" / "ward.md").read_text(encoding="utf-8") == page(), "python scripts/ward.py page"

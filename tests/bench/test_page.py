"""scripts/bench_page.py puts measured tables between the marks of docs/bench.md, and nowhere else."""

from __future__ import annotations

import pytest

from scripts import bench_page
from tests.bench.samples import FIVE, VGG


def test_the_rest_of_the_page_stays() -> None:
    page = f"a\n{bench_page.BEGIN}\nold\n{bench_page.END}\nb\n"
    filled = bench_page.filled(page, [VGG, FIVE])
    assert filled.startswith(f"a\n{bench_page.BEGIN}\n")
    assert filled.endswith(f"{bench_page.END}\nb\n")
    assert "old" not in filled
    assert "2026-11-22, torchdoctor 1.0, torch 2.11.0+cu130" in filled
    assert "| vgg16 training | cuda:0 | 32 | 46.2 ms |" in filled
    assert "raschka" not in filled.lower()
    assert bench_page.filled(filled, [VGG, FIVE]) == filled


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(SystemExit):
        bench_page.filled("a", [VGG])


def test_the_page_has_the_marks() -> None:
    text = bench_page.PAGE.read_text(encoding="utf-8")
    assert text.count(bench_page.BEGIN) == text.count(bench_page.END) == 1

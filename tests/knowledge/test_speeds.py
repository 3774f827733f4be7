"""What a healthy device reaches."""

from __future__ import annotations

import pytest

from doctor.knowledge import speeds
from doctor.knowledge.gpus import peaks_of
from doctor.knowledge.load import table


def test_a_measured_row_comes_before_the_datasheet() -> None:
    rate = speeds.product_rate("NVIDIA H200", "bf16")
    assert rate is not None
    assert (rate.rate, "measured" in rate.source) == (778, True)


def test_else_the_part_of_the_datasheet_that_the_family_reaches() -> None:
    rate = speeds.product_rate("NVIDIA A100-SXM4-40GB", "fp32")
    assert rate is not None
    assert rate.rate == pytest.approx(0.93 * 19.5, abs=0.01)
    assert "93% of the published 19.5" in rate.source


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("NVIDIA Whatever 1", "fp32"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "fp32"),  # slower than the card that lends it its name
        ("AMD Radeon RX 7900 XTX", "bf16"),  # nothing of its family was measured
        ("Tesla T4", "fp32"),  # 70 W: never reaches what its family does
        ("NVIDIA H200", "fp8"),
    ],
)
def test_no_basis_no_expectation(name: str, kind: str) -> None:
    assert speeds.product_rate(name, kind) is None


def test_no_row_expects_more_than_a_little_above_the_datasheet() -> None:
    """Boost clocks let some cards exceed it in 16 bits; twice as much would be a confusion of precisions."""
    for row in table("speeds")["references"]:
        peaks = peaks_of(row["name"])
        assert peaks is not None, row["name"]
        peak = getattr(peaks, row["kind"])
        assert peak is None or 0.35 < row["tflops"] / peak < 1.2, row


def test_families_reach_at_most_their_datasheet() -> None:
    assert all(0.3 < part <= 1 for row in table("speeds")["families"] for part in row["parts"].values())


@pytest.mark.parametrize(
    ("dtype", "bits", "kind"),
    [("float32", 24, "fp32"), ("float32", None, "fp32"), ("float32", 11, "tf32"), ("float32", 8, "bf16"),
     ("float32", 17, None), ("float32", 0, None), ("float16", 24, "fp16"), ("float64", 53, None)],
)  # fmt: skip
def test_the_precision_really_used_decides(dtype: str, bits: int | None, kind: str | None) -> None:
    assert speeds.kind_of(dtype, bits) == kind


@pytest.mark.parametrize(
    ("ratio", "band"), [(1.1, "ok"), (0.85, "ok"), (0.84, "below"), (0.6, "below"), (0.59, "slow"), (0.3, "slow"),
                        (0.29, "very slow")],
)  # fmt: skip
def test_bands(ratio: float, band: str) -> None:
    assert speeds.band(ratio) == band


def test_links_and_memory() -> None:
    assert speeds.link_rate(4, 16).rate == pytest.approx(27.7, abs=0.1)  # type: ignore[union-attr]
    assert speeds.link_rate(0, 16) is None
    assert speeds.memory_rate("NVIDIA H200").rate == pytest.approx(0.8 * 4800, rel=0.01)  # type: ignore[union-attr]
    assert speeds.memory_rate("NVIDIA Whatever 1") is None


@pytest.mark.parametrize(
    ("flags", "rate"), [(("avx2", "fma"), 0.0672), (("avx",), 0.0336), (("neon",), 0.0336), (("sse2",), None)]
)
def test_a_core_by_its_vectors_and_clock(flags: tuple[str, ...], rate: float | None) -> None:
    expected = speeds.core_rate(flags, 3000)
    assert (expected and expected.rate) == rate

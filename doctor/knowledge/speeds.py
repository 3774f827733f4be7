"""What a healthy device reaches, by its model and the precision that it really computes with. Pure.

From a row that was measured on such a model, else its published peak times the part of it that its family reaches:
healthy GPUs of some families reach 0.6 of the datasheet in float32, of others 0.95. Both are for square products of
normal data; zeros would be faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from doctor.knowledge.gpus import gpu_model, peaks_of, plain_name
from doctor.knowledge.load import cited, of_tables, table
from doctor.model.values import dataclass

Band = Literal["ok", "below", "slow", "very slow"]

# The bands of the ratio of measured to expected: natural spread and short measuring stay within the first.
OK, SLOW, VERY_SLOW = 0.85, 0.6, 0.3
STRAGGLER = 0.9  # of the fastest of equal GPUs; they differ by 5 % naturally
# of the published bandwidth, in copies of at least 256 MiB: 0.88 on an H200, but some 0.7 where memory with error
# correction shares it (T4, P100; Z. Jia and others, Dissecting the NVIDIA Turing T4 GPU, 2019): rather too low
MEMORY_PART = 0.8
LINK_PART = 0.88  # of a PCIe link, in pinned copies (H200: 0.88)
PCIE_LANE_GBS = {1: 0.25, 2: 0.5, 3: 0.985, 4: 1.969, 5: 3.938, 6: 7.563}
# float32 operations of a core and cycle: one multiply-add of a vector counts two for each of its elements
WIDTHS = (("avx512f", 32), ("fma", 32), ("avx", 16), ("neon", 16), ("asimd", 16))
CPU_PART = 0.7  # of clock times width, on one thread; the clock that a virtual machine names is often too low


@dataclass(frozen=True)
class Expected:
    """A rate that a healthy device reaches: TFLOP/s or GB/s, and where that is from. `measured`: on such a model, not
    worked out from its data sheet."""

    rate: float
    source: str
    measured: bool = False


def kind_of(dtype: str, bits: int | None) -> str | None:
    """The precision that a product really had: "fp32", "tf32", "fp16", "bf16". None: one without published rates.

    >>> kind_of("float32", 24), kind_of("float32", 11), kind_of("float32", 17), kind_of("bfloat16", None)
    ('fp32', 'tf32', None, 'bf16')
    """
    if dtype != "float32":
        return {"float16": "fp16", "bfloat16": "bf16"}.get(dtype)
    return {24: "fp32", 22: "fp32", 20: "fp32", 11: "tf32", 8: "bf16"}.get(24 if bits is None else bits)


def band(ratio: float) -> Band:
    """The verdict of a ratio of measured to expected.

    >>> [band(r) for r in (0.97, 0.7, 0.4, 0.1)]
    ['ok', 'below', 'slow', 'very slow']
    """
    return "ok" if ratio >= OK else "below" if ratio >= SLOW else "slow" if ratio >= VERY_SLOW else "very slow"


def product_rate(name: str, kind: str) -> Expected | None:
    """TFLOP/s of products on a GPU by the name that a tool prints. None where the tables have no basis for it: a model
    without published rates, or a family of which nothing was measured."""
    row = _references().get((plain_name(name), kind))
    if row is not None:
        return Expected(row["tflops"], cited("speeds", row), measured=True)
    peaks, part = peaks_of(name), _part(name, kind)
    peak: float | None = getattr(peaks, kind, None)
    if part is None or peak is None:
        return None
    return Expected(round(peak * part[0], 2), f"{part[0]:.0%} of the published {peak:g}, as {part[1]} reach")


def memory_rate(name: str) -> Expected | None:
    """GB/s (read and written) of copies within a GPU's memory."""
    peaks = peaks_of(name)
    if peaks is None or peaks.bandwidth_gbs is None:
        return None
    return Expected(round(peaks.bandwidth_gbs * MEMORY_PART, 1), f"{MEMORY_PART:.0%} of the published bandwidth")


def link_rate(generation: int, width: int) -> Expected | None:
    """GB/s of pinned copies over a PCIe link.

    >>> link_rate(5, 16).rate, link_rate(9, 16)
    (55.4, None)
    """
    lane = PCIE_LANE_GBS.get(generation)
    return Expected(round(LINK_PART * lane * width, 1), f"PCIe {generation} x{width}") if lane else None


def core_rate(flags: Iterable[str], clock_mhz: float) -> Expected | None:
    """TFLOP/s of float32 on one thread of a CPU, rather too low than too high: None for instruction sets not known."""
    held = set(flags)
    width = next((width for flag, width in WIDTHS if flag in held), None)
    if width is None:
        return None
    rate = CPU_PART * width * clock_mhz * 1e6 / 1e12
    return Expected(round(rate, 4), f"{CPU_PART:.0%} of {width} operations a cycle at {clock_mhz:g} MHz")


@of_tables
def _references() -> dict[tuple[str, str], Mapping[str, Any]]:
    return {(plain_name(row["name"]), row["kind"]): row for row in table("speeds")["references"]}


def _part(name: str, kind: str) -> tuple[float, str] | None:
    """The part of the published peak that the model's family reaches, and the family's name."""
    model = gpu_model(name)
    if model is None:
        return None
    marks = {model.capability, model.gfx, "apple" if model.vendor == "apple" else None}
    for row in table("speeds")["families"]:
        if plain_name(name) in map(plain_name, row.get("except", ())):  # of little power: they never reach that part
            return None
        if marks & set(row["models"]) and kind in row["parts"]:
            return row["parts"][kind], f"GPUs of {row['family']}"
    return None

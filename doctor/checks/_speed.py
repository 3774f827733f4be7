"""What a device measured against what it should reach."""

from __future__ import annotations

from dataclasses import dataclass

from doctor.checks._torch import installed
from doctor.knowledge import speeds
from doctor.model.facts import Facts, ProbeResult


@dataclass(frozen=True)
class Ratio:
    """A rate in TFLOP/s, the expected one, and their ratio. `kind` is the precision really used: "tf32"."""

    ratio: float
    rate: float
    expected: speeds.Expected
    kind: str
    name: str


def product_ratio(facts: Facts, probe: ProbeResult) -> Ratio | None:
    """Of the type that comes nearest to what it should: a device that is slow is so in all of them. None where there is
    nothing to expect. Of a device that other programs used (`busy`) a low ratio says nothing, a good one does."""
    if probe.device == "cpu":
        return _cpu_ratio(facts, probe)
    name = gpu_name(facts, probe.device)
    bits = probe.data.get("float32_bits_effective")
    found = []
    for dtype in ("float32", "float16", "bfloat16"):
        rate = probe.data.get(f"{dtype}_tflops_burst")
        kind = speeds.kind_of(dtype, bits if isinstance(bits, int) else None)
        expected = speeds.product_rate(name, kind) if name and kind else None
        if expected and name and kind and isinstance(rate, int | float):
            found.append(Ratio(rate / expected.rate, float(rate), expected, kind, name))
    return max(found, key=lambda r: r.ratio, default=None)


def _cpu_ratio(facts: Facts, probe: ProbeResult) -> Ratio | None:
    """On one thread, where neither quota nor the number of cores counts."""
    rate, clock = probe.data.get("float32_tflops_one_thread"), probe.data.get("cpu_clock_mhz")
    if not isinstance(rate, int | float) or not isinstance(clock, int | float):
        return None
    expected = speeds.core_rate(facts.host.cpu_flags or (), clock)
    if expected is None:
        return None
    name = facts.host.cpu_model or "the CPU"
    return Ratio(rate / expected.rate, float(rate), expected, "fp32 on one thread", name)


def gpu_name(facts: Facts, device: str) -> str | None:
    """The name of the GPU behind a device such as "cuda:0"."""
    torch = installed(facts)
    backend, _, index = device.partition(":")
    for seen in (torch.devices if torch else None) or ():
        if seen.backend == backend and seen.index == int(index or 0) and seen.name:
            return seen.name
    return facts.host.cpu_model if backend == "mps" else None

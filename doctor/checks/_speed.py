"""What a device measured against what it should reach."""

from __future__ import annotations

from doctor.checks._torch import installed
from doctor.knowledge import speeds
from doctor.knowledge.gpus import peaks_of
from doctor.model.facts import Facts, ProbeResult
from doctor.model.values import dataclass

MEMORY = "copies within its memory"
BEYOND_CACHES = 256 << 20  # bytes of a copy that tells the rate of a GPU's memory
SAME_MODEL = 0.8  # of the published memory size: a smaller card of that name has narrower memory, too


@dataclass(frozen=True)
class Ratio:
    """A rate in TFLOP/s (of copies GB/s), the expected one, and their ratio. `kind` is the precision really used,
    "tf32", or what was copied where."""

    ratio: float
    rate: float
    expected: speeds.Expected
    kind: str
    name: str


def product_ratio(facts: Facts, probe: ProbeResult) -> Ratio | None:
    """Of the type that comes nearest to what it should: a device that is slow is so in all of them. None where there is
    nothing to expect. Of a device that other programs used (`busy`) a low ratio says nothing, a good one does."""
    return max(product_ratios(facts, probe).values(), key=lambda r: r.ratio, default=None)


def product_ratios(facts: Facts, probe: ProbeResult) -> dict[str, Ratio]:
    """The same for each type of which a rate is expected, by torch's name of it; of a CPU float32 on one thread."""
    if probe.device == "cpu":
        ratio = _cpu_ratio(facts, probe)
        return {"float32": ratio} if ratio else {}
    name = gpu_name(facts, probe.device)
    bits = probe.data.get("float32_bits_effective")
    found = {}
    for dtype in ("float32", "float16", "bfloat16"):
        rate = probe.data.get(f"{dtype}_tflops_burst")
        kind = speeds.kind_of(dtype, bits if isinstance(bits, int) else None)
        expected = speeds.product_rate(name, kind) if name and kind else None
        if expected and name and kind and isinstance(rate, int | float):
            found[dtype] = Ratio(rate / expected.rate, float(rate), expected, kind, name)
    return found


def memory_ratio(facts: Facts, probe: ProbeResult) -> Ratio | None:
    """Of copies within a GPU's memory, where its model's bandwidth is known."""
    rate, copied = number(probe, "memory_gbs"), number(probe, "memory_copy_bytes")
    name = None if probe.device == "cpu" else gpu_name(facts, probe.device)
    expected, peaks = (speeds.memory_rate(name), peaks_of(name)) if name else (None, None)
    if not (rate and name and expected and peaks and copied and copied >= BEYOND_CACHES):
        return None
    held = number(probe, "memory_bytes")
    if held and peaks.memory_gb and held < SAME_MODEL * peaks.memory_gb * 1e9:
        return None
    return Ratio(rate / expected.rate, rate, expected, MEMORY, name)


def link_ratio(facts: Facts, probe: ProbeResult) -> Ratio | None:
    """Of pinned copies between host and GPU, the faster way, over the link as it was meanwhile. None where several GPUs
    were probed, which may share a part of the way."""
    ways = [rate for key in ("h2d_gbs", "d2h_gbs") if (rate := number(probe, key))]
    generation, width = number(probe, "pcie_generation"), number(probe, "pcie_width")
    expected = speeds.link_rate(int(generation), int(width)) if generation and width else None
    alone = sum(p.device != "cpu" and p.status != "skipped" for p in facts.probes or ()) == 1
    if not (ways and expected and alone) or probe.data.get("pinned_error"):
        return None
    name = gpu_name(facts, probe.device) or probe.device
    return Ratio(max(ways) / expected.rate, max(ways), expected, "pinned copies between host and GPU", name)


def number(probe: ProbeResult, key: str) -> float | None:
    """A number among the results of a probe; None where there is none."""
    value = probe.data.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


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

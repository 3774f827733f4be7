"""What the probes measured, device by device, beside what such a device should reach: for bars. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doctor.checks._speed import Ratio, gpu_name, link_ratio, memory_ratio, number, product_ratios
from doctor.knowledge import speeds
from doctor.model.facts import Facts, ProbeResult
from doctor.model.report import Report
from doctor.model.values import dataclass
from doctor.reports.layers import DTYPES
from doctor.reports.words import size

ROOM = 1.06  # a bar's scale ends a little beyond the larger of measured and expected
_UNKNOWN = "no expected rate is known"
_SHARED = "not judged: GPUs that were probed together may share the way"
_BUSY = "other programs used the device meanwhile: a low rate says nothing"


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A measured rate. `width` and `expected_at` are per cent of the bar's room; None where nothing is expected."""

    name: str
    shown: str  # "41.2 TFLOP/s"
    width: float | None = None
    expected_at: float | None = None
    verdict: str = ""  # ok, below, slow, very slow
    said: str = ""  # "97 % of 42.4 TFLOP/s"
    source: str = ""  # where the expected rate is from


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Some memory: `used` is per cent of all, None where that is not known."""

    name: str
    shown: str
    used: float | None = None


@dataclass(frozen=True, kw_only=True)
class Device:
    """One probed device."""

    id: str
    name: str
    status: str
    reason: str
    bars: tuple[Bar, ...]
    transfers: tuple[Bar, ...]
    rows: tuple[tuple[str, str], ...]  # what else was measured: name, value
    pairs: tuple[tuple[str, ...], ...] = ()  # from, to, rate, direct access


def devices(report: Report) -> tuple[Device, ...]:
    """The probed devices, accelerators first."""
    probes = sorted(report.facts.probes or (), key=lambda p: p.id == "cpu")
    return tuple(_device(report.facts, probe) for probe in probes)


def _device(facts: Facts, probe: ProbeResult) -> Device:
    name = facts.host.cpu_model if probe.device == "cpu" else gpu_name(facts, probe.device)
    signal = f", signal {probe.signal}" if probe.signal else ""
    stage = f" in stage {probe.stage}" if probe.stage and probe.status not in ("ok", "skipped") else ""
    return Device(
        id=probe.id, name=name or "", status=f"{probe.status}{stage}{signal}", reason=probe.reason,
        bars=tuple(_products(facts, probe)), transfers=tuple(_transfers(facts, probe)), rows=tuple(_rows(probe)),
        pairs=tuple(_pairs(probe)),
    )  # fmt: skip


# ---- rates


def _products(facts: Facts, probe: ProbeResult) -> Iterator[Bar]:
    data = _data(probe)
    expected = product_ratios(facts, probe)
    for dtype in ("float64", "float32", "bfloat16", "float16"):
        rate = data.get(f"{dtype}_tflops_burst")
        if rate is None or not _is_number(rate) or data.get(f"{dtype}_native") is False:
            continue
        ratio = None if probe.device == "cpu" else expected.get(dtype)
        kind = f"{DTYPES[dtype]} as {ratio.kind}" if ratio and ratio.kind != DTYPES[dtype] else DTYPES[dtype]
        threads = number(probe, "threads") if probe.device == "cpu" else None
        yield _bar(f"{kind}, {threads:.0f} threads" if threads else kind, rate, "TFLOP/s", ratio, busy=_busy(probe))
    if probe.device == "cpu" and (one := expected.get("float32")):
        yield _bar("fp32, one thread", one.rate, "TFLOP/s", one, at_least=True, busy=_busy(probe))


def _transfers(facts: Facts, probe: ProbeResult) -> Iterator[Bar]:
    link = link_ratio(facts, probe)
    several = sum(p.device != "cpu" and p.status != "skipped" for p in facts.probes or ()) > 1
    if within := number(probe, "memory_gbs"):
        yield _bar("copies within its memory", within, "GB/s", memory_ratio(facts, probe), busy=_busy(probe))
    for key, name in (("h2d_gbs", "host to device, pinned"), ("d2h_gbs", "device to host, pinned")):
        if rate := number(probe, key):
            ratio = Ratio(rate / link.expected.rate, rate, link.expected, link.kind, link.name) if link else None
            yield _bar(name, rate, "GB/s", ratio, busy=_busy(probe), unjudged=_SHARED if several else _UNKNOWN)
    if rate := number(probe, "h2d_pageable_gbs"):
        yield _bar("host to device, ordinary memory", rate, "GB/s", None)


def _bar(
    name: str, rate: float, unit: str, ratio: Ratio | None, *, at_least: bool = False, busy: bool = False,
    unjudged: str = _UNKNOWN,
) -> Bar:  # fmt: skip
    shown = f"{_digits(rate)} {unit}"
    if ratio is None:
        return Bar(name=name, shown=shown, said=unjudged)
    expected = ratio.expected
    full = max(rate, expected.rate) * ROOM
    verdict = speeds.band(ratio.ratio)
    if at_least and ratio.ratio >= speeds.SLOW:  # a lower bound: its clock is not known well
        verdict = "ok"
    said = f"{ratio.ratio:.0%} of {'at least ' if at_least else ''}{_digits(expected.rate)} {unit}"
    if busy and verdict != "ok":
        said, verdict = f"{said}; {_BUSY}", "ok"
    return Bar(
        name=name, shown=shown, width=round(100 * rate / full, 2), expected_at=round(100 * expected.rate / full, 2),
        verdict=verdict, said=said, source=expected.source,
    )  # fmt: skip


def _digits(rate: float) -> str:
    """Three digits: "0.0821", "55.1", "4,220"."""
    return f"{rate:.3g}" if rate < 1000 else f"{float(f'{rate:.3g}'):,.0f}"


def _busy(probe: ProbeResult) -> bool:
    return bool(_data(probe).get("busy"))


# ---- memory


def memories(report: Report) -> tuple[Memory, ...]:
    """The memory of the machine, of what a control group allows, of /dev/shm, of the GPUs, and the free disk."""
    return tuple(_memories(report.facts))


def _memories(facts: Facts) -> Iterator[Memory]:
    host = facts.host
    if host.memory_bytes:
        yield _memory("host memory", host.memory_bytes, host.memory_available_bytes)
    if host.cgroup_memory_bytes:
        yield Memory(name="allowed by the control group", shown=size(host.cgroup_memory_bytes))
    free = {probe.device: number(probe, "memory_free_bytes") for probe in facts.probes or ()}
    counted: dict[str, int] = {}
    for index, gpu in enumerate(facts.gpus or ()):
        if not gpu.memory_bytes:
            continue
        backend = {"apple": "mps", "intel": "xpu"}.get(gpu.vendor, "cuda")
        counted[backend] = counted.get(backend, -1) + 1
        left = gpu.memory_bytes - gpu.memory_used_bytes if gpu.memory_used_bytes is not None else None
        if left is None and (known := free.get(f"{backend}:{counted[backend]}")) is not None:
            left = int(known)
        yield _memory(f"GPU {index}, {gpu.name or gpu.vendor}", gpu.memory_bytes, left)
    if host.shm_bytes:
        yield Memory(name="/dev/shm", shown=size(host.shm_bytes))
    if host.disk_free_bytes is not None:
        yield Memory(name="disk of the environment", shown=f"{size(host.disk_free_bytes)} free")


def _memory(name: str, total: int, free: int | None) -> Memory:
    if free is None or not 0 <= free <= total:
        return Memory(name=name, shown=size(total))
    return Memory(name=name, shown=f"{size(free)} of {size(total)} free", used=round(100 * (total - free) / total, 1))


# ---- what else


_ROWS = (
    ("float32_bits_effective", "float32 keeps", "{:.0f} bits"),
    ("sm_clock_mhz", "clock while computing", "{:.0f} MHz"),
    ("sm_clock_max_mhz", "highest clock", "{:.0f} MHz"),
    ("cpu_clock_mhz", "clock", "{:.0f} MHz"),
    ("power_w", "power", "{:.0f} W"),
    ("power_limit_w", "power limit", "{:.0f} W"),
    ("temperature_c", "temperature", "{:.0f} °C"),
    ("launch_us", "launch of a kernel", "{:.1f} us"),
    ("pcie_generation", "PCIe generation", "{:.0f}"),
    ("pcie_width", "PCIe lanes", "{:.0f}"),
    ("pcie_width_max", "PCIe lanes that both ends allow", "{:.0f}"),
    ("cpus_usable", "usable CPUs", "{:.0f}"),
    ("quota_cpus", "CPU quota", "{:g} CPUs"),
)


def _rows(probe: ProbeResult) -> Iterator[tuple[str, str]]:
    data = _data(probe)
    for key, name, words in _ROWS:
        if _is_number(value := data.get(key)):
            yield name, words.format(value)
    for key, name in (("throttles", "held back by"), ("wrong", "wrong")):
        value = data.get(key)
        if isinstance(value, list | tuple) and value:
            yield name, "; ".join(str(one) for one in value[:8])
    if probe.stages:
        yield "stages", ", ".join(f"{s.name}{'' if s.ok else ' FAILED'} {s.ms:.0f} ms" for s in probe.stages)


def _pairs(probe: ProbeResult) -> Iterator[tuple[str, ...]]:
    pairs = _data(probe).get("pairs")
    for pair in pairs if isinstance(pairs, list | tuple) else ():
        if isinstance(pair, Mapping) and _is_number(rate := pair.get("gbs")):
            direct = pair.get("peer_access")
            access = "direct" if direct is True else "through the host" if direct is False else "not known"
            yield f"{pair.get('from')}", f"{pair.get('to')}", f"{rate:.4g} GB/s", access


def _data(probe: ProbeResult) -> dict[str, Any]:
    """All that the probe measured; older reports hold only the stages' data."""
    return {**{key: value for stage in probe.stages for key, value in stage.data.items()}, **probe.data}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

"""Classes of comparable devices, and the yardstick of each rate: relative to the class where it has enough members,
else the floor from knowledge, else none, and then it says why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from doctor.inside.fleet import rule
from doctor.knowledge import speeds
from doctor.model.fleet import FleetClass, RankRecord, Yardstick

FLOOR_MEASURED = speeds.OK  # of what was measured on such a device
FLOOR_DATA_SHEET = speeds.SLOW  # of what follows from the data sheet: families differ in how much of it they reach
CONFIRMED = 5  # calls that came close to a CPU's best rate: with fewer, other work may hide the device's own rate


@dataclass(frozen=True)
class Rate:
    """A rate of stage A: the key in the probe's numbers, what it is called, its unit, the shares of the rule."""

    key: str
    name: str
    unit: str
    share: float
    noise: float


RATES = (
    Rate("bfloat16_tflops_burst", "bfloat16 products", "TFLOP/s", rule.DEVICE_SHARE, rule.DEVICE_NOISE),
    Rate("float16_tflops_burst", "float16 products", "TFLOP/s", rule.DEVICE_SHARE, rule.DEVICE_NOISE),
    Rate("float32_tflops_burst", "float32 products", "TFLOP/s", rule.DEVICE_SHARE, rule.DEVICE_NOISE),
    Rate("memory_gbs", "memory", "GB/s", rule.DEVICE_SHARE, rule.DEVICE_NOISE),
    Rate("h2d_gbs", "host to device", "GB/s", rule.LINK_SHARE, rule.LINK_NOISE),
    Rate("d2h_gbs", "device to host", "GB/s", rule.LINK_SHARE, rule.LINK_NOISE),
)
ONE_THREAD = Rate("float32_tflops_one_thread", "float32 on one thread", "TFLOP/s", rule.DEVICE_SHARE, rule.DEVICE_NOISE)
CPU_RATES = (ONE_THREAD,)
# The two measurements of a CPU's rate, a while apart: its key, and that of how many calls came close to it.
MEASURED_TWICE = (
    ("float32_tflops_one_thread", "float32_agreeing_one_thread_count"),
    ("float32_tflops_one_thread_again", "float32_agreeing_one_thread_again_count"),
)


def count_of(word: str | None) -> int | None:
    """A number that a rank wrote down as a word; None where it is none, or more than anything can have."""
    return int(word) if word and word.isdecimal() and len(word) < 20 else None


def is_cpu(record: RankRecord) -> bool:
    return record.device == "cpu"


def class_names(records: Iterable[RankRecord]) -> dict[int, str]:
    """The class of each rank: model, form (its memory, to 4 GB, tells SKUs apart) and fabric. The fabric of a model on
    one host is that of any of its ranks there: a GPU whose links are down does not become a class of its own."""
    records = list(records)
    fabrics: dict[tuple[str, str], set[str]] = {}
    for record in records:
        fabrics.setdefault((record.host, device_of(record)), set()).add(record.config.get("fabric", ""))
    names = {}
    for record in records:
        seen = fabrics[(record.host, device_of(record))] - {""}
        parts = (device_of(record), "nvlink" if "nvlink" in seen else min(seen, default=""),
                 record.config.get("network_kind", ""))  # fmt: skip
        names[record.rank] = ", ".join(part for part in parts if part)
    return names


def device_of(record: RankRecord) -> str:
    """Model and memory in steps of 4 GB, of a CPU its name and how many this process may use."""
    name = " ".join((record.name or ("CPU" if is_cpu(record) else "unknown device")).split())[:80]
    if is_cpu(record):
        cpus = record.config.get("cpus", "")
        return f"{name} x{cpus}" if cpus else name
    if record.memory_bytes and not re.search(r"\d ?GB", name):
        name += f" {4 * round(record.memory_bytes / (4 << 30))} GB"
    mig = record.config.get("mig", "")
    return f"{name} MIG" if mig == "on" else name


@dataclass(frozen=True)
class Measured:
    """A rate of one device. Where it is not `sure` the device is at least that fast."""

    record: RankRecord
    value: float
    sure: bool


def measured(record: RankRecord, rate: Rate) -> Measured | None:
    """A rate that can be judged; None where it was not measured, or other programs used the GPU. Of a CPU it is the
    best of many calls of a millisecond, which other work seldom reaches, and of two measurements: a slow one is slow
    each time. It is sure where there are both, and several calls came close to it."""
    probe = record.probe
    if probe is None or probe.status != "ok":
        return None
    if is_cpu(record):
        numbers = probe.numbers
        found = [(numbers[key], numbers.get(count, 0.0)) for key, count in MEASURED_TWICE if key in numbers]
        if not found or rate is not ONE_THREAD:
            return None
        best, agreeing = max(found)
        return Measured(record, best, len(found) == len(MEASURED_TWICE) and agreeing >= CONFIRMED)
    value = probe.numbers.get(rate.key)
    return None if probe.busy or value is None else Measured(record, value, True)


def rates_of(record: RankRecord) -> tuple[Rate, ...]:
    return CPU_RATES if is_cpu(record) else RATES


def members(records: Iterable[RankRecord], names: Mapping[int, str]) -> dict[str, list[RankRecord]]:
    """The records of each class, in order."""
    by_class: dict[str, list[RankRecord]] = {}
    for record in records:
        by_class.setdefault(names[record.rank], []).append(record)
    return by_class


def device_values(records: Iterable[RankRecord], rate: Rate) -> list[Measured]:
    """One value for each device. Ranks of one host share its CPU: the best of them is the CPU's."""
    best: dict[object, Measured] = {}
    for record in records:
        one = measured(record, rate)
        key: object = record.host if is_cpu(record) else record.rank
        if one is not None and (key not in best or one.value > best[key].value):
            best[key] = one
    return list(best.values())


def standards(records: Iterable[RankRecord], rate: Rate) -> list[float]:
    """The rates that set the standard: the sure ones where they are enough, else all, which makes it lower at most."""
    found = device_values(records, rate)
    sure = [one.value for one in found if one.sure]
    return sure if len(sure) >= rule.FEWEST else [one.value for one in found]


def yardstick(records: list[RankRecord], rate: Rate) -> Yardstick:
    """What the devices of a class are held against for one rate."""
    values = standards(records, rate)
    floor, source, kind = floor_of(records[0], rate)
    threshold = rule.threshold(values, rate.share)
    centre, mad = rule.spread(values) if values else (None, None)
    why = ""
    if threshold is None and floor is None:
        why = (
            f"{len(values)} in the class, {rule.FEWEST} are needed, and no floor is known" if values
            else _why_no_value(records)
        )  # fmt: skip
    return Yardstick(
        rate=rate.name, unit=rate.unit, count=len(values), median=centre, mad=mad,
        threshold=threshold if threshold is not None else floor,
        basis="relative" if threshold is not None else "floor" if floor is not None else "none",
        floor=floor, floor_source=source, floor_kind=kind, why=why,
    )  # fmt: skip


def _why_no_value(records: list[RankRecord]) -> str:
    if any(record.probe is not None and record.probe.busy for record in records):
        return "other programs used the device"
    return "not measured"


def floor_of(
    record: RankRecord, rate: Rate
) -> tuple[float | None, str, Literal["measured", "data sheet"] | None]:
    """(floor, source, "measured" or "data sheet") of a rate; (None, "", None) where the tables do not know."""
    expected = _expected(record, rate)
    if expected is None:
        return None, "", None
    share = FLOOR_MEASURED if expected.measured else FLOOR_DATA_SHEET
    kind: Literal["measured", "data sheet"] = "measured" if expected.measured else "data sheet"
    return round(share * expected.rate, 3), f"{share:g} of {expected.rate:g} {rate.unit}: {expected.source}", kind


def _expected(record: RankRecord, rate: Rate) -> speeds.Expected | None:
    numbers = record.probe.numbers if record.probe else {}
    if is_cpu(record) or not record.name:
        return None
    if rate.key.endswith("_tflops_burst"):
        dtype = rate.key.partition("_")[0]
        bits = numbers.get("float32_bits_effective")
        kind = speeds.kind_of(dtype, int(bits) if bits is not None else None)
        return speeds.product_rate(record.name, kind) if kind else None
    if rate.key == "memory_gbs":
        return speeds.memory_rate(record.name)
    generation, width = numbers.get("pcie_generation_max"), numbers.get("pcie_width_max")
    return speeds.link_rate(int(generation), int(width)) if generation and width else None


def classes(records: Iterable[RankRecord], names: Mapping[int, str]) -> tuple[FleetClass, ...]:
    """All classes with their yardsticks, by name."""
    found = []
    for name, ranks in sorted(members(records, names).items()):
        network = Counter(r.config.get("network_kind", "") for r in ranks).most_common(1)[0][0]
        fabric = ", ".join(part for part in (name.removeprefix(device_of(ranks[0])).strip(", "),) if part) or network
        found.append(
            FleetClass(
                name=name, device=device_of(ranks[0]), fabric=fabric, gpus=len(ranks),
                nodes=len({r.host for r in ranks}),
                yardsticks=tuple(
                    yardstick(ranks, rate) for rate in rates_of(ranks[0])
                    if any(r.probe and rate.key in r.probe.numbers for r in ranks)
                ),
            )
        )  # fmt: skip
    return tuple(found)

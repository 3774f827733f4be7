"""What stage A found of each device and machine: health, other users, and rates that are too low."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from doctor.fleet.judge.catalogue import OWN, of_rank, remedy_of
from doctor.fleet.judge.classes import count_of, device_values, is_cpu, measured, rates_of
from doctor.fleet.judge.ranks import NO_TORCH
from doctor.inside.fleet import rule
from doctor.model.fleet import FleetFinding, RankRecord, Verdict, Yardstick

SHM_NEEDED = 32 << 20  # bytes that are free: NCCL takes some ten megabytes a peer, workers of a DataLoader more
MEMLOCK_NEEDED = 64 << 20  # bytes; adapters register buffers of that size
BAD_XIDS = (48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 143)  # NVIDIA, XID Errors: hardware, or the card is lost
FOREIGN_PERCENT = 10


def devices(records: Mapping[int, RankRecord]) -> Iterator[FleetFinding]:
    """What the probe and the driver found of each device."""
    for record in records.values():
        probe = record.probe
        if probe is None:
            continue
        if probe.status == "failed" and probe.wrong:
            why = f"Wrong results: {probe.wrong[0].rstrip('.')}."
            yield of_rank("device-wrong-results", record, "fail", why)
        elif probe.status == "failed" and probe.stage == "import":
            id = "torch-missing" if NO_TORCH in probe.reason else "torch-install-broken"
            yield of_rank(id, record, "fail", f"Its torch cannot be imported: {probe.reason.rstrip('.')}.", kind="node")
        elif probe.status == "failed":
            why = f"The probe failed at {probe.stage}: {probe.reason.rstrip('.')}."
            yield of_rank("device-crashes", record, "fail", why)
        yield from _hardware(record)
        yield from _others(record)
    yield from _machines(records.values())


def _hardware(record: RankRecord) -> Iterator[FleetFinding]:
    numbers = record.probe.numbers if record.probe else {}
    for key, text in (
        ("ecc_uncorrected_count", "uncorrected memory errors since the driver started"),
        ("rows_pending_count", "row remapping pending: the GPU needs a reset"),
        ("rows_failed_count", "row remapping failed: the GPU is to be replaced"),
    ):
        if numbers.get(key):
            yield of_rank("gpu-hardware-fault", record, "fail", f"{numbers[key]:g}: {text}.")
    now, most = numbers.get("pcie_width"), numbers.get("pcie_width_max")
    if now and most and now < most:
        text = f"PCIe link x{now:g} under load, both ends allow x{most:g}."
        yield of_rank("device-slow", record, "degraded", text)
    if (down := numbers.get("nvlinks_down_count")) and numbers.get("nvlinks_count"):
        text = f"{down:g} of {numbers['nvlinks_count']:g} NVLinks are down."
        yield of_rank("gpu-hardware-fault", record, "fail", text)
    for word in record.probe.throttles if record.probe else ():
        if word in ("hardware slowdown", "temperature (hardware)", "power brake"):
            yield of_rank("device-slow", record, "degraded", f"Its clock was held back: {word}.")


def _others(record: RankRecord) -> Iterator[FleetFinding]:
    """Somebody else on the device."""
    numbers = record.probe.numbers if record.probe else {}
    busy = max(numbers.get("utilization_before_percent", 0), numbers.get("foreign_utilization_percent", 0))
    held = numbers.get("memory_used_before_bytes", 0)
    if not is_cpu(record) and (busy > FOREIGN_PERCENT or held > (1 << 30)):
        text = f"Another process uses this GPU: {busy:g} % busy before the run" if busy else "Another process holds"
        text += f", {held / 1e9:.1f} GB held" if busy and held else f" {held / 1e9:.1f} GB of it" if held else ""
        yield of_rank("gpu-busy", record, "degraded", f"{text}. Its rates are not judged.")


def _machines(records: Iterable[RankRecord]) -> Iterator[FleetFinding]:
    """Of each node once: /dev/shm, locked memory, Xid; and what the ranks themselves complained of."""
    said: set[tuple[str, str]] = set()
    for record in records:
        for id, verdict, text in (*_machine(record), *_complaints(record)):
            if (record.host, id + text) in said:
                continue
            said.add((record.host, id + text))
            yield FleetFinding(
                id=id, kind="node", subject=record.host, verdict=verdict, hosts=(record.host,), ranks=(record.rank,),
                text=text, remedy=remedy_of(id),
            )  # fmt: skip


def _machine(record: RankRecord) -> Iterator[tuple[str, Verdict, str]]:
    config = record.config
    free, size = _number(config, "shm_free_bytes"), _number(config, "shm_bytes")
    if free is not None and free < SHM_NEEDED:
        whole = f" of {size >> 20} MiB" if size is not None else ""
        text = f"/dev/shm has {free >> 20} MiB free{whole}: NCCL and workers need more."
        yield "shared-memory-too-small", "fail", text
    limit = _number(config, "memlock_bytes")
    if limit is not None and limit < MEMLOCK_NEEDED and config.get("ib_ports", "0") not in ("", "0"):
        text = f"Locked memory is limited to {limit >> 10} KiB, and there is InfiniBand."
        yield "fleet-memory-lock", "degraded", text
    for code in config.get("xids", "").split():
        if count_of(code) in BAD_XIDS:
            yield "gpu-hardware-fault", "fail", f"The kernel's log has Xid {code}."


def _complaints(record: RankRecord) -> Iterator[tuple[str, Verdict, str]]:
    for line in record.problems:
        id, _, text = line.partition(": ")
        if id in OWN:
            yield id, "degraded", f"{text.rstrip('.')}."


def _number(config: Mapping[str, str], key: str) -> int | None:
    value = config.get(key, "")
    return int(value) if value.isdecimal() and len(value) < 20 else None


# ---- rates of stage A


@dataclass(frozen=True)
class Below:
    """A device that one rate says to be slow, or of which it cannot tell (`noisy`: why not)."""

    record: RankRecord
    text: str
    noisy: str = ""


def below(records: Iterable[RankRecord], yards: Mapping[str, Yardstick]) -> Iterator[Below]:
    """Devices of one class below its yardsticks: below the class, or below the absolute floor."""
    records = list(records)
    for rate in rates_of(records[0]):
        yard = yards.get(rate.name)
        if yard is None or yard.threshold is None:
            continue
        relative, limit = yard.basis == "relative", max(yard.threshold, yard.floor or 0.0)
        for one in device_values(records, rate):
            slow = one.value < limit
            if not slow and not (relative and yard.median and rule.is_noisy(one.value, yard.median, rate.noise)):
                continue
            text = f"{rate.name}: {one.value:.4g} {rate.unit}"
            if relative and (not slow or one.value < yard.threshold):
                text += f", {100 * (1 - one.value / (yard.median or 1)):.0f} % below the median {yard.median:.4g} of "
                text += f"{yard.count} of its class (limit {yard.threshold:.4g})"
            else:
                text += f", below the floor {yard.floor:.4g} ({yard.floor_kind}: {yard.floor_source})"
            if not slow:
                yield Below(one.record, text, "noisy: the rates of this class differ too much to tell")
            else:
                yield Below(one.record, text, "" if one.sure else "noisy: other work kept it from its CPU")


def slow(found: Iterable[Below]) -> Iterator[FleetFinding]:
    """One finding for each device that is slow for sure."""
    told: dict[int, list[Below]] = {}
    for one in found:
        if not one.noisy:
            told.setdefault(one.record.rank, []).append(one)
    for ones in told.values():
        texts = [one.text for one in ones]
        finding = of_rank("device-slow", ones[0].record, "degraded", f"{'; '.join(texts)}.")
        yield replace(finding, evidence=tuple(texts))


def rates_measured(record: RankRecord) -> dict[str, float]:
    """The rates of a device that were measured, judged or not."""
    numbers = record.probe.numbers if record.probe else {}
    return {rate.name: numbers[rate.key] for rate in rates_of(record) if rate.key in numbers}


def judged_rates(record: RankRecord) -> tuple[str, ...]:
    return tuple(rate.name for rate in rates_of(record) if measured(record, rate) is not None)

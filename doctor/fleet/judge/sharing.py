"""Ranks that use the same GPU. Each measures the work and memory of the other, and NCCL refuses them. Only the sharing
is a finding: what comes of it accuses nobody."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from doctor.fleet.judge.catalogue import remedy_of
from doctor.fleet.judge.classes import is_cpu
from doctor.fleet.judge.words import ranks_listed
from doctor.model.fleet import FleetFinding, RankRecord

CONSEQUENCES = (
    "device-slow", "gpu-busy", "device-crashes", "fleet-rank-died", "fleet-rank-hung", "fleet-rendezvous-failed",
    "fleet-node-links", "fleet-link-slow", "fleet-link-broken", "fleet-collective-failed", "fleet-collective-slow",
)  # fmt: skip
VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


def groups(records: Iterable[RankRecord], hidden: Iterable[int]) -> list[tuple[RankRecord, ...]]:
    """Ranks of one host that use the same GPU: by its UUID. Where one of two has not come so far as to learn that, and
    GPUs are hidden from one, by its number in the variable. That of other ranks proves nothing, because a batch system
    may show each of them one GPU as number 0."""
    records = [r for r in records if not is_cpu(r)]
    hidden = set(hidden)
    by_gpu: dict[tuple[str, str], dict[int, RankRecord]] = {}
    for record in records:
        if (uuid := _uuid(record)) is not None:
            by_gpu.setdefault((record.host, uuid), {})[record.rank] = record
    for record in records:
        if record.rank in hidden and (number := _number(record)) is not None:
            for other in records:
                uuids = [uuid for uuid in map(_uuid, (record, other)) if uuid]
                same = other.host == record.host and _number(other) == number
                if other.rank != record.rank and same and len(uuids) < 2:
                    key = (record.host, uuids[0] if uuids else number)
                    by_gpu.setdefault(key, {}).update({record.rank: record, other.rank: other})
    return [tuple(ranks[r] for r in sorted(ranks)) for ranks in by_gpu.values() if len(ranks) > 1]


def _uuid(record: RankRecord) -> str | None:
    """None of a part of a GPU (MIG): parts have that of the whole."""
    probe = record.probe
    if probe is None or record.config.get("mig", "") == "on":
        return None
    return probe.words.get("uuid") or None


def _number(record: RankRecord) -> str | None:
    """The number of its GPU on the machine, by the variable that shows it some."""
    index = record.device.partition(":")[2]
    shown = next((record.config[name] for name in VARIABLES if name in record.config), None)
    if shown is None:
        return index or None
    words = [word.strip() for word in shown.split(",")]
    here = words[int(index)] if index.isdecimal() and int(index) < len(words) else ""
    return here if here.isdecimal() else None


def apart(
    records: Mapping[int, RankRecord], shared: Iterable[tuple[RankRecord, ...]]
) -> dict[int, RankRecord]:
    """The records, with those that share a GPU marked as disturbed: their rates are no standard, and are not judged."""
    made = dict(records)
    for group in shared:
        for record in group:
            if record.probe is not None:
                made[record.rank] = replace(record, probe=replace(record.probe, busy=True))
    return made


def findings(shared: Iterable[tuple[RankRecord, ...]], hidden: Iterable[int]) -> Iterator[FleetFinding]:
    """One for each GPU with several ranks, unless a hidden GPU explains it."""
    for group in shared:
        if {r.rank for r in group} & set(hidden):
            continue
        first = group[0]
        yield FleetFinding(
            id="fleet-gpu-shared", kind="node", subject=first.host, verdict="fail", hosts=(first.host,),
            ranks=tuple(r.rank for r in group),
            text=f"On this node {ranks_listed([r.rank for r in group])} use the same GPU ({_uuid(first)}).",
            remedy=remedy_of("fleet-gpu-shared"),
        )  # fmt: skip


def partners(shared: Iterable[tuple[RankRecord, ...]]) -> dict[int, str]:
    """Of each rank that shares its GPU why its rates say nothing."""
    return {
        one.rank: f"{ranks_listed([r.rank for r in group if r is not one])} used the same GPU"
        for group in shared for one in group
    }  # fmt: skip

"""Records of a fleet as its ranks would leave them: healthy with natural noise, and faults put in one by one."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from doctor.inside.fleet import schedule
from doctor.model.fleet import Collective, DeviceProbe, Pair, RankRecord, RankStage

Records = dict[int, RankRecord]
# Name, memory, products of bfloat16 and of float32 (TF32), memory, NVLink pairs, network pairs: TFLOP/s and GB/s.
MODELS = {
    "H200": ("NVIDIA H200", 141 << 30, 778.0, 396.0, 4200.0, 360.0, 46.0),
    "A100": ("NVIDIA A100-SXM4-80GB", 80 << 30, 264.5, 130.0, 1750.0, 230.0, 23.0),
}
OK = (
    RankStage(name="A", state="ok", seconds=20.0), RankStage(name="B", state="ok", seconds=1.0),
    RankStage(name="C", state="ok", seconds=30.0),
)  # fmt: skip


def fleet(
    nodes: int = 4, gpus: int = 8, *, models: tuple[str, ...] = ("H200",), noise: float = 0.01, seed: int = 0,
    torch: str = "2.11.0+cu130", between: int = schedule.BETWEEN_ROUNDS,
) -> Records:
    """A healthy fleet. The models take turns, node by node."""
    draw = random.Random(seed)
    hosts = [f"node{node:04d}" for node in range(nodes) for _ in range(gpus)]
    model = [MODELS[models[node % len(models)]] for node in range(nodes) for _ in range(gpus)]
    world = nodes * gpus
    pairs: dict[int, list[Pair]] = {rank: [] for rank in range(world)}
    for number, (scope, partner) in enumerate(schedule.steps(hosts, between)):
        for rank, other in partner.items():
            rate = (model[rank] if model[rank][5] < model[other][5] else model[other])[5 if scope == "node" else 6]
            best = rate * noisy(draw, noise)
            pairs[rank].append(
                Pair(source=other, scope=scope, round=number, state="ok", bytes=1 << 28, gbs=best,
                     median_gbs=best * 0.99)
            )  # fmt: skip
    records = {}
    for rank in range(world):
        name, memory, half, single, bandwidth, _, _ = model[rank]
        records[rank] = RankRecord(
            tool="torchdoctor", run="job-1", nonce="one", rank=rank, world=world, local_rank=rank % gpus,
            local_world=gpus, host=hosts[rank], launcher="torchrun", backend="nccl", device=f"cuda:{rank % gpus}",
            name=name, memory_bytes=memory, devices_seen=gpus, devices_there=gpus, started_at="2026-11-22T10:00:00Z",
            written_at="2026-11-22T10:01:00Z", finished=True, stages=OK,
            probe=DeviceProbe(status="ok", numbers={
                "bfloat16_tflops_burst": half * noisy(draw, noise), "float32_tflops_burst": single * noisy(draw, noise),
                "float32_bits_effective": 11.0, "memory_gbs": bandwidth * noisy(draw, noise),
                "h2d_gbs": 55.0 * noisy(draw, noise), "d2h_gbs": 55.0 * noisy(draw, noise),
                "pcie_generation_max": 5.0, "pcie_width_max": 16.0, "pcie_width": 16.0,
            }),
            config={
                "torch": torch, "nccl": "2.28.9", "driver": "580.105", "fabric": "nvlink", "network_kind": "infiniband",
                "mtu": "9000", "master": "node0000:29500", "gpus_there": str(gpus), "ib_ports": "8",
                "ib_rate_gbps": "400" if name == "NVIDIA H200" else "200",
                "nvlink_version": "4" if name == "NVIDIA H200" else "3",
                "nvlink_links_most": "18" if name == "NVIDIA H200" else "12",
                "shm_bytes": str(64 << 30), "shm_free_bytes": str(60 << 30),
            },
            members=tuple(range(world)) if rank in (0, world - 1) else (),
            pairs=tuple(pairs[rank]),
            collectives=tuple(collective(name, world, 1 << 30) for name in
                              ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")),
        )  # fmt: skip
    return records


def noisy(draw: random.Random, share: float) -> float:
    return min(1 + 3 * share, max(1 - 3 * share, draw.gauss(1.0, share)))


def collective(name: str, members: int, bytes: int, **changes: object) -> Collective:
    one = Collective(name=name, state="ok", members=members, bytes=bytes, ms=4.0, busbw_gbs=400.0, algbw_gbs=230.0)  # type: ignore[arg-type]
    return replace(one, **changes)  # type: ignore[arg-type]


# ---- faults: each changes the records of a healthy fleet in place


def missing_node(records: Records, host: str) -> None:
    gone = [r for r, one in records.items() if one.host == host]
    for rank in gone:
        del records[rank]
    for rank, one in records.items():
        members = None if one.members is None else tuple(m for m in one.members if m not in gone)
        pairs = tuple(p for p in one.pairs if p.source not in gone)
        records[rank] = replace(one, members=members, pairs=pairs)


def slow_gpu(records: Records, rank: int, share: float = 0.85) -> None:
    probe = records[rank].probe
    assert probe
    numbers = {k: v * share if k.endswith("_tflops_burst") else v for k, v in probe.numbers.items()}
    records[rank] = replace(records[rank], probe=replace(probe, numbers=numbers))


def slow_network(records: Records, host: str, share: float = 0.5) -> None:
    """All links of a node: its adapter."""
    _rates(records, lambda a, b, scope: share if scope == "between" and host in (a.host, b.host) else 1.0)


def slow_link(records: Records, host: str, other: str, share: float = 0.5) -> None:
    """One link, in both directions."""
    _rates(records, lambda a, b, scope: share if {a.host, b.host} == {host, other} else 1.0)


def _rates(records: Records, factor: Callable[[RankRecord, RankRecord, str], float]) -> None:
    for rank, record in records.items():
        pairs = []
        for pair in record.pairs:
            by = factor(records[pair.source], record, pair.scope)
            pairs.append(replace(pair, gbs=(pair.gbs or 0) * by, median_gbs=(pair.median_gbs or 0) * by))
        records[rank] = replace(record, pairs=tuple(pairs))


def other_torch(records: Records, host: str, version: str = "2.10.0+cu128") -> None:
    for rank, record in records.items():
        if record.host == host:
            records[rank] = replace(record, config={**record.config, "torch": version})


def memory_errors(records: Records, rank: int) -> None:
    probe = records[rank].probe
    assert probe
    numbers = {**probe.numbers, "ecc_uncorrected_count": 3.0}
    records[rank] = replace(records[rank], probe=replace(probe, numbers=numbers))


def wrong_part(records: Records, rank: int) -> None:
    """One element of this rank's part is wrong wherever it arrives."""
    for one, record in records.items():
        if one != rank:
            records[one] = replace(record, collectives=tuple(
                replace(c, state="wrong", wrong=1, first_wrong=12345, wrong_from=(rank,))
                if c.name in ("all-gather", "all-to-all") else c for c in record.collectives))  # fmt: skip


def link_to(records: Records, host: str) -> str:
    """Another node that this one was measured with."""
    record = next(r for r in records.values() if r.host == host)
    return next(records[p.source].host for p in record.pairs if p.scope == "between")

"""What each rank came to: missing, died, hung, never joined; and what stage A found of its device and machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from doctor.fleet.judge.catalogue import OWN, remedy_of
from doctor.fleet.judge.classes import device_values, is_cpu, rates_of, value_of
from doctor.fleet.judge.words import gpu_name, ranks_listed
from doctor.model.fleet import FleetFinding, Heard, RankRecord, RankStage, Verdict, Yardstick

SHM_NEEDED = 32 << 20  # bytes that are free: NCCL takes some ten megabytes a peer, workers of a DataLoader more
MEMLOCK_NEEDED = 64 << 20  # bytes; adapters register buffers of that size
BAD_XIDS = (48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120, 140, 143)  # NVIDIA, XID Errors: hardware, or the card is lost
FOREIGN_PERCENT = 10


@dataclass(frozen=True)
class Expected:
    """Who should be there. `hosts`: of each rank, where the operator named them; `unreadable`: rank or file name → why
    its record was refused."""

    world: int
    hosts: Mapping[int, str]
    unreadable: Mapping[int, str]


def host_of_missing(rank: int, expected: Expected, records: Mapping[int, RankRecord]) -> str:
    """The node of a rank that left nothing: as named, else that of other ranks of its block, else the block."""
    if rank in expected.hosts:
        return expected.hosts[rank]
    sizes = Counter(r.local_world for r in records.values() if r.local_world)
    size = sizes.most_common(1)[0][0] if sizes else 1
    assert size is not None
    first = rank - rank % size
    here = [records[r].host for r in range(first, first + size) if r in records]
    if here:
        return here[0]
    return f"the node of {ranks_listed(range(first, min(first + size, expected.world)))}"


def absent(expected: Expected, records: Mapping[int, RankRecord]) -> Iterator[FleetFinding]:
    """Ranks without a record: each is named, with what is known of it."""
    heard: dict[int, Heard] = {}
    for record in records.values():
        for one in record.heard:
            if one.rank not in heard or one.problem:
                heard[one.rank] = one
    missing = [rank for rank in range(expected.world) if rank not in records]
    joined = {rank for record in records.values() for rank in record.members or ()}
    gone: dict[str, list[int]] = {}
    for rank in missing:
        host = heard[rank].host if rank in heard else host_of_missing(rank, expected, records)
        if rank in expected.unreadable:
            text = f"Its record cannot be read: {expected.unreadable[rank]}."
            yield _of_rank("fleet-record-damaged", "not-measured", host, rank, text)
        elif rank in heard and heard[rank].problem:
            yield _of_rank("fleet-output-unwritable", "not-measured", host, rank, f"{heard[rank].problem}.")
        elif rank in heard or rank in joined:
            text = "It took part in the run, but its record is not in this folder."
            yield _of_rank("fleet-record-absent", "not-measured", host, rank, text)
        else:
            gone.setdefault(host, []).append(rank)
    for host, ranks in gone.items():
        present = any(r.host == host for r in records.values())
        text = f"{ranks_listed(ranks)} left no record and never joined"
        text += "." if present else ": nothing was heard of this node."
        yield FleetFinding(
            id="fleet-rank-missing", kind="node", subject=host, verdict="fail", hosts=(host,), ranks=tuple(ranks),
            text=text[0].upper() + text[1:], remedy=remedy_of("fleet-rank-missing"),
        )  # fmt: skip


def _of_rank(id: str, verdict: Verdict, host: str, rank: int, text: str) -> FleetFinding:
    return FleetFinding(
        id=id, kind="node", subject=f"{host} (rank {rank})", verdict=verdict, hosts=(host,), ranks=(rank,), text=text,
        remedy=remedy_of(id),
    )  # fmt: skip


def stage(record: RankRecord, name: str) -> RankStage | None:
    return next((s for s in record.stages if s.name == name), None)


def blamed(records: Mapping[int, RankRecord]) -> set[int]:
    """Ranks that ended themselves, so that what others measured with them is a consequence. Of several that hung in the
    same operation: those that the others named as missing, or that were not waiting in it; else nobody knows which."""
    named = Counter(rank for r in records.values() for c in r.collectives for rank in c.missing)
    named.update(p.source for r in records.values() for p in r.pairs if p.state == "absent")
    found: set[int] = set()
    together: dict[tuple[str, str | None], list[RankRecord]] = {}
    for rank, record in records.items():
        ended = _ended_badly(record)
        bad = next((s for s in record.stages if s.state == "hung"), None)
        if ended == "died" or (bad and bad.name != "C"):
            found.add(rank)
        elif ended == "hung" and bad:
            together.setdefault((bad.name, bad.step), []).append(record)
    for hung in together.values():
        if len(hung) == 1:
            found.add(hung[0].rank)
        elif _pair_of(hung) is None:  # of two that waited for each other, it is the link
            found |= {r.rank for r in hung if named[r.rank]} | _elsewhere(hung)
    return found


def _pair_of(hung: list[RankRecord]) -> str | None:
    """The step of two ranks that hung in measuring the pair of just them."""
    steps = {s.step for r in hung for s in r.stages if s.step and s.state not in ("ok", "not-run")}
    step = steps.pop() if len(steps) == 1 else None
    ranks = sorted(r.rank for r in hung)
    return step if step and len(ranks) == 2 and step == f"pair {ranks[0]}-{ranks[1]}" else None


def _elsewhere(hung: list[RankRecord]) -> set[int]:
    """Of ranks that hung in the same operation, those that were not waiting in it: while the others stood in torch's
    own code, they were somewhere else."""
    frames = {r.rank: s.frame for r in hung for s in r.stages if s.state == "hung" and s.frame}
    outside = {rank for rank, frame in frames.items() if not frame.startswith("torch/")}
    return outside if len(outside) < len(frames) else set()


def _ended_badly(record: RankRecord) -> str | None:
    """How its own processes ended: "died", "hung"; None where they did not, or could not help it."""
    for one in record.stages:
        if one.state in ("died", "hung"):
            return one.state
    if not record.finished and not any(s.state == "ended" for s in record.stages):
        return "died"
    return None


def endings(records: Mapping[int, RankRecord]) -> Iterator[FleetFinding]:
    """Ranks that died or hung, with the stage and step; and those that never reached the rendezvous."""
    guilty = blamed(records)
    stuck = []
    for rank, record in records.items():
        ended = _ended_badly(record)
        if ended is not None:
            if rank in guilty:
                yield _ending(record, ended)
            else:
                stuck.append(record)
        elif record.members is None and (c := stage(record, "C")) and c.state in ("failed", "ended"):
            if c.step == "join":
                yield _gpu("fleet-rendezvous-failed", record, "fail", f"{c.why.rstrip('.')}.", kind="node")
            else:
                where = f" at {c.step}" if c.step else ""
                id = "torch-missing" if "No module named 'torch'" in c.why else "fleet-rank-died"
                yield _gpu(id, record, "fail", f"Stage C ended{where}: {c.why.rstrip('.')}.")
    watched = [r for r in records.values() if (c := stage(r, "C")) and c.why.startswith("NCCL's watchdog")]
    if watched and not guilty:
        stuck += watched
    by_step: dict[str | None, list[RankRecord]] = {}
    for record in stuck:
        by_step.setdefault(next((s.step for s in record.stages if s.step), None), []).append(record)
    for step, pair in by_step.items():
        if _pair_of(pair) is not None:
            stuck = [r for r in stuck if r not in pair]
            one, other = sorted(pair, key=lambda r: r.rank)
            yield FleetFinding(
                id="fleet-link-broken", kind="link", subject=f"{gpu_name(one)} <-> {gpu_name(other)}", verdict="fail",
                hosts=tuple(sorted({one.host, other.host})), ranks=(one.rank, other.rank),
                text=f"Nothing came through ({step}): both waited until they were ended.",
                remedy=remedy_of("fleet-link-broken"),
            )  # fmt: skip
    if stuck:
        steps = Counter(s.step for r in stuck for s in r.stages if s.step)
        step = steps.most_common(1)[0][0] if steps else "?"
        yield FleetFinding(
            id="fleet-collective-failed", kind="fleet", subject="fleet", verdict="fail",
            ranks=tuple(r.rank for r in stuck), hosts=tuple(sorted({r.host for r in stuck})),
            text=f"{ranks_listed([r.rank for r in stuck])} did not come back from {step}; all had begun it, so none "
            "can be blamed.",
            remedy=remedy_of("fleet-collective-failed"),
        )  # fmt: skip


def _ending(record: RankRecord, ended: str) -> FleetFinding:
    bad = next((s for s in record.stages if s.state in ("died", "hung")), None)
    if bad is None:
        last = record.stages[-1] if record.stages else None
        after = f"after stage {last.name}" if last else "before stage A had ended"
        return _gpu("fleet-rank-died", record, "fail", f"Its process was gone {after}: the record was never finished.")
    where = f"stage {bad.name}" + (f", {bad.step}" if bad.step else "")
    if bad.name == "A" and not is_cpu(record):
        return _gpu("device-crashes", record, "fail", f"{where}: {bad.why.rstrip('.')}.")
    id = "fleet-rank-died" if ended == "died" else "fleet-rank-hung"
    return _gpu(id, record, "fail", f"{where}: {bad.why.rstrip('.')}.")


def _gpu(id: str, record: RankRecord, verdict: Verdict, text: str, kind: str = "gpu") -> FleetFinding:
    return FleetFinding(
        id=id, kind=kind, subject=gpu_name(record) if kind == "gpu" else f"{record.host} (rank {record.rank})",  # type: ignore[arg-type]
        verdict=verdict, hosts=(record.host,), ranks=(record.rank,), text=text, remedy=remedy_of(id),
    )  # fmt: skip


# ---- stage A


def devices(records: Mapping[int, RankRecord]) -> Iterator[FleetFinding]:
    """What the probe and the driver found of each device."""
    for record in records.values():
        probe = record.probe
        if probe is None:
            continue
        if probe.status == "failed" and probe.wrong:
            yield _gpu("device-wrong-results", record, "fail", f"Wrong results: {probe.wrong[0].rstrip('.')}.")
        elif probe.status == "failed":
            why = f"The probe failed at {probe.stage}: {probe.reason.rstrip('.')}."
            yield _gpu("device-crashes", record, "fail", why)
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
            yield _gpu("gpu-hardware-fault", record, "fail", f"{numbers[key]:g}: {text}.")
    now, most = numbers.get("pcie_width"), numbers.get("pcie_width_max")
    if now and most and now < most:
        yield _gpu("device-slow", record, "degraded", f"PCIe link x{now:g} under load, both ends allow x{most:g}.")
    if (down := numbers.get("nvlinks_down_count")) and numbers.get("nvlinks_count"):
        yield _gpu("gpu-hardware-fault", record, "fail", f"{down:g} of {numbers['nvlinks_count']:g} NVLinks are down.")
    for word in record.probe.throttles if record.probe else ():
        if word in ("hardware slowdown", "temperature (hardware)", "power brake"):
            yield _gpu("device-slow", record, "degraded", f"Its clock was held back: {word}.")


def _others(record: RankRecord) -> Iterator[FleetFinding]:
    """Somebody else on the device."""
    numbers = record.probe.numbers if record.probe else {}
    busy = max(numbers.get("utilization_before_percent", 0), numbers.get("foreign_utilization_percent", 0))
    held = numbers.get("memory_used_before_bytes", 0)
    if not is_cpu(record) and (busy > FOREIGN_PERCENT or held > (1 << 30)):
        text = f"Another process uses this GPU: {busy:g} % busy before the run" if busy else "Another process holds"
        text += f", {held / 1e9:.1f} GB held" if busy and held else f" {held / 1e9:.1f} GB of it" if held else ""
        yield _gpu("gpu-busy", record, "degraded", f"{text}. Its rates are not judged.")


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
        if code.isdecimal() and int(code) in BAD_XIDS:
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


def slow(
    records: Iterable[RankRecord], yards: Mapping[str, Yardstick]
) -> Iterator[FleetFinding]:
    """Devices of one class below its yardsticks: below the class, or below the absolute floor."""
    records = list(records)
    told: dict[int, tuple[RankRecord, list[str]]] = {}
    for rate in rates_of(records[0]):
        yard = yards.get(rate.name)
        if yard is None or yard.threshold is None:
            continue
        limit = max(yard.threshold, yard.floor or 0.0)
        for record, value in device_values(records, rate):
            if value >= limit:
                continue
            if yard.basis == "relative" and value < yard.threshold:
                text = (
                    f"{rate.name}: {value:.4g} {rate.unit}, {100 * (1 - value / (yard.median or 1)):.0f} % below the "
                    f"median {yard.median:.4g} of {yard.count} of its class (limit {yard.threshold:.4g})"
                )
            else:
                text = (
                    f"{rate.name}: {value:.4g} {rate.unit}, below the floor {yard.floor:.4g} "
                    f"({yard.floor_kind}: {yard.floor_source})"
                )
            told.setdefault(record.rank, (record, []))[1].append(text)
    for record, texts in told.values():
        one = _gpu("device-slow", record, "degraded", f"{'; '.join(texts)}.")
        yield replace(one, evidence=tuple(texts))


def rates_measured(record: RankRecord) -> dict[str, float]:
    """The rates of a device that were measured, judged or not."""
    numbers = record.probe.numbers if record.probe else {}
    return {rate.name: numbers[rate.key] for rate in rates_of(record) if rate.key in numbers}


def judged_rates(record: RankRecord) -> tuple[str, ...]:
    return tuple(rate.name for rate in rates_of(record) if value_of(record, rate) is not None)

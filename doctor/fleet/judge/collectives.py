"""Collective operations: whether their answers are right, whose part is wrong, and the bandwidth against what healthy
machines reach."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from doctor.fleet.judge.catalogue import remedy_of
from doctor.fleet.judge.words import gbs, gpu_name, ranks_listed
from doctor.knowledge import fabrics
from doctor.model.fleet import Collective, CollectiveVerdict, FleetFinding, RankRecord, Verdict

NAMES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
FLOOR_SHARE = 0.8  # of what was measured on such machines
LARGE = 64 << 20  # bytes: smaller ones are bound by latency
WHOLE_NODE = 8  # GPUs of the machines that the floors were measured on


def seen(records: Mapping[int, RankRecord], name: str) -> dict[int, Collective]:
    """What each rank saw of one operation; of several the last."""
    return {rank: c for rank, r in records.items() for c in r.collectives if c.name == name}


def verdicts(records: Mapping[int, RankRecord]) -> Iterator[CollectiveVerdict]:
    """One for each operation. Its time is that of the slowest rank."""
    for name in NAMES:
        ranks = seen(records, name)
        if ranks:
            yield _verdict(name, ranks, records)


def _verdict(name: str, ranks: Mapping[int, Collective], records: Mapping[int, RankRecord]) -> CollectiveVerdict:
    states = Counter(c.state for c in ranks.values())
    slowest = max((c for c in ranks.values() if c.ms), key=lambda c: c.ms or 0.0, default=None)
    floor, source = floor_of(name, slowest, records, ranks) if slowest else (None, "")
    verdict: Verdict = "pass"
    why = ""
    if states["wrong"] or any(c.input_wrong for c in ranks.values()):
        verdict, why = "fail", f"wrong on {ranks_listed([r for r, c in ranks.items() if c.state == 'wrong'])}"
    elif states["failed"] or states["timed-out"]:
        bad = next(c for c in ranks.values() if c.state in ("failed", "timed-out"))
        verdict, why = "fail", bad.why or bad.state
    elif states["absent"] or slowest is None:
        bad = next(iter(ranks.values()))
        verdict = "not-measured"
        why = next((c.why for c in ranks.values() if c.why), "") or bad.state
    elif floor is not None and (slowest.busbw_gbs or 0) < floor:
        verdict, why = "degraded", f"{gbs(slowest.busbw_gbs or 0)}, below {gbs(floor)} ({source})"
    return CollectiveVerdict(
        name=name, verdict=verdict, members=max(c.members for c in ranks.values()),
        bytes=slowest.bytes if slowest else None, busbw_gbs=slowest.busbw_gbs if slowest else None,
        algbw_gbs=slowest.algbw_gbs if slowest else None, ms=slowest.ms if slowest else None,
        algorithm=slowest.algorithm if slowest else None, floor_gbs=floor, why=why,
    )  # fmt: skip


def floor_of(
    name: str, slowest: Collective, records: Mapping[int, RankRecord], ranks: Mapping[int, Collective]
) -> tuple[float | None, str]:
    """(GB/s, source): for whole nodes of a model that was measured; a floor of other sizes would be a guess."""
    devices = {records[r].name for r in ranks}
    hosts = Counter(records[r].host for r in ranks)
    name_of = next(iter(devices))
    if name != "all-reduce" or len(devices) != 1 or name_of is None or (slowest.bytes or 0) < LARGE:
        return None, ""
    if set(hosts.values()) != {WHOLE_NODE}:
        return None, ""
    nvls = {fabrics.uses_nvls(c.algorithm) for c in ranks.values()}
    scope = "node" if len(hosts) == 1 else "between"
    known = fabrics.all_reduce(name_of, scope, nvls.pop() if len(nvls) == 1 else None)
    if known is None:
        return None, ""
    return round(FLOOR_SHARE * known.rate, 1), f"{FLOOR_SHARE:g} of {known.rate:g} GB/s measured: {known.source}"


def findings(
    records: Mapping[int, RankRecord], judged: list[CollectiveVerdict], known: set[int]
) -> Iterator[FleetFinding]:
    """Who gave a wrong part. `known`: ranks that other findings have already blamed, so that what failed with them is
    their consequence."""
    blame: dict[int, list[str]] = {}
    nobody: list[str] = []
    for name in NAMES:
        ranks = seen(records, name)
        wrong = {rank: c for rank, c in ranks.items() if c.state == "wrong"}
        own = [rank for rank, c in ranks.items() if c.input_wrong]
        for rank in own:
            blame.setdefault(rank, []).append(f"{name}: its own input was not what it had written")
        if not wrong or own:
            continue
        sources = Counter(source for c in wrong.values() for source in c.wrong_from)
        if (sources and (most := max(sources.values())) > 1) or (sources and len(wrong) == 1):
            most = max(sources.values())
            for source, count in sources.items():
                if count == most:
                    first = next(c for c in wrong.values() if source in c.wrong_from)
                    blame.setdefault(source, []).append(
                        f"{name}: {first.wrong} elements of its part are wrong on {len(wrong)} ranks, the first at "
                        f"{first.first_wrong}"
                    )
        elif len(wrong) == 1 and len(ranks) > 2 and name == "all-reduce":  # of a reduce-scatter only one rank has it
            (rank, one), *_ = wrong.items()
            blame.setdefault(rank, []).append(f"{name}: {one.wrong} elements of its result are wrong, on it alone")
        else:
            first = next(iter(wrong.values()))
            nobody.append(f"{name}: {first.wrong} elements wrong on {ranks_listed(list(wrong))}")
    for rank, what in blame.items():
        if rank in records:
            yield FleetFinding(
                id="fleet-collective-wrong", kind="gpu", subject=gpu_name(records[rank]), verdict="fail",
                hosts=(records[rank].host,), ranks=(rank,), text=f"{what[0]}.", evidence=tuple(what),
                remedy=remedy_of("fleet-collective-wrong"),
            )  # fmt: skip
    if nobody and not blame:
        yield FleetFinding(
            id="fleet-collective-wrong", kind="fleet", subject="fleet", verdict="fail", because=bool(known),
            text=f"{nobody[0]}; which rank is the cause is not known.", evidence=tuple(nobody),
            remedy=remedy_of("fleet-collective-wrong"),
        )  # fmt: skip
    for result in judged:
        if result.verdict == "degraded":
            yield FleetFinding(
                id="fleet-collective-slow", kind="fleet", subject="fleet", verdict="degraded",
                text=f"{result.name} of {result.members} ranks: {result.why}.",
                remedy=remedy_of("fleet-collective-slow"),
                because=bool(known),
            )  # fmt: skip
    failed = [v for v in judged if v.verdict == "fail" and not v.why.startswith("wrong")]
    if failed:
        yield FleetFinding(
            id="fleet-collective-failed", kind="fleet", subject="fleet", verdict="fail", because=bool(known or blame),
            text=f"{failed[0].name}: {failed[0].why.rstrip('.')}.", 
            evidence=tuple(f"{f.name}: {f.why}" for f in failed),
            remedy=remedy_of("fleet-collective-failed"),
        )  # fmt: skip

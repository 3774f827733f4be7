"""Links: every measured pair against its class, and which end, or the link itself, is to blame."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from doctor.fleet.judge.catalogue import remedy_of
from doctor.fleet.judge.classes import count_of
from doctor.fleet.judge.words import gbs, gpu_name, listed
from doctor.inside.fleet import rule
from doctor.knowledge import speeds
from doctor.model.fleet import FleetFinding, LinkVerdict, OutcomeState, Pair, RankRecord, Scope, Verdict, Yardstick

SOCKET_FLOOR = 0.1  # of an interface's stated speed, up to 10 Gbit/s: what one TCP stream of a slow CPU reaches
SOCKET_MBPS = 10_000
NVLINK_FLOOR = 0.5  # of the links' one-way rate as the device states it: send and receive use half of a GPU at times
PORT_FLOOR = 0.5  # of a node's adapters, shared by the pairs that use them at the same time
PCIE_FLOOR = 0.2  # of the link: without peer access a copy goes through the host's memory, twice
MANY_ENDS = 32
SCOPES: tuple[Scope, ...] = ("node", "between")
BAD: tuple[Verdict, ...] = ("fail", "degraded")
ENDED_BADLY = ("wrong", "failed", "timed-out")
# One-way GB/s of one NVLink (NVIDIA's data sheets of P100, V100, A100, H100, B200) by NVML's number of its version:
# 1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0 (nvml.h, NVML_NVLINK_VERSION).
NVLINK_GBS = {"1": 20.0, "2": 25.0, "3": 25.0, "4": 25.0, "5": 25.0, "6": 25.0, "7": 50.0}


@dataclass(frozen=True)
class Link:
    """One direction of a pair: the best of what was measured, for a slow link is slow each time."""

    source: RankRecord
    target: RankRecord
    scope: Scope
    state: OutcomeState
    gbs: float | None
    median_gbs: float | None
    most_gbs: float | None  # what it reaches at most, whatever kept the processes from it
    calm: bool  # measured without waiting for a CPU: it can be a standard for others
    judged: bool  # whether its rate is that of a link
    why: str
    wrong: int


def links(records: Mapping[int, RankRecord]) -> list[Link]:
    """All directed pairs that some rank received. What was wrong once is wrong; of rates the best counts."""
    found: dict[tuple[int, int], list[Pair]] = {}
    for record in records.values():
        for pair in record.pairs:
            if pair.source in records:
                found.setdefault((pair.source, record.rank), []).append(pair)
    return [_link(records[a], records[b], pairs) for (a, b), pairs in sorted(found.items())]


def _link(source: RankRecord, target: RankRecord, pairs: list[Pair]) -> Link:
    wrong = [p for p in pairs if p.state == "wrong"]
    ok = [p for p in pairs if p.state == "ok"]
    # Measured again and well: the first time did not repeat itself. A wrong byte needs no repetition.
    one = wrong[0] if wrong else ok[0] if ok else pairs[-1]
    rated = [p for p in ok if p.gbs is not None]
    calm = [p for p in rated if not p.disturbed]
    best = max((p for p in calm or rated), key=lambda p: p.gbs or 0.0, default=None)
    by_memory = target.backend == "gloo" and one.scope == "node"
    return Link(
        source=source, target=target, scope=one.scope, state=one.state, gbs=best.gbs if best else None,
        median_gbs=(best.median_gbs or best.gbs) if best else None,
        most_gbs=max((p.most_gbs or p.gbs or 0.0 for p in rated), default=None), calm=bool(calm),
        judged=bool(rated) and not by_memory,
        why=one.why, wrong=max(p.wrong for p in pairs),
    )  # fmt: skip


def class_of(link: Link, names: Mapping[int, str]) -> tuple[str, str]:
    """Links of one scope between the same two classes can be compared."""
    ends = sorted((names[link.source.rank], names[link.target.rank]))
    return link.scope, " / ".join(dict.fromkeys(ends))


def floor_of(link: Link) -> tuple[float | None, str]:
    """(GB/s, where that is from) of the slower end. Only of what the devices themselves say of their links."""
    ends = [_floor_of_end(link.scope, link.source), _floor_of_end(link.scope, link.target)]
    if any(floor is None for floor, _ in ends):
        return None, ""
    return min(ends, key=lambda end: end[0] or 0.0)


def _floor_of_end(scope: Scope, record: RankRecord) -> tuple[float | None, str]:
    config = record.config
    numbers = record.probe.numbers if record.probe else {}
    if scope == "node":
        version, count = config.get("nvlink_version", ""), count_of(config.get("nvlink_links_most"))
        if version in NVLINK_GBS and count:
            whole = NVLINK_GBS[version] * count
            return NVLINK_FLOOR * whole, f"{NVLINK_FLOOR:g} of {count} NVLinks, {gbs(whole)}"
        generation, width = numbers.get("pcie_generation_max"), numbers.get("pcie_width_max")
        expected = speeds.link_rate(int(generation), int(width)) if generation and width else None
        return (PCIE_FLOOR * expected.rate, f"{PCIE_FLOOR:g} of {expected.source}") if expected else (None, "")
    rate, count = count_of(config.get("ib_rate_gbps")), count_of(config.get("ib_ports"))
    pairs = max(1, record.local_world or 1)
    if record.backend != "gloo" and rate is not None and count:
        share = rate / 8 * min(count, pairs) / pairs
        return PORT_FLOOR * share, f"{PORT_FLOOR:g} of {count} ports of {rate} Gbit/s for {pairs} pairs"
    speed = min(count_of(config.get("link_mbps")) or 0, SOCKET_MBPS)
    if not speed:
        return None, ""
    return SOCKET_FLOOR * speed / 8000 / pairs, f"{SOCKET_FLOOR:g} of {speed} Mbit/s for {pairs} pairs"


def yardsticks(found: Iterable[Link], names: Mapping[int, str]) -> dict[tuple[str, str], Yardstick]:
    """What the links of each class are held against. The threshold is of their medians, and a link is slow whose best
    is below it: what varies as much as that is not accused."""
    groups: dict[tuple[str, str], list[Link]] = {}
    for link in found:
        groups.setdefault(class_of(link, names), []).append(link)
    made = {}
    for key, members in groups.items():
        judged = [link for link in members if link.judged and link.median_gbs is not None]
        values = _without_bad_ends([link for link in judged if link.calm])
        floors = [floor for floor in map(floor_of, judged) if floor[0] is not None]
        floor, source = min(floors, default=(None, ""), key=lambda f: f[0] or 0.0)
        relative = rule.threshold(values, rule.LINK_SHARE)
        centre, mad = rule.spread(values) if values else (None, None)
        why = ""
        if relative is None and floor is None:
            why = _unjudged(key[0], members, len(values))
        made[key] = Yardstick(
            rate=_called(key), unit="GB/s",
            count=len(values), median=centre, mad=mad, threshold=relative if relative is not None else floor,
            basis="relative" if relative is not None else "floor" if floor is not None else "none",
            floor=floor, floor_source=source, floor_kind="data sheet" if floor is not None else None, why=why,
        )  # fmt: skip
    return made


def end_of(record: RankRecord, scope: Scope) -> object:
    """What a link of that scope ends at: a rank (its GPU) inside a node, else the node."""
    return record.host if scope == "between" else record.rank


def _without_bad_ends(judged: list[Link]) -> list[float]:
    """The medians of the links whose ends are not themselves slow. One sick node of four has half of all links: held
    against the whole class it would set the standard, so each end is held against the links without it."""
    by_end: dict[object, list[float]] = {}
    for link in judged:
        for end in {end_of(link.source, link.scope), end_of(link.target, link.scope)}:
            by_end.setdefault(end, []).append(link.median_gbs or 0.0)
    if len(by_end) > MANY_ENDS:  # none of so many moves the median
        return [link.median_gbs or 0.0 for link in judged]
    sick = set()
    for end, theirs in by_end.items():
        others = [
            link.median_gbs or 0.0 for link in judged
            if end not in (end_of(link.source, link.scope), end_of(link.target, link.scope))
        ]  # fmt: skip
        limit = rule.threshold(others, rule.LINK_SHARE)
        if limit is not None and rule.median(theirs) < limit:
            sick.add(end)
    return [
        link.median_gbs or 0.0 for link in judged
        if not {end_of(link.source, link.scope), end_of(link.target, link.scope)} & sick
    ] or [link.median_gbs or 0.0 for link in judged]  # fmt: skip


def _called(key: tuple[str, str]) -> str:
    """The links of a class: named by their ends only where these are of two classes."""
    words = "links inside a node" if key[0] == "node" else "links between nodes"
    return f"{words} ({key[1]})" if " / " in key[1] else words


def _unjudged(scope: str, members: list[Link], count: int) -> str:
    if all(link.target.backend == "gloo" for link in members) and scope == "node":
        return "ranks of one host speak through its memory: that is no link"
    if any(link.gbs is not None for link in members) and not count:
        return "the processes waited for a CPU meanwhile: the rates say nothing of the links"
    return f"{count} in the class, {rule.FEWEST} are needed, and the devices state no speed"


def judged_rate(link: Link, yard: Yardstick | None) -> tuple[Verdict, str]:
    """What its rate makes of a link, and why. What could have been slow because processes waited, or because all links
    scatter, is not measured."""
    if link.gbs is None:
        return "not-measured", link.why or "no rate"
    limits = [limit for limit in (yard.threshold, floor_of(link)[0]) if limit is not None] if yard else []
    if yard is None or not link.judged or not limits:
        return "pass", ""
    limit = max(limits)
    text = f"{gbs(link.gbs)}, the limit is {gbs(limit)}"
    text += f" (the class has {gbs(yard.median)})" if yard.median and yard.basis == "relative" else ""
    if link.gbs < limit:
        if link.calm or (link.most_gbs or 0.0) < limit:
            return "degraded", text
        return "not-measured", f"noisy: the processes waited for a CPU. {text}"
    if yard.basis == "relative" and yard.median and rule.is_noisy(link.gbs, yard.median, rule.LINK_NOISE):
        return "not-measured", f"noisy: the rates of this class differ too much to tell. {text}"
    return "pass", ""


def verdicts(
    found: list[Link], names: Mapping[int, str], yards: Mapping[tuple[str, str], Yardstick]
) -> list[LinkVerdict]:
    """One verdict a directed link."""
    made = []
    for link in found:
        verdict: Verdict = "pass"
        why = ""
        if link.state in ENDED_BADLY:
            verdict, why = "fail", link.why or link.state
        elif link.state == "absent":
            verdict, why = "not-measured", link.why or "the partner did not come"
        else:
            verdict, why = judged_rate(link, yards.get(class_of(link, names)))
        made.append(
            LinkVerdict(
                source=link.source.rank, target=link.target.rank, source_host=link.source.host,
                target_host=link.target.host, scope=link.scope, verdict=verdict, gbs=link.gbs, why=why,
            )
        )  # fmt: skip
    return made


def findings(
    found: list[Link], judged: list[LinkVerdict], yards: Mapping[tuple[str, str], Yardstick],
    records: Mapping[int, RankRecord], excused: set[int], busy: set[int],
) -> Iterator[FleetFinding]:
    """Who is to blame. Pairs with a rank that died, hung or was never there are its consequence (`excused`), slow ones
    with a GPU that others use are theirs (`busy`). First what does not get through, then what is slow; inside a node
    between GPUs, else between nodes."""
    by_pair = {(v.source, v.target): v for v in judged}
    usable = [link for link in found if not {link.source.rank, link.target.rank} & excused]
    for scope in SCOPES:
        members = [link for link in usable if link.scope == scope]
        for verdict in BAD:
            bad = [link for link in members if by_pair[link.source.rank, link.target.rank].verdict == verdict]
            if verdict == "degraded":
                bad = [link for link in bad if not {link.source.rank, link.target.rank} & busy]
            if bad:
                yield from _blamed(members, bad, by_pair, records, scope, verdict)


def _blamed(
    members: list[Link], bad: list[Link], by_pair: Mapping[tuple[int, int], LinkVerdict],
    records: Mapping[int, RankRecord], scope: Scope, verdict: Verdict,
) -> Iterator[FleetFinding]:
    def end(record: RankRecord) -> object:
        return end_of(record, scope)

    def name(one: object) -> str:
        return gpu_name(records[one]) if isinstance(one, int) else str(one)

    ends, links = rule.culprits(
        [(end(link.source), end(link.target)) for link in members], [(end(x.source), end(x.target)) for x in bad]
    )
    for one in ends:
        theirs = [x for x in bad if one in (end(x.source), end(x.target))]
        partners = sorted({name(e) for x in theirs for e in (end(x.source), end(x.target)) if e != one})
        hosts = tuple(sorted({r.host for x in theirs for r in (x.source, x.target) if end(r) == one}))
        what = "Data is lost or changed" if verdict == "fail" else "Slow"
        yield FleetFinding(
            id=_id(theirs, "fleet-node-links"), kind="gpu" if scope == "node" else "node", subject=name(one),
            verdict=verdict, hosts=hosts,
            ranks=tuple(sorted({r.rank for x in theirs for r in (x.source, x.target) if end(r) == one})),
            text=f"{what} with {len(partners)} different partners ({listed(partners, 3)}): {_first(theirs, by_pair)}.",
            evidence=_evidence(theirs, by_pair), remedy=remedy_of(_id(theirs, "fleet-node-links")),
        )  # fmt: skip
    for one, other in links:
        theirs = [x for x in bad if {end(x.source), end(x.target)} == {one, other}]
        ways = sorted({(name(end(x.source)), name(end(x.target))) for x in theirs})
        both = len(ways) > 1
        subject = f"{ways[0][0]} {'<->' if both else '->'} {ways[0][1]}"
        own = "fleet-link-broken" if verdict == "fail" else "fleet-link-slow"
        yield FleetFinding(
            id=_id(theirs, own), kind="link", subject=subject, verdict=verdict,
            hosts=tuple(sorted({r.host for x in theirs for r in (x.source, x.target)})),
            ranks=tuple(sorted({r.rank for x in theirs for r in (x.source, x.target)})),
            text=f"Bad with this one partner only, so it is the link: {_first(theirs, by_pair)}.",
            evidence=_evidence(theirs, by_pair), remedy=remedy_of(_id(theirs, own)),
        )  # fmt: skip


def _id(bad: list[Link], other: str) -> str:
    """A copy inside a node that arrives changed has an id of the catalogue."""
    changed = any(link.state == "wrong" and link.scope == "node" and link.target.backend != "gloo" for link in bad)
    return "peer-copy-broken" if changed else other


def _first(bad: list[Link], by_pair: Mapping[tuple[int, int], LinkVerdict]) -> str:
    return by_pair[bad[0].source.rank, bad[0].target.rank].why.rstrip(".")


def _evidence(bad: list[Link], by_pair: Mapping[tuple[int, int], LinkVerdict]) -> tuple[str, ...]:
    return tuple(
        f"rank {x.source.rank} -> rank {x.target.rank}: {by_pair[x.source.rank, x.target.rank].why}" for x in bad[:8]
    )

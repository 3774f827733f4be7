"""From records to the report: who is sick, where, and what was not measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from doctor.fleet.judge import classes, collectives, configuration, devices, pairs, ranks, sharing
from doctor.fleet.judge.catalogue import remedy_of
from doctor.fleet.judge.ranks import Expected
from doctor.fleet.judge.words import gpu_name, ranks_listed
from doctor.inside.fleet import rule
from doctor.model.fleet import (
    METHOD,
    Drift,
    FleetClass,
    FleetFinding,
    FleetReport,
    GpuVerdict,
    LinkVerdict,
    NodeVerdict,
    RankRecord,
    Verdict,
    Yardstick,
)  # fmt: skip

WORST: tuple[Verdict, ...] = ("fail", "not-measured", "degraded", "pass")
SAID: dict[Verdict, str] = {
    "fail": "failed", "not-measured": "not measured", "degraded": "degraded", "pass": "passed",
}  # fmt: skip
LINKS_LISTED = 4096  # of a report; beyond, those that pass are only counted
DRIFT_ROUNDS = 5


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """fail, then not-measured, degraded, pass: what was not measured must not pass for usable.

    >>> worst(["pass", "degraded", "not-measured"])
    'not-measured'
    """
    return min(verdicts, key=WORST.index, default="not-measured")


def judge(
    records: Iterable[RankRecord], expected: Expected, *, tool: str, taken_at: str, strict: bool = False
) -> FleetReport:
    """The report of what the ranks left. `strict`: a rate without a yardstick is not-measured."""
    known, stale = of_one_run(records)
    if not known:
        return _nothing(expected, tool, taken_at)
    hidden = configuration.hidden(known.values())
    groups = sharing.groups(known.values(), hidden)
    shared = sharing.partners(groups)
    known = sharing.apart(known, groups)
    names = classes.class_names(known.values())
    found = pairs.links(known)
    yards = pairs.yardsticks(found, names)
    links = pairs.verdicts(found, names, yards)
    fleet_classes = classes.classes(known.values(), names)
    findings = [*ranks.absent(expected, known), *ranks.endings(known), *devices.devices(known)]
    findings += configuration.odd_ones(known.values(), names)
    findings += configuration.hidden_findings(known, hidden, shared)
    findings += sharing.findings(groups, hidden)
    findings += configuration.clocks(known.values())
    gone = {r for f in findings for r in f.ranks if f.id in GONE} | ranks.blamed(known)
    busy = {r for f in findings if f.id == "gpu-busy" for r in f.ranks}  # their links are slow because of that
    findings += pairs.findings(found, links, yards, known, gone | set(shared), busy)
    by_class = classes.members(known.values(), names)
    below = [b for c in fleet_classes for b in devices.below(by_class[c.name], {y.rate: y for y in c.yardsticks})]
    findings += devices.slow(below)
    unsure = {b.record.rank: f"{b.noisy}. {b.text}" for b in below if b.noisy} | shared
    drift = tuple(drifts(known.values()))
    findings += [_drifted(d, known[d.rank]) for d in drift if d.verdict != "pass"]
    results = list(collectives.verdicts(known))
    blamed = {r for f in findings if f.verdict == "fail" for r in f.ranks}
    findings += collectives.findings(known, results, blamed | gone)
    findings = _with_consequences(findings, set(hidden), set(shared))
    not_judged = _not_judged(fleet_classes, yards)
    gpus = tuple(
        _gpu(r, names[r.rank], findings, unsure.get(r.rank, ""), strict and not_judged != ()) for r in known.values()
    )
    nodes = tuple(_nodes(known, names, gpus, findings, expected))
    verdict = worst([*(n.verdict for n in nodes), *(f.verdict for f in findings if not f.because)])
    listed = links if len(links) <= LINKS_LISTED else [link for link in links if link.verdict != "pass"][:LINKS_LISTED]
    first = next(iter(known.values()))
    return FleetReport(
        method=METHOD, tool=tool, taken_at=taken_at, verdict=verdict, why=_why(verdict, nodes, findings, expected),
        run=first.run, expected=expected.world, heard=len(known), backend=first.backend,
        torch=Counter(r.config.get("torch", "") for r in known.values()).most_common(1)[0][0] or None,
        classes=tuple(
            replace(c, yardsticks=(*c.yardsticks, *_link_yards(c.name, yards, one=len(fleet_classes) == 1)))
            for c in fleet_classes
        ),
        nodes=nodes, gpus=gpus, links=tuple(listed), links_measured=sum(link.gbs is not None for link in links),
        collectives=tuple(results), findings=tuple(findings), drift=drift, not_judged=not_judged,
        notes=tuple(_notes(known, stale, links)),
    )  # fmt: skip


# Who is in these findings had no part in what others measured with them.
GONE = ("fleet-rank-missing", "fleet-rank-died", "fleet-rank-hung", "fleet-rendezvous-failed", "device-crashes")


def of_one_run(records: Iterable[RankRecord]) -> tuple[dict[int, RankRecord], list[RankRecord]]:
    """(the records of the newest run by rank, those of earlier ones): a folder that was used before must not speak for
    a rank that wrote nothing this time. A run is known by the word that all who joined got; a record without one
    counts where its job's name and its world are the same."""
    records = sorted(records, key=lambda r: r.rank)
    if not records:
        return {}, []
    joined = [r for r in records if r.nonce]
    times = Counter(r.nonce for r in joined)
    newest = max(joined, key=lambda r: (times[r.nonce], r.started_at), default=None)
    if newest is None:
        newest = max(records, key=lambda r: r.started_at)
    current = {
        r.rank: r for r in records
        if r.world == newest.world and r.run == newest.run and r.nonce in (newest.nonce, None)
    }  # fmt: skip
    return current, [r for r in records if r.rank not in current or current[r.rank] is not r]


def _nothing(expected: Expected, tool: str, taken_at: str) -> FleetReport:
    findings = list(ranks.absent(expected, {}))
    nodes = tuple(
        NodeVerdict(host=f.hosts[0] if f.hosts else f.subject, verdict=f.verdict, why=f.text, ranks=f.ranks)
        for f in findings
    )
    return FleetReport(
        tool=tool, taken_at=taken_at, verdict=worst([f.verdict for f in findings]),
        why="No rank left a record that can be read.", expected=expected.world, heard=0, nodes=nodes,
        findings=tuple(findings),
    )  # fmt: skip


def _with_consequences(findings: list[FleetFinding], hidden: set[int], shared: set[int]) -> list[FleetFinding]:
    """In the order in which they are told: what accuses somebody, the worst first. What fails because of another
    finding accuses nobody."""
    gone = any(f.verdict == "fail" and f.id in GONE for f in findings)
    wrong_build = {r for f in findings if f.id == "fleet-config-differs" and f.verdict == "fail" for r in f.ranks}

    def follows(f: FleetFinding) -> bool:
        whose = set(f.ranks)
        return (
            (f.id == "fleet-collective-failed" and (gone or bool(shared)))
            or (f.id == "fleet-rendezvous-failed" and whose <= wrong_build)
            or (f.id == "device-crashes" and whose <= hidden)
            or (f.id in sharing.CONSEQUENCES and bool(whose) and whose <= shared)
        )

    told = [replace(f, because=True) if follows(f) else f for f in findings]
    return sorted(told, key=lambda f: (f.because, WORST.index(f.verdict), f.subject))


def _gpu(record: RankRecord, of_class: str, findings: list[FleetFinding], unsure: str, strict: bool) -> GpuVerdict:
    mine = [
        f for f in findings
        if record.rank in f.ranks and (f.kind == "gpu" or (f.kind == "node" and f.id in GONE)) and not f.because
    ]
    verdict: Verdict = worst([f.verdict for f in mine]) if mine else "pass"
    why = mine[0].text if mine else ""
    if verdict == "pass" and unsure:
        verdict, why = "not-measured", unsure
    elif verdict in ("pass", "degraded") and (missing := not_measured(record)):
        verdict, why = "not-measured", missing
    elif strict and verdict == "pass" and len(devices.judged_rates(record)) == 0:
        verdict, why = "not-measured", "none of its rates was judged"
    return GpuVerdict(
        rank=record.rank, host=record.host, device=record.device, name=record.name, verdict=verdict, why=why,
        of_class=of_class, rates=devices.rates_measured(record),
    )  # fmt: skip


def not_measured(record: RankRecord) -> str:
    """Why a rank's device cannot pass: what was not measured is not healthy. "" where all that proves it was done."""
    if record.probe is None or record.probe.status == "skipped":
        why = record.probe.reason if record.probe else ""
        return why or "its device was not probed"
    for one in record.stages:
        if one.state == "ended":
            return f"stage {one.name} was ended by the launcher{': ' + one.why if one.why else ''}"
    done = {s.name for s in record.stages if s.state == "ok"}
    if record.world > 1 and "C" not in done:
        last = ranks.stage(record, "C")
        return (last.why if last else "") or "stage C (links and collectives) was not run"
    if record.world > 1 and not any(c.state == "ok" for c in record.collectives):
        return next((c.why for c in record.collectives if c.why), "") or "no collective operation ended"
    return ""


def _nodes(
    records: Mapping[int, RankRecord], names: Mapping[int, str], gpus: tuple[GpuVerdict, ...],
    findings: list[FleetFinding], expected: Expected,
) -> Iterable[NodeVerdict]:
    hosts = list(dict.fromkeys([r.host for r in records.values()]))
    hosts += [h for f in findings if f.kind == "node" for h in f.hosts]
    hosts = list(dict.fromkeys(hosts))
    by_host: dict[str, list[FleetFinding]] = {}
    for f in findings:
        # A link inside a node is the node's; of one between two nodes neither can be called bad.
        if (f.kind in ("node", "gpu") or (f.kind == "link" and len(f.hosts) == 1)) and not f.because:
            for host in f.hosts:
                by_host.setdefault(host, []).append(f)
    their: dict[str, list[GpuVerdict]] = {}
    for gpu in gpus:
        their.setdefault(gpu.host, []).append(gpu)
    for host in hosts:
        mine = sorted(by_host.get(host, []), key=lambda f: WORST.index(f.verdict))
        here = their.get(host, [])
        verdict = worst([*(f.verdict for f in mine), *(g.verdict for g in here)])
        why = mine[0].text if mine and mine[0].verdict == verdict else next(
            (g.why for g in here if g.verdict == verdict), "")  # fmt: skip
        numbers = sorted({g.rank for g in here} | {r for f in mine for r in f.ranks if r not in records})
        yield NodeVerdict(
            host=host, verdict=verdict, why=why, ranks=tuple(numbers), gpus=len(here),
            of_class=here[0].of_class if here else "",
        )  # fmt: skip


def _why(
    verdict: Verdict, nodes: tuple[NodeVerdict, ...], findings: list[FleetFinding], expected: Expected
) -> str:
    """The first sentence of a report."""
    counts = Counter(n.verdict for n in nodes)
    if verdict == "pass":
        return f"All {len(nodes)} nodes pass." if len(nodes) > 1 else "The node passes."
    words = [f"{counts[v]} {'node' if counts[v] == 1 else 'nodes'} {SAID[v]}" for v in WORST if counts[v]]
    told = [f for f in findings if not f.because]
    links = sum(f.kind == "link" for f in told)
    if links:
        words.insert(0, f"{links} bad {'link' if links == 1 else 'links'}")
    return ", ".join(words) + "."


def _not_judged(fleet: tuple[FleetClass, ...], yards: Mapping[tuple[str, str], Yardstick]) -> tuple[str, ...]:
    said = []
    for one in fleet:
        said += [f"{one.device}, {y.rate}: {y.why}" for y in one.yardsticks if y.basis == "none"]
    for yard in yards.values():
        if yard.basis == "none":
            said.append(f"{yard.rate}: {yard.why}")
    return tuple(said)


def _link_yards(name: str, yards: Mapping[tuple[str, str], Yardstick], *, one: bool) -> list[Yardstick]:
    """The yardsticks of links within a class; those of links between classes stand with the first."""
    return [yard for (_, ends), yard in yards.items() if one or ends.split(" / ")[0] == name]


def drifts(records: Iterable[RankRecord]) -> Iterable[Drift]:
    """First and last fifth of a soak's rounds, undisturbed ones only."""
    for record in records:
        for rate, share in (("tflops", rule.DEVICE_SHARE), ("busbw_gbs", rule.LINK_SHARE)):
            values = [getattr(r, rate) for r in record.soak if not r.disturbed and getattr(r, rate) is not None]
            if len(values) < DRIFT_ROUNDS or (rate == "busbw_gbs" and record.rank != min(record.members or (0,))):
                continue
            fifth = max(1, len(values) // 5)
            first, last = rule.median(values[:fifth]), rule.median(values[-fifth:])
            # What varies anyway is no drift: the spread of the first half sets the limit, too.
            _, mad = rule.spread(values[: max(2, len(values) // 2)])
            limit = first - max(rule.MADS * mad, share * first)
            slow = last < limit
            yield Drift(
                rank=record.rank, host=record.host, rate="products" if rate == "tflops" else "all-reduce", first=first,
                last=last, verdict="degraded" if slow else "pass",
                why=f"{first:.4g} at first, {last:.4g} at the end" if slow else "",
            )  # fmt: skip


def _drifted(drift: Drift, record: RankRecord) -> FleetFinding:
    own = drift.rate == "products"
    return FleetFinding(
        id="fleet-drift", kind="gpu" if own else "fleet", subject=gpu_name(record) if own else "fleet",
        verdict="degraded", hosts=(record.host,) if own else (), ranks=(record.rank,) if own else (),
        text=f"{drift.rate}: {drift.why}.", remedy=remedy_of("fleet-drift"),
    )  # fmt: skip


def _notes(
    records: Mapping[int, RankRecord], stale: list[RankRecord], links: list[LinkVerdict]
) -> Iterable[str]:
    if stale:
        yield f"Records of an earlier run were left aside: {ranks_listed([r.rank for r in stale])}."
    disturbed = sum(p.disturbed for r in records.values() for p in r.pairs)
    if disturbed:
        yield f"{disturbed} measurements of pairs waited for a CPU: their rates are no standard for others."
    if len(links) > LINKS_LISTED:
        yield f"{len(links)} links were measured; those that pass are not listed."
    if any(c.state == "unsupported" for r in records.values() for c in r.collectives):
        lacking = sorted({c.name for r in records.values() for c in r.collectives if c.state == "unsupported"})
        yield f"This backend does not have {', '.join(lacking)}."

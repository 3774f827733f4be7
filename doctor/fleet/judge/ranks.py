"""What each rank came to: missing, died, hung, never joined, or stuck together with others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from doctor.fleet.judge.catalogue import of_rank, remedy_of
from doctor.fleet.judge.classes import is_cpu
from doctor.fleet.judge.words import gpu_name, ranks_listed
from doctor.fleet.rank import watchdog
from doctor.model.fleet import FleetFinding, Heard, RankRecord, RankStage, Verdict

NO_TORCH = "No module named 'torch'"
BLOCKS_NAMED = 1024  # nodes of which nothing is known but that they should be there
RANKS_TOLD = 4096  # of a finding


@dataclass(frozen=True)
class Expected:
    """Who should be there. `hosts`: of each rank, where the operator named them; `unreadable`: rank or file name → why
    its record was refused."""

    world: int
    hosts: Mapping[int, str]
    unreadable: Mapping[int, str]


def hosts_of_missing(
    missing: Iterable[int], expected: Expected, records: Mapping[int, RankRecord]
) -> Iterator[tuple[int, str]]:
    """(rank, its node) of ranks that left nothing, in their order: as named, else that of other ranks of its block,
    else the block. All blocks beyond the first BLOCKS_NAMED of which nothing is known are one: one damaged record can
    name a million ranks."""
    sizes = Counter(r.local_world for r in records.values() if r.local_world)
    size = (sizes.most_common(1)[0][0] if sizes else None) or 1
    known: dict[int, str] = {}
    for rank in sorted(records):
        known.setdefault(rank // size, records[rank].host)
    blocks = dict.fromkeys(r // size for r in missing if r not in expected.hosts and r // size not in known)
    for number, block in enumerate(blocks):
        first, end = block * size, min((block + 1) * size, expected.world)
        known[block] = f"the node of {ranks_listed(range(first, end))}" if number < BLOCKS_NAMED else "other nodes"
    for rank in missing:
        yield rank, expected.hosts.get(rank) or known[rank // size]


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
    for rank, of_block in hosts_of_missing(missing, expected, records):
        host = heard[rank].host if rank in heard else of_block
        if rank in expected.unreadable:
            text = f"Its record cannot be read: {expected.unreadable[rank]}."
            yield _without_record("fleet-record-damaged", "not-measured", host, rank, text)
        elif rank in heard and heard[rank].problem:
            yield _without_record("fleet-output-unwritable", "not-measured", host, rank, f"{heard[rank].problem}.")
        elif rank in heard or rank in joined:
            text = "It took part in the run, but its record is not in this folder."
            yield _without_record("fleet-record-absent", "not-measured", host, rank, text)
        else:
            gone.setdefault(host, []).append(rank)
    for host, ranks in gone.items():
        present = any(r.host == host for r in records.values())
        text = f"{ranks_listed(ranks)} left no record and never joined"
        text += "." if present else ": nothing was heard of this node."
        yield FleetFinding(
            id="fleet-rank-missing", kind="node", subject=host, verdict="fail", hosts=(host,),
            ranks=tuple(ranks[:RANKS_TOLD]), text=text[0].upper() + text[1:], remedy=remedy_of("fleet-rank-missing"),
        )  # fmt: skip


def _without_record(id: str, verdict: Verdict, host: str, rank: int, text: str) -> FleetFinding:
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
    """Ranks that died or hung, with the stage and step; those that never reached the rendezvous; and those that were
    stuck together, of whom none can be blamed."""
    guilty = blamed(records)
    stuck = []
    for rank, record in records.items():
        ended = _ended_badly(record)
        if ended is not None and rank in guilty:
            yield _ending(record, ended)
        elif ended is not None:
            stuck.append(record)
        elif failed := next((s for s in record.stages if s.name != "A" and s.state in ("failed", "ended")), None):
            yield from _gave_up(record, failed)
    if not guilty:
        stuck += [r for r in records.values() if (c := stage(r, "C")) and watchdog.is_its(c.why) and r not in stuck]
    yield from _stuck(stuck)


def _gave_up(record: RankRecord, failed: RankStage) -> Iterator[FleetFinding]:
    """A rank whose worker gave up in stage B or C before it could measure anything with others."""
    why = f"{failed.why.rstrip('.')}."
    if record.probe is not None and record.probe.stage == "import":  # that is said of stage A
        return
    if failed.step == "device":
        yield of_rank("device-crashes", record, "fail", f"Stage C could not use the device: {why}")
    elif record.members is None and failed.step == "join":
        yield of_rank("fleet-rendezvous-failed", record, "fail", why, kind="node")
    elif record.members is None:
        id = "torch-missing" if NO_TORCH in why else "fleet-rank-died"
        at = f" at {failed.step}" if failed.step else ""
        yield of_rank(id, record, "fail", f"Stage {failed.name} ended{at}: {why}")


def _stuck(stuck: list[RankRecord]) -> Iterator[FleetFinding]:
    """Of two that waited for each other in their own pair it is the link; of the others nobody knows who."""
    by_step: dict[str | None, list[RankRecord]] = {}
    for record in stuck:
        by_step.setdefault(next((s.step for s in record.stages if s.step), None), []).append(record)
    rest: list[RankRecord] = []
    for step, together in by_step.items():
        if _pair_of(together) is None:
            rest += together
            continue
        one, other = sorted(together, key=lambda r: r.rank)
        yield FleetFinding(
            id="fleet-link-broken", kind="link", subject=f"{gpu_name(one)} <-> {gpu_name(other)}", verdict="fail",
            hosts=tuple(sorted({one.host, other.host})), ranks=(one.rank, other.rank),
            text=f"Nothing came through ({step}): both waited until they were ended.",
            remedy=remedy_of("fleet-link-broken"),
        )  # fmt: skip
    if rest:
        rest.sort(key=lambda r: r.rank)
        steps = Counter(s.step for r in rest for s in r.stages if s.step)
        step = steps.most_common(1)[0][0] if steps else "?"
        yield FleetFinding(
            id="fleet-collective-failed", kind="fleet", subject="fleet", verdict="fail",
            ranks=tuple(r.rank for r in rest), hosts=tuple(sorted({r.host for r in rest})),
            text=f"{ranks_listed([r.rank for r in rest])} did not come back from {step}; all had begun it, so none "
            "can be blamed.",
            remedy=remedy_of("fleet-collective-failed"),
        )  # fmt: skip


def _ending(record: RankRecord, ended: str) -> FleetFinding:
    bad = next((s for s in record.stages if s.state in ("died", "hung")), None)
    if bad is None:
        after = f"after stage {record.stages[-1].name}" if record.stages else "before its first stage had ended"
        text = f"Its process was gone {after}: the record was never finished."
        return of_rank("fleet-rank-died", record, "fail", text)
    where = f"stage {bad.name}" + (f", {bad.step}" if bad.step else "")
    if bad.name == "A" and not is_cpu(record) and bad.step != "import":
        return of_rank("device-crashes", record, "fail", f"{where}: {bad.why.rstrip('.')}.")
    id = "fleet-rank-died" if ended == "died" else "fleet-rank-hung"
    if bad.name == "A" and bad.step == "import" and ended == "died":
        id = "torch-import-crashes"
    return of_rank(id, record, "fail", f"{where}: {bad.why.rstrip('.')}.")

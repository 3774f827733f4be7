"""Stage B: whose configuration is odd. Each rank against the majority of its class, torch and NCCL against that of the
whole fleet, never against a count that somebody wrote down."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from doctor.fleet.judge.catalogue import remedy_of
from doctor.fleet.judge.classes import count_of
from doctor.fleet.judge.words import gpu_name, listed
from doctor.model.fleet import FleetFinding, RankRecord, Verdict

# What must be the same in the whole fleet: another build of these does not speak to the rest, or not the same language.
EVERYWHERE = ("torch", "nccl", "master")
# What must be the same in a class, by its words.
IN_CLASS = (
    "driver", "cuda", "firmware", "mig", "persistence", "mtu", "nvlink_links", "power_limit_w", "clock_limit_mhz",
    "gpus_there", "ib_ports", "python",
)  # fmt: skip
NODE_WIDE = ("driver", "mtu", "gpus_there", "ib_ports", "persistence")  # said once for a node, not for each GPU
VARIABLES = ("NCCL_", "TORCH_", "GLOO_", "UCX_", "FI_", "RCCL_")
# Variables that differ between ranks and nodes by their nature.
OWN_VALUE = ("NCCL_HOSTID", "TORCH_HOME", "TORCH_EXTENSIONS_DIR", "TORCHELASTIC_")
LABELS = {
    "torch": "torch", "nccl": "NCCL", "master": "MASTER_ADDR:MASTER_PORT", "driver": "driver", "cuda": "CUDA of torch",
    "firmware": "GPU firmware (VBIOS)", "mig": "MIG", "persistence": "persistence mode", "mtu": "MTU",
    "nvlink_links": "active NVLinks", "power_limit_w": "power limit (W)", "clock_limit_mhz": "highest clock (MHz)",
    "gpus_there": "GPUs", "ib_ports": "active InfiniBand ports", "python": "Python",
    "devices_seen": "GPUs that torch sees",
}  # fmt: skip
FAILS = ("torch", "nccl", "master", "gpus_there", "mig")  # the job will not run, or not run right
CLOCK_S = 10.0  # ranks are released within a second or two; leases and certificates bear some more


def odd_ones(records: Iterable[RankRecord], names: Mapping[int, str]) -> Iterator[FleetFinding]:
    """Every difference that can be laid at a rank's door. Where no value has the majority, nobody is accused: the
    disagreement itself is the finding."""
    records = list(records)
    for key in EVERYWHERE:
        yield from _differing(records, key, {r.rank: r.config[key] for r in records if key in r.config}, "the fleet")
    by_class: dict[str, list[RankRecord]] = {}
    for record in records:
        by_class.setdefault(names[record.rank], []).append(record)
    for name, ranks in sorted(by_class.items()):
        for key in IN_CLASS:
            yield from _differing(ranks, key, {r.rank: r.config[key] for r in ranks if key in r.config}, name)
        variables = {key for r in ranks for key in r.config if is_compared(key)}
        for key in sorted(variables):
            yield from _differing(ranks, key, {r.rank: r.config.get(key, "(not set)") for r in ranks}, name)


def is_compared(key: str) -> bool:
    """Whether it is a variable that must be the same for all of a class."""
    return key.startswith(VARIABLES) and not key.startswith(OWN_VALUE)


def _differing(
    records: list[RankRecord], key: str, values: Mapping[int, str], where: str
) -> Iterator[FleetFinding]:
    counts = Counter(values.values())
    if len(counts) < 2:
        return
    label = LABELS.get(key, key)
    ((usual, count), *_) = counts.most_common(1)
    verdict: Verdict = "fail" if key in FAILS else "degraded"
    if 2 * count <= len(values):
        each = listed([f"{value or 'none'} on {n} ranks" for value, n in counts.most_common(4)], 4)
        yield FleetFinding(
            id="fleet-config-differs", kind="fleet", subject="fleet", verdict=verdict,
            text=f"{label}: {each}. No value has the majority of {where}, so none can be called the odd one.",
            ranks=tuple(sorted(values))[:64], remedy=remedy_of("fleet-config-differs"),
        )  # fmt: skip
        return
    odd = [r for r in records if values.get(r.rank, usual) != usual]
    said: set[tuple[str, str]] = set()
    for record in odd:
        value = values[record.rank]
        whole = key in NODE_WIDE or _whole_node(records, record.host, values, value)
        if whole and (record.host, value) in said:
            continue
        said.add((record.host, value))
        id = "fleet-gpus-missing" if key == "gpus_there" and _less(value, usual) else "fleet-config-differs"
        yield FleetFinding(
            id=id, kind="node" if whole else "gpu", subject=record.host if whole else gpu_name(record),
            verdict=verdict, hosts=(record.host,),
            ranks=tuple(r.rank for r in odd if r.host == record.host) if whole else (record.rank,),
            text=f"{label} is {value or 'none'}, and {usual or 'none'} on {count} of {len(values)} ranks of {where}.",
            remedy=remedy_of(id),
        )  # fmt: skip


def _whole_node(records: list[RankRecord], host: str, values: Mapping[int, str], value: str) -> bool:
    here = [values.get(r.rank) for r in records if r.host == host]
    return len(here) > 1 and all(one == value for one in here)


def _less(value: str, usual: str) -> bool:
    few, many = count_of(value), count_of(usual)
    return few is not None and many is not None and few < many


def hidden(records: Iterable[RankRecord]) -> dict[int, str]:
    """Ranks that see fewer GPUs than others of their node, because a variable hides some from them: what they see."""
    by_host: dict[str, list[RankRecord]] = {}
    for record in records:
        if record.devices_seen is not None and record.backend != "gloo":
            by_host.setdefault(record.host, []).append(record)
    found = {}
    for ranks in by_host.values():
        most = max(r.devices_seen or 0 for r in ranks)
        for record in ranks:
            shown = record.config.get("CUDA_VISIBLE_DEVICES") or record.config.get("ROCR_VISIBLE_DEVICES")
            if record.devices_seen != most and shown is not None:
                found[record.rank] = (
                    f"This rank sees {record.devices_seen or 0} GPUs, others of its node {most}: its "
                    f"CUDA_VISIBLE_DEVICES is {shown or 'empty'}"
                )
    return found


def hidden_findings(
    records: Mapping[int, RankRecord], seen: Mapping[int, str], shared: Mapping[int, str]
) -> Iterator[FleetFinding]:
    """`seen`: what `hidden` found; `shared`: which of all ranks share a GPU with whom. A rank that has a GPU for itself
    all the same does its work."""
    for rank, text in seen.items():
        record = records[rank]
        own = rank not in shared and ((record.devices_seen or 0) > record.local_rank or record.devices_seen == 1)
        yield FleetFinding(
            id="gpu-hidden", kind="gpu", subject=gpu_name(record), verdict="degraded" if own else "fail",
            hosts=(record.host,), ranks=(rank,),
            text=f"{text}{f', and {shared[rank]}' if rank in shared else ''}.",
            remedy="Remove CUDA_VISIBLE_DEVICES from this rank's environment, or set it as for the other ranks.",
        )  # fmt: skip


def clocks(records: Iterable[RankRecord]) -> Iterator[FleetFinding]:
    """Nodes whose clock is far from most. The reference is the median of what the first collector heard."""
    records = list(records)
    heard = next((r.heard for r in records if any(h.clock_s is not None for h in r.heard)), ())
    offsets = {h.rank: h.clock_s for h in heard if h.clock_s is not None}
    if len(offsets) < 2:
        return
    from doctor.inside.fleet.rule import median

    centre = median(offsets.values())
    hosts = {r.rank: r.host for r in records} | {h.rank: h.host for h in heard}
    off: dict[str, float] = {}
    for rank, offset in offsets.items():
        if abs(offset - centre) > CLOCK_S:
            off.setdefault(hosts.get(rank, f"rank {rank}"), offset - centre)
    whole = len({hosts.get(rank) for rank in offsets})
    for host, by in off.items():
        sure = len(offsets) > 2
        yield FleetFinding(
            id="fleet-clock-differs", kind="node", subject=host, verdict="degraded", hosts=(host,),
            ranks=tuple(r for r in offsets if hosts.get(r) == host),
            text=f"Its clock is {abs(by):.0f} s {'ahead of' if by > 0 else 'behind'} the others' ({whole} hosts"
            + (")." if sure else "; of two, either can be the wrong one)."),
            remedy=remedy_of("fleet-clock-differs"),
        )  # fmt: skip

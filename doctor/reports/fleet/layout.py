"""What stands in the report of a fleet, whatever the format. Pure. All cells may hold foreign text (hosts, names of
devices, errors): each format escapes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from doctor.model.fleet import FleetFinding, FleetReport, NodeVerdict, Verdict, Yardstick
from doctor.model.values import dataclass

WORDS: dict[Verdict, str] = {"pass": "pass", "degraded": "DEGRADED", "fail": "FAIL", "not-measured": "NOT MEASURED"}
MARKS: dict[Verdict, str] = {"pass": "ok", "degraded": " !", "fail": "!!", "not-measured": " -"}
LINK_WORDS: dict[Verdict, str] = {"fail": "broken", "degraded": "slow", "not-measured": "not measured"}
NODES_SHOWN = 16  # that pass, unless all are wanted
FINDINGS_SHOWN = 50
REASON = 120  # characters of a drain reason: sinfo -R shows fewer


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: `title`, heads, and lines of as many cells."""

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


def heading(report: FleetReport) -> str:
    """What was examined, in one line."""
    nodes = len(report.nodes)
    parts = [
        f"{nodes} {'node' if nodes == 1 else 'nodes'}",
        f"{report.heard} of {report.expected} ranks heard",
        report.backend,
        f"torch {report.torch}" if report.torch else "",
    ]
    return ", ".join(part for part in parts if part)


def verdict(report: FleetReport) -> str:
    return f"{WORDS[report.verdict]}: {report.why}"


def accused(report: FleetReport) -> list[FleetFinding]:
    return [f for f in report.findings if not f.because]


def consequences(report: FleetReport) -> list[FleetFinding]:
    return [f for f in report.findings if f.because]


def bad_nodes(report: FleetReport) -> list[str]:
    """Nodes for `srun --exclude`: those that failed or were not measured. A degraded one computes rightly."""
    return [n.host for n in report.nodes if n.verdict in ("fail", "not-measured") and _is_name(n.host)]


def good_nodes(report: FleetReport) -> list[str]:
    """Those that pass."""
    return [n.host for n in report.nodes if n.verdict == "pass"]


def _is_name(host: str) -> bool:
    """A missing node whose name is not known counts as no host."""
    return " " not in host


def drain_reason(node: NodeVerdict, report: FleetReport) -> str:
    """One line for `scontrol update nodename=… state=drain reason=…`."""
    ids = dict.fromkeys(f.id for f in accused(report) if node.host in f.hosts)
    reason = " ".join(f"torchdoctor {node.verdict}: {', '.join(ids) or node.why}".split())
    return reason[:REASON]


def nodes(report: FleetReport, *, all_of_them: bool) -> Table:
    """The nodes, worst first; many that pass are only counted."""
    order = ("fail", "not-measured", "degraded", "pass")
    rows = sorted(report.nodes, key=lambda n: (order.index(n.verdict), n.host))
    passing = [n for n in rows if n.verdict == "pass"]
    shown = rows if all_of_them or len(passing) <= NODES_SHOWN else [n for n in rows if n.verdict != "pass"]
    lines = [(n.host, WORDS[n.verdict], str(n.gpus), n.why) for n in shown]
    if len(shown) < len(rows):
        lines.append((f"{len(passing)} others", WORDS["pass"], str(sum(n.gpus for n in passing)), ""))
    return Table(title="Nodes", heads=("node", "verdict", "ranks", "why"), lines=tuple(lines))


def classes(report: FleetReport) -> tuple[Table, ...]:
    """What the devices of each class were compared with."""
    made = []
    for one in report.classes:
        lines = tuple(
            (y.rate, _number(y.median, y.unit), _spread(y), _number(y.threshold, y.unit), _basis(y))
            for y in one.yardsticks
        )
        title = f"{one.name}: {one.gpus} {'rank' if one.gpus == 1 else 'ranks'} on {one.nodes} " + (
            "node" if one.nodes == 1 else "nodes"
        )
        made.append(Table(title=title, heads=("rate", "median", "spread", "limit", "by"), lines=lines))
    return tuple(made)


def _basis(yard: Yardstick) -> str:
    if yard.basis == "relative":
        return f"class of {yard.count}"
    return f"floor, {yard.floor_kind}" if yard.basis == "floor" else "not judged"


def floors(report: FleetReport) -> list[str]:
    """The sources of the floors in use."""
    return [f"{y.rate}: {y.floor_source}" for c in report.classes for y in c.yardsticks if y.basis == "floor"]


def _spread(yard: Yardstick) -> str:
    return f"±{100 * 1.4826 * yard.mad / yard.median:.1f} %" if yard.median and yard.mad is not None else ""


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.4g} {unit}"


def collectives(report: FleetReport) -> Table:
    """The table of the collective operations: sizes in bytes, bandwidths in GB/s."""
    lines = tuple(
        (
            c.name, WORDS[c.verdict], str(c.members), _size(c.bytes), _number(c.busbw_gbs, "GB/s"),
            _number(c.algbw_gbs, "GB/s"), c.algorithm or "", c.why,
        )
        for c in report.collectives
    )  # fmt: skip
    return Table(
        title="Collective operations",
        heads=("operation", "verdict", "ranks", "size", "busbw", "algbw", "algorithm", "why"), lines=lines,
    )  # fmt: skip


def _size(count: int | None) -> str:
    """
    >>> _size(1 << 30), _size(8 << 20), _size(5000)
    ('1 GiB', '8 MiB', '5000 B')
    """
    if count is None:
        return ""
    for unit, power in (("GiB", 30), ("MiB", 20)):
        if count >= 1 << power:
            return f"{count / (1 << power):.3g} {unit}"
    return f"{count} B"


def links(report: FleetReport) -> str:
    """How the links are, in one sentence."""
    if not report.links_measured and not report.links:
        return ""
    counts = Counter(link.verdict for link in report.links)
    words = [f"{counts[v]} {said}" for v, said in LINK_WORDS.items() if counts[v]]
    return f"{report.links_measured} links measured" + (f": {', '.join(words)}." if words else ", none bad.")


def drift(report: FleetReport) -> Table:
    """The table of what became of each rank's rate during a soak."""
    lines = tuple((f"{d.host} rank {d.rank}", d.rate, f"{d.first:.4g}", f"{d.last:.4g}", WORDS[d.verdict])
                  for d in report.drift)  # fmt: skip
    return Table(title="Soak", heads=("rank", "rate", "first", "last", "verdict"), lines=lines)


# ---- the heat map


@dataclass(frozen=True, kw_only=True)
class Cell:
    """From the row's rank to the column's. `shade`: 0 (a half of the best, or less) to 9 (the best); None without a
    rate. `bad`: broken or slow; what was not measured accuses nobody. `said`: the same in words."""

    shade: int | None
    bad: bool
    shown: str
    said: str


@dataclass(frozen=True, kw_only=True)
class Map:
    """One matrix: within a node between ranks, or between nodes."""

    title: str
    names: tuple[str, ...]
    rows: tuple[tuple[Cell | None, ...], ...]


MAPS_SHOWN = 16  # nodes; beyond, those with a bad link
SIDE_SHOWN = 64  # rows of a map


def maps(report: FleetReport) -> list[Map]:
    """One of each node's pairs, and one of all pairs of nodes (the slowest of a pair's)."""
    made = []
    inside: dict[str, list[tuple[str, str, float | None, bool, str]]] = {}
    between: dict[tuple[str, str], tuple[float | None, bool, str]] = {}
    for link in report.links:
        bad = link.verdict in ("fail", "degraded")
        said = f"rank {link.source} to rank {link.target}: {link.why or f'{link.gbs or 0:.3g} GB/s'}"
        if link.scope == "node":
            one = (f"rank {link.source}", f"rank {link.target}", link.gbs, bad, said)
            inside.setdefault(link.source_host, []).append(one)
        else:
            key = (link.source_host, link.target_host)
            before = between.get(key)
            if before is None or bad > before[1] or (bad == before[1] and (link.gbs or 0) < (before[0] or 0)):
                between[key] = (link.gbs, bad, said)
    if between:
        made.append(_map("Between nodes", [(a, b, *rest) for (a, b), rest in between.items()]))
    hosts = [host for host in inside if any(cell[3] for cell in inside[host])]
    hosts += [host for host in inside if host not in hosts]
    made += [_map(host, inside[host]) for host in hosts[:MAPS_SHOWN]]
    return made


def _map(title: str, cells: Iterable[tuple[str, str, float | None, bool, str]]) -> Map:
    cells = list(cells)
    bad_ends = Counter(end for a, b, _, bad, _ in cells if bad for end in (a, b))
    ends = {end for a, b, *_ in cells for end in (a, b)}
    names = sorted(sorted(ends, key=lambda end: (-bad_ends[end], _natural(end)))[:SIDE_SHOWN], key=_natural)
    best = max((rate for _, _, rate, _, _ in cells if rate), default=0.0)
    by_pair = {
        (a, b): Cell(shade=_shade(rate, best), bad=bad, said=said,
                     shown=f"{rate:.3g}" if rate else "!" if bad else "?")
        for a, b, rate, bad, said in cells
    }  # fmt: skip
    rows = tuple(tuple(by_pair.get((a, b)) for b in names) for a in names)
    return Map(title=title, names=tuple(names), rows=rows)


def _natural(name: str) -> tuple[str, int, str]:
    digits = name[len(name.rstrip("0123456789")) :]
    return (name[: len(name) - len(digits)], int(digits or 0) if len(digits) < 10 else 0, name)


def _shade(rate: float | None, best: float) -> int | None:
    if not rate or not best:
        return None
    return max(0, min(9, int(20 * (rate / best - 0.5))))

"""The options of a rank. argparse, for the target's Python may have nothing but the standard library and torch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

BACKENDS = ("nccl", "gloo", "xccl")
LIMIT_S = 60.0  # of a pair, of a collective operation
JOIN_S = 90.0  # until all have come: stage A takes differently long
DEVICE_S = 60.0  # of all of stage A beyond the import of torch
OUTPUT = "torchdoctor-fleet"


@dataclass(frozen=True, kw_only=True)
class Options:
    """`backend` None: nccl where torch sees a GPU of NVIDIA or AMD, xccl for Intel's, else gloo."""

    output: str = OUTPUT
    backend: str | None = None
    limit_s: float = LIMIT_S
    join_s: float = JOIN_S
    device_s: float = DEVICE_S
    between: int = 4
    pair_bytes: int | None = None
    collective_bytes: int | None = None
    soak_minutes: float | None = None
    stages: str = "ABC"
    merge: bool = True
    nodes: int | None = None  # these three place a rank where each node has a launcher of its own
    node_rank: int | None = None
    master: str | None = None  # HOST:PORT


def arguments(options: Options) -> list[str]:
    """The command line that gives these options."""
    words = ["--output", options.output]
    if options.backend:
        words += ["--backend", options.backend]
    for name, value, default in (
        ("--limit", options.limit_s, LIMIT_S), ("--join-limit", options.join_s, JOIN_S),
        ("--device-limit", options.device_s, DEVICE_S), ("--between", options.between, 4),
        ("--pair-bytes", options.pair_bytes, None), ("--collective-bytes", options.collective_bytes, None),
        ("--soak", options.soak_minutes, None), ("--stages", options.stages, "ABC"),
    ):  # fmt: skip
        if value != default:
            words += [name, f"{value:g}" if isinstance(value, float) else str(value)]
    for name, placed in (("--nodes", options.nodes), ("--node-rank", options.node_rank), ("--master", options.master)):
        words += [] if placed is None else [name, str(placed)]
    return words if options.merge else [*words, "--no-merge"]


class _Parser(argparse.ArgumentParser):
    """Ends in 3, «not measured»: a wrong command line must not drain a node (2 would be «failed»)."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(3, f"{self.prog}: {message}\n")


def parse(argv: Sequence[str]) -> Options:
    """The options of a command line; SystemExit(3) with one line where they are wrong."""
    parser = _Parser(
        prog="python -m doctor.fleet",
        description="One rank of a fleet check. Started by torchrun, srun or mpirun; torchdoctor fleet prints the "
        "command, and makes the report of what all ranks leave (--merge).",
    )
    parser.add_argument("--output", default=OUTPUT, metavar="DIR", help="where each rank leaves its record")
    parser.add_argument("--backend", choices=BACKENDS, help="of torch.distributed; default: by the device")
    parser.add_argument("--limit", type=_positive, default=LIMIT_S, metavar="S", help="seconds for each operation")
    parser.add_argument("--join-limit", type=_positive, default=JOIN_S, metavar="S", help="seconds until all have come")
    parser.add_argument("--device-limit", type=_positive, default=DEVICE_S, metavar="S", help="seconds for stage A")
    parser.add_argument("--between", type=int, default=4, metavar="N", help="rounds of pairs between nodes")
    parser.add_argument("--pair-bytes", type=int, metavar="N", help="of a message between two ranks")
    parser.add_argument("--collective-bytes", type=int, metavar="N", help="of a collective operation")
    parser.add_argument("--soak", type=_positive, metavar="MINUTES", help="go on with products and all-reduces")
    parser.add_argument("--stages", default="ABC", choices=("A", "AB", "BC", "ABC"), help="which stages to run")
    parser.add_argument("--no-merge", action="store_true", help="rank 0 leaves the report to --merge")
    parser.add_argument("--nodes", type=int, metavar="N", help="how many nodes, where each has a launcher of its own")
    parser.add_argument("--node-rank", type=int, metavar="K", help="the number of this one, from 0")
    parser.add_argument("--master", metavar="HOST:PORT", help="where rank 0 keeps the meeting point of all nodes")
    given = parser.parse_args(list(argv))
    return Options(
        output=given.output, backend=given.backend, limit_s=given.limit, join_s=given.join_limit,
        device_s=given.device_limit, between=max(0, given.between), pair_bytes=given.pair_bytes,
        collective_bytes=given.collective_bytes, soak_minutes=given.soak, stages=given.stages, merge=not given.no_merge,
        nodes=given.nodes, node_rank=given.node_rank, master=given.master,
    )  # fmt: skip


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is no number of seconds")
    return value

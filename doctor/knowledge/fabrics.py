"""What all-reduce reaches between healthy GPUs, by model and scope. Pure."""

from __future__ import annotations

from doctor.knowledge.gpus import plain_name
from doctor.knowledge.load import of_tables, table
from doctor.knowledge.speeds import Expected


@of_tables
def all_reduce(name: str, scope: str, algorithm: str | None = None) -> Expected | None:
    """Bus bandwidth (GB/s, nccl-tests' definition) of a large all-reduce of all GPUs of such a node ("node"), or over
    several nodes ("between"). Where the algorithm is not known, the slowest that a healthy one has: on Hopper NVLS is
    1.3 times as fast as a ring."""
    rows = [
        row for row in table("fabrics")["all_reduce"]
        if plain_name(row["name"]) == plain_name(name) and row["scope"] == scope
        and (algorithm is None or row["algorithm"] == algorithm)
    ]  # fmt: skip
    if not rows:
        return None
    row = min(rows, key=lambda r: float(r["busbw_gbs"]))
    sources = table("fabrics")["sources"]
    return Expected(row["busbw_gbs"], "; ".join(sources[key] for key in row["sources"]), measured=True)

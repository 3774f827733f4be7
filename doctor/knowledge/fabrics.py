"""What all-reduce reaches between healthy GPUs, by model and scope. Pure."""

from __future__ import annotations

from doctor.knowledge.gpus import plain_name
from doctor.knowledge.load import cited, of_tables, table
from doctor.knowledge.speeds import Expected


@of_tables
def all_reduce(name: str, scope: str, nvls: bool | None = None) -> Expected | None:
    """Bus bandwidth (GB/s, nccl-tests' definition) of a large all-reduce of all GPUs of such a node ("node"), or over
    several nodes ("between"). `nvls`: whether NVLink switches add up; on Hopper that is 1.3 times as fast as a ring, so
    the two are not compared. None: not known, and then it is the slower that a healthy machine has."""
    rows = [
        row for row in table("fabrics")["all_reduce"]
        if plain_name(row["name"]) == plain_name(name) and row["scope"] == scope
        and (nvls is None or row["algorithm"] is None or (row["algorithm"] == "NVLS") == nvls)
    ]  # fmt: skip
    if not rows:
        return None
    row = min(rows, key=lambda r: float(r["busbw_gbs"]))
    return Expected(row["busbw_gbs"], cited("fabrics", row), measured=True)


def uses_nvls(algorithm: str | None) -> bool | None:
    """What a record's word on the algorithm says of NVLS: the value of NCCL_ALGO, or "without NVLS".

    >>> uses_nvls("NVLS"), uses_nvls("NVLSTree"), uses_nvls("Ring,Tree"), uses_nvls("without NVLS"), uses_nvls(None)
    (True, True, False, False, None)
    >>> uses_nvls("^NVLS"), uses_nvls("NVLS,Ring"), uses_nvls("^Tree"), uses_nvls("allreduce:ring;allgather:nvls")
    (False, None, None, False)
    """
    if algorithm is None or algorithm == "without NVLS":
        return None if algorithm is None else False
    lists = {name: words for name, _, words in (part.rpartition(":") for part in algorithm.lower().split(";"))}
    named = lists.get("allreduce", lists.get("", ""))
    if named.startswith("^"):  # all but these
        return False if "nvls" in named[1:].split(",") else None
    kinds = {word.startswith("nvls") for word in named.split(",") if word}
    return kinds.pop() if len(kinds) == 1 else None

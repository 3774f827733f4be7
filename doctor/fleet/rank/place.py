"""Who this process is among the others: what torchrun, srun and mpirun say in its environment. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

PORT = 29500  # torch's own default


class NoPlace(ValueError):
    """The environment does not say who this process is; the text says what is missing."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """`run`: the launcher's name of the job, the same on all ranks, or "". `agent_store`: the launcher keeps the store
    at address:port, so rank 0 need not."""

    launcher: str
    run: str
    rank: int
    world: int
    local_rank: int
    local_world: int | None
    address: str
    port: int
    agent_store: bool


def place_of(environ: Mapping[str, str]) -> Place:
    """From the variables of the launcher. Raises NoPlace."""
    if "RANK" in environ and "WORLD_SIZE" in environ:
        return _torchrun(environ)
    if "OMPI_COMM_WORLD_RANK" in environ:
        names = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                 "OMPI_COMM_WORLD_LOCAL_SIZE")  # fmt: skip
        return _of("mpirun", environ, names, environ.get("PMIX_NAMESPACE", ""))
    if "SLURM_PROCID" in environ and int(environ.get("SLURM_NTASKS", "1") or 1) >= 1:
        return _slurm(environ)
    if "PMI_RANK" in environ:
        return _of("mpirun", environ, ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"), "")
    raise NoPlace(
        "no launcher's variables are set (RANK and WORLD_SIZE, SLURM_PROCID, OMPI_COMM_WORLD_RANK or PMI_RANK); start "
        "it with torchrun, srun or mpirun, or use torchdoctor fleet --local"
    )


def placed(place: Place, nodes: int | None, node_rank: int | None, master: str | None) -> Place:
    """The place in a fleet of nodes that each have a launcher of their own: then no node waits for another before its
    ranks run. Raises NoPlace."""
    if nodes is None and node_rank is None and master is None:
        return place
    if nodes is None or node_rank is None or master is None or not 0 <= node_rank < nodes:
        raise NoPlace("--nodes N, --node-rank K (0 to N - 1) and --master HOST:PORT belong together")
    host, _, port = master.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal() and len(port) < 6):
        raise NoPlace(f"--master is {master[:60]!r}, and not HOST:PORT")
    each = place.local_world or place.world
    return replace(
        place, rank=node_rank * each + place.local_rank, world=nodes * each, local_world=each, address=host,
        port=int(port), agent_store=False, run="",  # each node's launcher has a name of its own for it
    )  # fmt: skip


def _torchrun(environ: Mapping[str, str]) -> Place:
    """torchrun, a Kubernetes job with the same variables, or fleet --local."""
    return Place(
        launcher="torchrun" if "TORCHELASTIC_RUN_ID" in environ else "environment",
        run=environ.get("TORCHELASTIC_RUN_ID") or environ.get("SLURM_JOB_ID") or environ.get("JOB_NAME") or "",
        rank=_number(environ, "RANK"), world=_number(environ, "WORLD_SIZE"),
        local_rank=_number(environ, "LOCAL_RANK", 0), local_world=_maybe(environ, "LOCAL_WORLD_SIZE"),
        address=environ.get("MASTER_ADDR") or "127.0.0.1", port=_number(environ, "MASTER_PORT", PORT),
        agent_store=environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
    )  # fmt: skip


def _slurm(environ: Mapping[str, str]) -> Place:
    job = ".".join(p for p in (environ.get("SLURM_JOB_ID", ""), environ.get("SLURM_STEP_ID", "")) if p)
    names = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE")
    nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST", "")
    place = _of("srun", environ, names, job, default=first_host(nodes))
    if "SLURM_NTASKS_PER_NODE" not in environ and (each := _tasks_here(environ)):
        return Place(**{**vars(place), "local_world": each})
    return place


def _tasks_here(environ: Mapping[str, str]) -> int | None:
    """SLURM_STEP_TASKS_PER_NODE is "4(x16)" or "4,3": only the even form tells."""
    match = re.fullmatch(r"(\d+)(\(x\d+\))?", environ.get("SLURM_STEP_TASKS_PER_NODE", ""))
    return int(match[1]) if match else None


def _of(
    launcher: str, environ: Mapping[str, str], names: tuple[str, str, str, str], run: str, default: str = ""
) -> Place:
    world = _number(environ, names[1], 1)
    address = environ.get("MASTER_ADDR") or default
    if not address and world > 1:
        raise NoPlace(
            f"MASTER_ADDR is not set: {launcher} starts the ranks, but does not say where rank 0 is; set it to the "
            "first node's name (and MASTER_PORT to a free port, if 29500 is taken)"
        )
    return Place(
        launcher=launcher, run=run, rank=_number(environ, names[0]), world=world,
        local_rank=_number(environ, names[2], 0), local_world=_maybe(environ, names[3]),
        address=address or "127.0.0.1", port=_number(environ, "MASTER_PORT", PORT), agent_store=False,
    )  # fmt: skip


def first_host(nodes: str) -> str:
    """The first host of a Slurm list.

    >>> first_host("gpu[003-007,9],login1"), first_host("a1,b2"), first_host("")
    ('gpu003', 'a1', '')
    """
    match = re.match(r"([^\[,]+)(?:\[([^\],-]+))?", nodes)
    return f"{match[1]}{match[2] or ''}" if match else ""


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    value = environ.get(name, "").strip()
    if not value and default is not None:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) < 8):
        raise NoPlace(f"{name} is {value[:40]!r}, which is no number")
    return int(value)


def _maybe(environ: Mapping[str, str], name: str) -> int | None:
    value = environ.get(name, "").strip()
    return int(value) if value.isascii() and value.isdecimal() and 0 < len(value) < 8 else None

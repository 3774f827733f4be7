"""The fleet's own findings: those that one machine cannot have, so `check` has none of them. All others carry the ids
of `check`. docs/fleet.md is checked against this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from doctor.fleet.judge.words import gpu_name
from doctor.model.fleet import FleetFinding, RankRecord, Verdict


@dataclass(frozen=True)
class Own:
    """What an id means, how it is found, and what to do."""

    title: str
    remedy: str
    found: str


OWN: dict[str, Own] = {
    "fleet-rank-missing": Own(
        "A rank left no record.",
        "Look at the launcher's log of that node: the node is down, the job did not start there, or Python did not.",
        "The rank was expected (by the world size of the others, --expect or --hosts), but there is no record "
        "of it in the folder, and no other rank met it at the rendezvous.",
    ),
    "fleet-rank-died": Own(
        "A rank's process was gone before it had finished.",
        "Look at the kernel's log of that node (dmesg: out of memory, Xid) and run torchdoctor check there.",
        "The child of a stage ended by a signal or without its last word, or the rank's record was never "
        "finished.",
    ),
    "fleet-rank-hung": Own(
        "A rank did not come back in time, and was ended from outside.",
        "Run torchdoctor check on that node; a hung device needs a reset or a reboot.",
        "A step took longer than its limit, and the rank was stopped. Where several ranks hang in the same "
        "operation, only those are named that the others missed there, or whose innermost Python frame is not "
        "torch's.",
    ),
    "fleet-rendezvous-failed": Own(
        "A rank could not reach the rendezvous.",
        "Compare MASTER_ADDR and MASTER_PORT with those of the other ranks; check name resolution, the route and the "
        "firewall from that node.",
        "The rank's worker could not reach MASTER_ADDR:MASTER_PORT within --join-limit.",
    ),
    "fleet-config-differs": Own(
        "A rank's configuration differs from that of its class.",
        "Give the node the same version or setting as the others.",
        "A version, setting or variable differs from that of more than half of the class (torch and NCCL: of "
        "the fleet). Where no value has the majority, the disagreement is the finding and no rank is named.",
    ),
    "fleet-gpus-missing": Own(
        "A node has fewer GPUs than others of its class.",
        "Look for the lost GPU with lspci and in dmesg (Xid 79: fallen off the bus); drain the node.",
        "The driver counts fewer GPUs on this node than on most nodes of its class.",
    ),
    "fleet-gpu-shared": Own(
        "Several ranks use the same GPU.",
        "Start one rank for each GPU, and show every rank of a node the same GPUs, or each rank one of its own "
        "(CUDA_VISIBLE_DEVICES, LOCAL_RANK).",
        "Two ranks of a node name the same UUID. NCCL refuses such ranks, and each one measures the other "
        "one's work, so their rates are not judged. Where a variable hides GPUs from one of them, the finding "
        "is gpu-hidden instead.",
    ),
    "fleet-clock-differs": Own(
        "A node's clock is wrong.",
        "Start its time service (chronyd, systemd-timesyncd) and check that it reaches its source.",
        "All ranks say their time when they are released at the rendezvous. One is more than 10 s away from "
        "the median.",
    ),
    "fleet-memory-lock": Own(
        "The limit of locked memory is low, which InfiniBand and RoCE need.",
        "Raise it: ulimit -l unlimited, in limits.conf and for the batch system's daemon (LimitMEMLOCK=infinity).",
        "The limit (ulimit -l) is below 64 MiB on a node with active InfiniBand or RoCE ports, which register "
        "their buffers as locked memory.",
    ),
    "fleet-link-broken": Own(
        "Data does not get through between two ranks, or arrives changed.",
        "Check cable, port and switch of that link, inside a node the NVLink or PCIe path (nvidia-smi topo -m).",
        "A pair of ranks got an error, a timeout or wrong bytes, with this one partner only. Both ends did "
        "well with others.",
    ),
    "fleet-link-slow": Own(
        "A link is slower than others of its class.",
        "Check cable, port, negotiated speed and error counters of that link (ethtool, ibstat, nvidia-smi nvlink -s).",
        "The best of several messages is below median - max(3 x 1.4826 x MAD, 10 %) of the links of that "
        "class, or below the floor that the adapters' own speed gives. It was measured a second time, and "
        "both ends are fine with other partners.",
    ),
    "fleet-node-links": Own(
        "A node or GPU is bad with several different partners.",
        "Check the node's network adapter, its cable and drivers; inside a node, the GPU and its links.",
        "Pairs with at least two different partners are bad, so this end is to blame and not a link.",
    ),
    "fleet-collective-wrong": Own(
        "A collective operation gave wrong results.",
        "Take the named rank's GPU out of use; run torchdoctor probe --full there.",
        "The answer of an operation has a closed form, and some elements differ from it. Where parts of the "
        "answer come from different ranks, the rank is named whose part is wrong; an input that changed names "
        "its own rank.",
    ),
    "fleet-collective-failed": Own(
        "A collective operation did not end well, and no rank can be blamed.",
        "Look at the pairs: a link that fails there is the cause. Else compare NCCL's log of all ranks "
        "(NCCL_DEBUG=INFO).",
        "An operation ended in an error or not at all, and no rank died, hung or was missing.",
    ),
    "fleet-collective-slow": Own(
        "A collective operation is slower than healthy machines of that kind.",
        "All links may be equally slow: check that the fast fabric is in use (NCCL_DEBUG=INFO names the transport).",
        "The bus bandwidth of the slowest rank is below 0.8 of what was measured on whole nodes of that "
        "model. NVLS is compared with NVLS only.",
    ),
    "fleet-output-unwritable": Own(
        "A rank could not write its record.",
        "Give --output a folder that this user can write to on every node, with room.",
        "The rank told the others over the rendezvous that it could not write to --output.",
    ),
    "fleet-record-damaged": Own(
        "A rank's record cannot be read.",
        "Run the node again; look whether its disk or the shared folder is full.",
        "The file is there, but it is not a whole record of that rank.",
    ),
    "fleet-record-absent": Own(
        "A rank took part, but its record is not in this folder.",
        "Where --output is a local folder, copy those of all nodes together before --merge.",
        "Other ranks met it, but there is no file of it in this folder.",
    ),
    "fleet-drift": Own(
        "A rate fell during the soak.",
        "Look at temperature, power limit and clocks of that GPU over the same time.",
        "The last fifth of the soak's rounds is slower than the first by more than 5 % (all-reduce: 10 %) and "
        "by more than the rounds scatter.",
    ),
}


def remedy_of(id: str) -> str:
    """What to do; for an id of `check`, where that is told."""
    return OWN[id].remedy if id in OWN else f"torchdoctor explain {id}"


def of_rank(
    id: str, record: RankRecord, verdict: Verdict, text: str, kind: Literal["gpu", "node"] = "gpu"
) -> FleetFinding:
    """A finding of one rank: of its GPU, or of the node as far as this rank uses it."""
    return FleetFinding(
        id=id, kind=kind, subject=gpu_name(record) if kind == "gpu" else f"{record.host} (rank {record.rank})",
        verdict=verdict, hosts=(record.host,), ranks=(record.rank,), text=text, remedy=remedy_of(id),
    )  # fmt: skip

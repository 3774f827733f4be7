"""The shared memory (/dev/shm) is too small for the DataLoader's processes.

What it means
    Worker processes hand their batches over in /dev/shm. Containers get 64 MB of it unless they are told otherwise:
    a worker then ends with a bus error.

How to see it yourself
    df -h /dev/shm

What to do
    Start the container with --ipc=host or --shm-size=8g (compose: shm_size; Kubernetes: an emptyDir with medium
    Memory). Without a container: num_workers=0, or a larger /dev/shm.

References
    https://docs.docker.com/engine/containers/run/
    https://github.com/pytorch/pytorch#docker-image
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard, in_container
from doctor.checks._torch import quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

REMEDIES = (
    Remedy(action="container-flag", details={"flag": "--ipc=host"}),
    Remedy(action="container-flag", details={"flag": "--shm-size=8g"}),
)
WORKERS = Remedy(
    action="reduce-memory",
    details={"reason": "num_workers=0"},
    text="Give the DataLoader fewer workers (num_workers=0).",
)

check = Check(
    severity="fault",
    needs=("host.container", "host.shm_bytes", "messages"),
    systems=("linux",),
    usual=REMEDIES,
    explains=("feature-fails",),
    instead_of=("program-error", "pip-out-of-resources"),
)

DEFAULT_OF_CONTAINERS = 64 << 20


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "dataloader-shared-memory", "nccl-shared-memory")
    size = facts.host.shm_bytes
    ended = heard(facts, "dataloader-worker-ended")
    if error is None and ended and in_container(facts) and (size is None or size <= DEFAULT_OF_CONTAINERS):
        return check.found(
            facts,
            "A worker of the DataLoader ended without a word, in a container: the usual reason is that /dev/shm is "
            "full, which has 64 MiB unless more is asked for.",
            evidence=(quote(ended), "host.shm_bytes", "host.container"),
            remedies=(*REMEDIES, WORKERS),
            confidence="likely",
        )
    small = bool(facts.host.container) and size is not None and size <= DEFAULT_OF_CONTAINERS
    if error is None and not small:
        return None
    if error is None:
        return check.found(
            facts,
            f"/dev/shm has {(size or 0) >> 20} MiB: too little for a DataLoader with worker processes.",
            evidence=("host.shm_bytes", "host.container"),
            remedies=REMEDIES,
            severity="note",
        )
    return check.found(
        facts,
        "A worker process found no room in /dev/shm.",
        evidence=(quote(error), "host.shm_bytes", "host.container"),
        remedies=(*REMEDIES, WORKERS),
    )

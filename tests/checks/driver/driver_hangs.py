from dataclasses import replace

from doctor.model.facts import ABSENT, ProbeResult, Source
from tests.example_case import Case
from tests.examples import linux, with_nvidia, with_torch

SMI = Source(name="nvidia-smi", status="timed-out", message="no answer after 10 s")
CUDA = Source(name="libcuda", status="timed-out", message="no answer after 5 s")
PROC = Source(name="/proc/driver/nvidia/version", status="ok")
RTX = "NVIDIA GeForce RTX 4090"


def silent(*sources: Source):
    return with_nvidia(linux(), RTX, driver=None, gpus_seen=None, cuinit=None, sources=sources)


BAD = {
    "nvidia-smi alone": Case(
        with_torch(with_nvidia(linux(), RTX, sources=(SMI, PROC)), "2.6.0+cu124", cuda_available=True),
        severity="warning",
    ),
    "nvidia-smi alone, and nothing else is known": Case(silent(SMI), severity="warning"),
    "two sources": Case(with_torch(silent(SMI, CUDA, PROC), "2.6.0+cu124"), severity="fault"),
    "one that can't be killed": Case(silent(replace(SMI, stuck=True)), severity="fault"),
    "nvidia-smi and the probe": Case(
        replace(
            with_torch(silent(SMI), "2.6.0+cu124"),
            probes=(ProbeResult(id="cuda:0", device="cuda:0", status="timed-out", stage="allocate"),),
        ),
        severity="fault",
    ),
    "the kernel says so": "[ 3625.1] INFO: task nvidia-smi:4321 blocked for more than 120 seconds.\n",
    "no library, and it is not claimed that there is no driver": Case(
        with_torch(
            with_nvidia(linux(), RTX, driver=None, kernel_module=None, libcuda=ABSENT, cuinit=None, sources=(SMI,)),
            "2.6.0+cu124",
        ),
        severity="warning",
    ),
}
GOOD = {
    "all answer": with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
    "no nvidia-smi": with_torch(linux(), "2.6.0+cpu"),
    "a child that asked no driver can't be killed": replace(
        with_torch(linux(), "2.6.0+cpu"),
        probes=(ProbeResult(id="cpu", device="cpu", status="timed-out", stage="correct", stuck=True),),
    ),
    "only the probe hangs": replace(
        with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
        probes=(ProbeResult(id="cuda:0", device="cuda:0", status="timed-out", stage="matmul"),),
    ),
}
BAD["a task that waits inside the nvidia module"] = """\
[ 7510.129324] INFO: task python3:509579 blocked for more than 120 seconds.
[ 7510.131217] task:python3         state:D stack:    0 pid:509579 ppid: 11174 flags:0x00000006
[ 7510.131288]  os_acquire_rwlock_read+0x35/0x50 [nvidia]
"""
BAD["ps shows nvidia-smi in state D"] = """\
$ ps aux | grep nvidia
root        4321  0.0  0.0  15236  4096 ?        D    10:02   0:00 nvidia-smi
root        4400  0.0  0.0  15236  4096 ?        Ds   10:05   0:00 /usr/bin/nvidia-smi -L
"""
GOOD["a task that waits for a disk"] = """\
[ 7510.129324] INFO: task jbd2/sda1-8:312 blocked for more than 120 seconds.
[ 7510.131217] task:jbd2/sda1-8     state:D stack:    0 pid:312 ppid: 2 flags:0x00004000
[ 7510.131288]  jbd2_journal_commit_transaction+0x1f2/0x1700 [jbd2]
"""

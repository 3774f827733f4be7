from dataclasses import replace

from doctor.model.facts import ABSENT, ImportFailure, Limits
from tests.examples import linux, mac, with_error, with_nvidia, with_torch

H200 = "NVIDIA H200"
WIDE = Limits(
    open_files=1024, processes=500_000, address_space_bytes=ABSENT, data_bytes=ABSENT, cgroup_processes=ABSENT
)
BUSY = "cuda-devices-busy", "CUDA error: CUDA-capable device(s) is/are busy or unavailable"
FULL = "cuda-out-of-memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB"


def limited(*, works: bool = False, said: tuple[str, str] | None = None, **limits: object):
    facts = with_nvidia(linux(), H200)
    facts = replace(facts, host=replace(facts.host, limits=replace(WIDE, **limits)))
    facts = with_torch(facts, "2.9.1+cu128", cuda_available=works or bool(said))
    return with_error(facts, *said) if said else facts


BAD = {
    "pasted: a job that is killed": "The job stops without a word:\n\nReading data: 100%\nEpoch 1, loss 0.51\nKilled\n",
    "pasted: the machine's memory is full": (
        "RuntimeError: [enforce fail at alloc_cpu.cpp:83] err == 0. DefaultCPUAllocator: can't allocate memory: you "
        "tried to allocate 1073741824 bytes. Error code 12 (Cannot allocate memory)\n"
    ),
    "pasted: the memory of a Windows machine is full": (
        "Windows 11, 16 GB RAM\n\nRuntimeError: [enforce fail at C:\\ci\\alloc_cpu.cpp:80] data. DefaultCPUAllocator: "
        "not enough memory: you tried to allocate 134217728 bytes.\n"
    ),
    "30 files": limited(open_files=30, said=BUSY),
    "4 GB of addresses": limited(address_space_bytes=4 << 30, said=FULL),
    "4 GB of addresses, and torch does not import": replace(
        limited(address_space_bytes=4 << 30),
        torch=with_torch(
            linux(),
            "2.9.1+cu128",
            imports=False,
            import_failure=ImportFailure(
                kind="exception",
                exception="ImportError",
                message="libcublasLt.so.12: failed to map segment from shared object",
            ),
        ).torch,
    ),
    "a second of CPU time, and the import was killed": replace(
        limited(cpu_seconds=1),
        torch=with_torch(
            linux(), "2.9.1+cu128", imports=False,
            import_failure=ImportFailure(kind="signal", message="killed by SIGKILL", signal=9),
        ).torch,
    ),
    "CUDA does not start": limited(open_files=30),
    "a full control group": with_error(
        limited(cgroup_processes=100, cgroup_processes_now=97),
        "thread-not-created",
        "OpenBLAS blas_thread_init: pthread_create failed for thread 2 of 64: Resource temporarily unavailable",
    ),
    "pasted: too many files": (
        "torch 2.6.0+cu124\n"
        '  File "/v/lib/python3.11/site-packages/torch/multiprocessing/reductions.py", line 494, in rebuild_storage_fd\n'
        "OSError: [Errno 24] Too many open files\n"
    ),
    "pasted: no more threads": (
        "OpenBLAS blas_thread_init: pthread_create failed for thread 50 of 64: Resource temporarily unavailable\n"
        "OpenBLAS blas_thread_init: RLIMIT_NPROC 4096 current, 513046 max\n"
        "KeyboardInterrupt\n"
    ),
}
GOOD = {
    "low, but all works": limited(works=True, open_files=64),
    "little CPU time, but all works": limited(works=True, cpu_seconds=30),
    "wide limits, and the GPU is busy": limited(said=BUSY),
    "the usual limits": limited(works=True),
    "a Mac's 256 files": mac(),
    "a file system without execution": with_error(
        linux(), "segment-not-mapped", "ImportError: /mnt/x/libtorch.so: failed to map segment from shared object"
    ),
}

from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, with_error, with_torch

BUS = "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."
healthy = with_torch(linux(), "2.2.1+cu121")
container = replace(healthy, host=replace(healthy.host, container="docker", shm_bytes=64 << 20))

BAD = {
    "a bus error": with_error(healthy, "dataloader-shared-memory", BUS),
    "in a container": with_error(container, "dataloader-shared-memory", BUS),
    "not yet": Case(container, severity="note"),
    "pasted: RuntimeError: DataLoader worker (pid 1234) is killed by sign": (
        "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n"
    ),
    "pasted: RuntimeError: unable to write to file </torch_18_1890034_0>:": (
        "RuntimeError: unable to write to file </torch_18_1890034_0>: No space left on device (28)\n"
        "in docker container, df -h: shm 64M 64M 0 100% /dev/shm\n"
    ),
    "pasted: NCCL's segment": (
        "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, unhandled system error (run with NCCL_DEBUG=INFO for details), NCCL version 2.21.5\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or device error. \n"
        "Last error:\n"
        "Error while creating shared memory segment /dev/shm/nccl-1YsMbG (size 7340384)\n"
    ),
    "pasted: an older NCCL": (
        "include/shm.h:28 NCCL WARN Call to posix_fallocate failed: No space left on device\n"
        "include/shm.h:48 NCCL WARN Error while creating shared memory segment nccl-shm-recv-250a7cc850ba9298-0-1-3 (size 9637888)\n"
    ),
    "pasted: broken over lines by a mail": (
        "RuntimeError: DataLoader worker (pid 1234) is killed by signal: Bus error. It is\n"
        "possible that dataloader's workers are out of shared memory. Please try to raise\n"
        "your shared memory limit.\n"
    ),
}
GOOD = {"enough": replace(container, host=replace(container.host, shm_bytes=8 << 30)), "no container": healthy}

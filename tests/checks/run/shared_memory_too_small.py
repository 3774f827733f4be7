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
}
GOOD = {"enough": replace(container, host=replace(container.host, shm_bytes=8 << 30)), "no container": healthy}

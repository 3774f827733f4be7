from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import linux, with_nvidia, with_torch

machine = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", cuda_available=True)


def probe(status, **more):
    return replace(machine, probes=(ProbeResult(id="cuda:0", device="cuda:0", status=status, **more),))


BAD = {
    "pasted: an illegal access": Case(
        "RuntimeError: CUDA error: an illegal memory access was encountered\n", severity="warning"
    ),
    "pasted: DirectML is refused": Case(
        "RuntimeError: The GPU will not respond to more commands, most likely because some other application "
        "submitted invalid commands.\n", severity="warning",
    ),
    "pasted: Metal aborts": Case(
        "failed assertion `Placeholder shape mismatches (expected 1 vs got tensorData with 896) at dimIdx = 0'\n",
        severity="warning",
    ),
    "a segmentation fault": probe("crashed", stage="allocate", signal=11),
    "a hang": probe("timed-out", stage="kernel"),
    "an error": probe("failed", stage="kernel", reason="RuntimeError: CUDA error: misaligned address"),
}
GOOD = {
    "right": probe("ok", stage="speed"),
    "skipped": probe("skipped", reason="torch sees no such device"),
    "it never came to the device": probe("skipped", stage="import", reason="importing torch: ended by signal 9"),
    "no room": probe("failed", stage="open", reason="OutOfMemoryError: CUDA out of memory. Tried to allocate 2 MiB"),
    "wrong results": probe("failed", stage="correct", data={"wrong": ["float32 mm"]}),
}

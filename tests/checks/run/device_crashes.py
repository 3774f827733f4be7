from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.examples import linux, with_nvidia, with_torch

machine = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", cuda_available=True)


def probe(status, **more):
    return replace(machine, probes=(ProbeResult(id="cuda:0", device="cuda:0", status=status, **more),))


BAD = {
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

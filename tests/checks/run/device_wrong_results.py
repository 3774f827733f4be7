from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.examples import linux, mac, with_nvidia, with_torch

machine = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", cuda_available=True)


def probe(device, *wrong, status="failed"):
    return ProbeResult(
        id=device, device=device, status=status, stage="correct", data={"wrong": list(wrong)} if wrong else {}
    )


BAD = {
    "a GPU": replace(
        machine,
        probes=(probe("cpu", status="ok"), probe("cuda:0", "float32 mm, forward: 12 of 131072 integers differ")),
    ),
    "the CPU": replace(
        with_torch(linux(), "2.6.0+cpu"), probes=(probe("cpu", "float64 mm on the CPU, which is the reference"),)
    ),
    "a Mac that no known fault explains": replace(
        with_torch(mac(), "9.9.0"), probes=(probe("mps:0", "float16 conv2d, forward"),)
    ),
}
GOOD = {
    "right": replace(machine, probes=(probe("cpu", status="ok"), probe("cuda:0", status="ok"))),
    "not probed": machine,
    "crashed": replace(machine, probes=(probe("cuda:0", status="crashed"),)),
}

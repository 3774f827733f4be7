from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

POOL = "nn.MaxPool2d torch.mps.driver_allocated_memory() before 545751040 after 1628192768"


def probe(*wrong, device="mps", facts=None):
    result = ProbeResult(id=device, device=device, status="failed", stage="training", data={"wrong": list(wrong)})
    return replace(facts or with_torch(mac(), "2.3.0", mps_available=True), probes=(result,))


LEAK = "memory leak: driver grew by 88.0 MiB in 88 steps of training"
BAD = {
    "measured by the probe": Case(probe(LEAK), severity="fault"),
    "pooling before macOS 15.4": with_error(with_torch(mac(macos="14.4"), "2.3.0"), "mps-memory-grows", POOL),
    "an unknown operation": with_error(
        with_torch(mac(), "2.2.0"), "mps-memory-grows", "driver_allocated_memory() 1 GiB, 9 GiB"
    ),
    "pasted: step 300 torch.mps.driver_allocated_memory() 13.7 GB": (
        "step 0 torch.mps.driver_allocated_memory() 1.2 GB\n"
        "step 100 torch.mps.driver_allocated_memory() 4.8 GB\n"
        "step 200 torch.mps.driver_allocated_memory() 9.1 GB\n"
        "step 300 torch.mps.driver_allocated_memory() 13.7 GB\n" + collect_env("2.3.0", "mac")
    ),
}
GOOD = {
    "a leak among wrong results": probe("randn: two draws are the same", LEAK),
    "a leak of another device": probe(LEAK, device="cuda:0", facts=with_torch(linux(), "2.3.0")),
    "healthy": with_torch(mac(), "2.3.0", mps_available=True),
    "Linux": with_error(linux(), "mps-memory-grows", POOL),
}

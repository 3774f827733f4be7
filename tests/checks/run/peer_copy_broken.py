from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.examples import linux, with_nvidia, with_torch

machine = with_torch(with_nvidia(linux(), *["NVIDIA RTX A5000"] * 2), "2.6.0+cu124", cuda_available=True)


def probe(id, **data):
    return replace(machine, probes=(ProbeResult(id=id, device=id, status="failed" if data else "ok", data=data),))


BAD = {
    "a pair": probe("peer:0-1", wrong=["cuda:0 to cuda:1: 262144 of 262144 elements are zero"]),
    "within the probe of a device": probe("cuda:0", wrong=["copy from cuda:1 to cuda:0: 4 of 262144 words differ"]),
    "pasted: the IOMMU refuses": (
        "nvidia 0000:41:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0020 address=0xb0000000 flags=0x0020]\n"
    ),
}
GOOD = {"right": probe("peer:0-1"), "not probed": machine}

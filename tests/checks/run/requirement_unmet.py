from dataclasses import replace

from doctor.model.facts import ABSENT, ProbeResult
from tests.example_case import Case
from tests.examples import device, linux, mac, with_nvidia, with_torch

L4 = "NVIDIA L4"
CPU = with_torch(linux(), "2.6.0+cpu", cuda_available=False, devices=())
ONE = with_torch(
    with_nvidia(linux(), L4, driver="550.54.15"), "2.6.0+cu124", cuda_available=True,
    devices=(device("cuda", L4, capability="8.9", memory_bytes=23_600_000_000),),
)  # fmt: skip
MAC = with_torch(mac(), "2.6.0", mps_built=True, mps_available=True, devices=(device("mps", "Apple M1 Pro"),))
CLOSED = with_torch(
    with_nvidia(linux(root=False), L4, nodes_accessible=False, cuinit=100), "2.6.0+cu124", cuda_available=False,
    devices=(),
)  # fmt: skip
CRASHED = replace(ONE, probes=(ProbeResult(id="cuda:0", device="cuda:0", status="crashed", stage="allocate", signal=11),))


def requiring(facts, *demands: str):
    return replace(facts, required=demands)


BAD = {
    "a GPU on a machine without one": requiring(CPU, "cuda>=1"),
    "a newer torch": requiring(ONE, "torch>=2.7"),
    "an older torch": requiring(ONE, "torch<2.6"),
    "one of several": requiring(ONE, "cuda>=1", "driver>=570", "torch>=2.5"),
    "more GPUs": requiring(ONE, "cuda>=2"),
    "NVIDIA's on a Mac": requiring(MAC, "cuda>=1"),
    "a compute capability": requiring(ONE, "capability>=9.0"),
    "memory, with a unit": requiring(ONE, "memory>=24GB"),
    "without a unit it is GB": requiring(ONE, "memory>=24"),
    "a Python": requiring(ONE, "python>=3.13"),
    "a driver where there is none": requiring(replace(CPU, nvidia=replace(CPU.nvidia, driver=ABSENT)), "driver>=550"),
    "torch where there is none": Case(requiring(replace(CPU, torch=ABSENT), "torch>=2.5"), first="torch-missing"),
    "a GPU whose probe crashed": Case(requiring(CRASHED, "cuda>=1"), first="device-crashes"),
    "because of a fault that keeps the GPU from torch": Case(
        requiring(CLOSED, "cuda>=1"), first="gpu-permission-denied"
    ),
    "what nobody knows is a note": requiring(ONE, "speed>=0.8"),
}
GOOD = {
    "nothing is required": ONE,
    "all of it": requiring(ONE, "cuda>=1", "cuda==1", "driver>=550", "torch>=2.5,<3", "python>=3.10", "torch-cuda>=12"),
    "memory": requiring(ONE, "memory>=20GB", "memory>=20GiB", "memory<24GB"),
    "a Mac's GPU": requiring(MAC, "mps>=1", "gpu>=1", "cuda==0"),
    "a local version": requiring(CPU, "torch==2.6.0", "torch~=2.5"),
    "no GPU is wanted": requiring(CPU, "gpu==0"),
}

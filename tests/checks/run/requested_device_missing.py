from dataclasses import replace

from tests.example_case import Case
from tests.examples import device, linux, mac, with_nvidia, with_torch

L4 = "NVIDIA L4"
CPU = with_torch(linux(), "2.6.0+cpu", cuda_available=False, devices=())
ONE = with_torch(
    with_nvidia(linux(), L4), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", L4, capability="8.9"),)
)
MAC = with_torch(mac(), "2.6.0", mps_built=True, mps_available=True, devices=(device("mps", "Apple M1 Pro"),))


def asked(facts, *names: str):
    return replace(facts, asked_devices=names)


BAD = {
    "cuda on a machine without a GPU": asked(CPU, "cuda"),
    "a GPU with a number that is not there": asked(ONE, "cuda:7"),
    "mps on Linux": asked(ONE, "mps"),
    "cuda on a Mac": asked(MAC, "cuda"),
    "xpu, and another that is there": asked(ONE, "cuda:0", "xpu"),
    "because of a fault that keeps the GPU from torch": Case(
        asked(with_torch(with_nvidia(linux(root=False), L4, nodes_accessible=False, cuinit=100), "2.6.0+cu124",
                         cuda_available=False, devices=()), "cuda"),
        first="gpu-permission-denied",
    ),
}  # fmt: skip
GOOD = {
    "nothing was asked for": CPU,
    "all GPUs": asked(ONE, "cuda"),
    "the one": asked(ONE, "cuda:0", "cpu"),
    "a Mac's": asked(MAC, "mps"),
    "the CPU": asked(CPU, "cpu"),
    "torch does not import": asked(replace(CPU, torch=replace(CPU.torch, imports=False, devices=None)), "cuda"),
}

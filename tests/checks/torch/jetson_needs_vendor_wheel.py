from dataclasses import replace

from tests.examples import linux, with_torch


def jetson(l4t: str):
    facts = linux(python="3.10.12", architecture="arm64")
    return replace(facts, host=replace(facts.host, jetson=l4t))


BAD = {
    "a CPU wheel on Orin": with_torch(jetson("36.4.0"), "2.9.0+cpu", cuda_available=False),
    "the package index's wheel on Xavier": with_torch(jetson("35.4.1"), "2.1.0", cuda_available=False),
    "a server CUDA build on Orin": with_torch(
        jetson("36.4.0"), "2.9.0+cu126", cuda_available=False, arch_list=("sm_80", "sm_90")
    ),
}
GOOD = {
    "NVIDIA's own": with_torch(jetson("36.4.0"), "2.5.0a0+872d972e41.nv24.8", cuda_available=True),
    "Thor runs server wheels": with_torch(jetson("38.2.0"), "2.9.1+cu130", cuda_available=True),
    "an ARM server": with_torch(linux(architecture="arm64"), "2.9.0+cpu", cuda_available=False),
}

"""Which devices are probed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.model.facts import ABSENT, Facts, Torch, TorchDevice
from doctor.probes import Wanted, wanted_probes
from tests.examples import linux, with_nvidia

CUDA = Torch(version="2.6.0+cu124", cuda="12.4")


def names(facts: Facts, *devices: str) -> list[str]:
    return [wanted.device for wanted in wanted_probes(facts, devices)]


def gpus(torch: Torch | None = CUDA, count: int = 2, **nvidia: object) -> Facts:
    return replace(with_nvidia(linux(), *["NVIDIA GeForce RTX 4090"] * count, **nvidia), torch=torch)


@pytest.mark.parametrize("torch", [None, ABSENT, Torch(version="2.6.0", imports=False)])
def test_no_torch_no_probe(torch: Torch | None) -> None:
    assert wanted_probes(gpus(torch)) == ()


def test_torchs_own_list_decides() -> None:
    seen = (("cuda", 0), ("mps", 0), ("xpu", 1))
    devices = tuple(TorchDevice(backend=backend, index=index) for backend, index in seen)
    assert names(gpus(replace(CUDA, imports=True, devices=devices))) == ["cpu", "cuda:0", "mps", "xpu:1"]


def test_a_gpu_that_torch_does_not_see_is_not_probed() -> None:
    assert wanted_probes(gpus(replace(CUDA, imports=True, devices=()))) == (Wanted("cpu"),)


def test_static_facts_promise_nvidia_gpus() -> None:
    assert names(gpus()) == ["cpu", "cuda:0", "cuda:1"]


@pytest.mark.parametrize(
    "facts",
    [
        gpus(driver=ABSENT),
        gpus(driver=None),
        gpus(Torch(version="2.6.0+cpu", cuda=ABSENT)),
        gpus(Torch(version="2.6.0", cuda=None)),
        replace(gpus(), environ={"CUDA_VISIBLE_DEVICES": "1"}),
        replace(gpus(), environ=None),
        gpus(gpus_seen=None),
    ],
)
def test_static_facts_promise_nothing_where_it_is_not_certain(facts: Facts) -> None:
    assert names(facts) == ["cpu"]


@pytest.mark.parametrize(
    ("limit", "left"),
    [
        (("cpu",), ["cpu"]),
        (("cuda",), ["cuda:0", "cuda:1"]),
        (("CUDA:1",), ["cuda:1"]),
        (("cpu", "cuda:0"), ["cpu", "cuda:0"]),
        (("all",), ["cpu", "cuda:0", "cuda:1"]),
        (("mps",), []),
    ],
)
def test_the_users_limit(limit: tuple[str, ...], left: list[str]) -> None:
    assert names(gpus(), *limit) == left

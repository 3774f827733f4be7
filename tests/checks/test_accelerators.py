"""Which accelerators are there, and whether torch uses each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks._accelerators import accelerators
from doctor.model.facts import ABSENT, Facts, Gpu, Torch
from tests.examples import device, linux, mac, proven, with_amd, with_nvidia, with_torch

RTX, H200 = "NVIDIA GeForce RTX 4090", "NVIDIA H200"


def states(facts: Facts) -> list[str]:
    return [a.state for a in accelerators(facts)]


TWO = with_nvidia(linux(), H200, H200)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (linux(), []),
        (with_nvidia(linux(), RTX), ["unknown"]),
        (replace(with_nvidia(linux(), RTX), torch=ABSENT), ["unused"]),
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124"), ["unknown"]),
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cpu"), ["unused"]),  # the build has no code for it
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=False), ["unused"]),
        (with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True), ["used"]),
        (with_torch(TWO, "2.9.0+cu130", cuda_available=True), ["used", "used"]),  # a text that lists no devices
        (
            with_torch(TWO, "2.9.0+cu130", cuda_available=True, devices=(device("cuda", H200),)),
            ["used", "unused"],
        ),
        (mac(), ["unknown"]),
        (with_torch(mac(), "2.4.0", mps_available=False), ["unused"]),
        (mac(chip="Intel Core i7"), []),
        (with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.6.0+rocm6.2", cuda_available=True), ["used"]),
        (with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.6.0+cu124", cuda_available=False), ["unused"]),
    ],
)
def test_states(facts: Facts, expected: list[str]) -> None:
    assert states(facts) == expected


def test_a_passed_probe_proves() -> None:
    facts = with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", RTX),))
    (one,) = accelerators(proven(facts, "cuda:0"))
    assert (one.state, one.device, one.label) == ("proven", "cuda:0", RTX)


def test_one_build_serves_one_vendor() -> None:
    facts = with_torch(
        with_amd(with_nvidia(linux(), RTX), "AMD Radeon RX 7900 XTX"), "2.6.0+cu124", cuda_available=True
    )
    assert {a.vendor: a.state for a in accelerators(facts)} == {"nvidia": "used", "amd": "aside"}


def test_the_processors_own_gpu_beside_a_card_is_missed_by_nobody() -> None:
    facts = with_torch(
        with_amd(linux(), "AMD Radeon RX 7900 XTX"),
        "2.6.0+rocm6.2",
        cuda_available=True,
        devices=(device("cuda", "AMD Radeon RX 7900 XTX"),),
    )
    facts = replace(facts, gpus=(*facts.gpus, Gpu(vendor="amd", name="AMD Radeon Graphics", integrated=True)))
    assert states(facts) == ["used"]


def test_a_gpu_given_to_a_virtual_machine_is_not_here() -> None:
    assert states(replace(linux(), gpus=(Gpu(vendor="nvidia", name=RTX, driver="vfio-pci"),))) == []


def test_a_driver_that_counts_gpus_stands_for_a_list() -> None:
    facts = replace(with_nvidia(linux(), gpus_seen=2), gpus=None, torch=Torch(cuda="12.4", cuda_available=False))
    assert states(facts) == ["unused", "unused"]


def test_a_masked_node_stands_for_a_gpu_that_only_it_tells_of() -> None:
    nodes = ("/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl")
    facts = with_torch(
        with_nvidia(linux(container="docker"), H200, device_nodes=nodes, false_nodes=("/dev/nvidia1",)),
        "2.9.0+cu130", cuda_available=True, devices=(device("cuda", H200),),
    )  # fmt: skip
    assert states(facts) == ["used", "unused"]
    all_listed = with_nvidia(linux(), H200, H200, device_nodes=nodes, false_nodes=("/dev/nvidia1",))
    assert len(accelerators(all_listed)) == 2

"""Every recorded machine, replayed through the live collectors."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from doctor.checks.runner import judge
from doctor.facts import collect
from doctor.facts.system import System
from doctor.facts.target import find_target
from doctor.model.facts import ABSENT, Facts

FOLDER = Path(__file__).parent
MACHINES = sorted(path.name for path in FOLDER.iterdir() if (path / "machine.json").exists())
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the recorded tools are shell scripts")


@cache
def facts_of(name: str) -> Facts:
    system = System.of_folder(str(FOLDER / name))
    return collect.start(system, find_target(system)).finish()


def nvidia_names(facts: Facts) -> list[str | None]:
    return [gpu.name for gpu in facts.gpus or () if gpu.vendor == "nvidia"]


def test_there_are_enough_machines() -> None:
    assert len(MACHINES) >= 9


@pytest.mark.parametrize("name", MACHINES)
def test_every_machine_has_a_python_that_answers(name: str) -> None:
    facts = facts_of(name)
    assert facts.interpreter.start_failure is ABSENT
    assert facts.torch
    assert facts.torch.version
    assert facts.host.system in ("linux", "darwin", "windows")
    assert facts.gpus, "each of these machines has a GPU"


@pytest.mark.parametrize("name", MACHINES)
def test_gaps_and_values_exclude_each_other(name: str) -> None:
    facts = facts_of(name)
    for gap in facts.gaps:
        part, _, field = gap.fact.partition(".")
        value = getattr(facts, part)
        assert (getattr(value, field) if field and value else None) is None or not field, gap
        assert gap.detail, gap
    assert not [fact for fact in facts.origins if fact.startswith("gpus.")]


@pytest.mark.parametrize(
    ("name", "faults"),
    [
        ("container-without-gpu", ["container-without-gpu"]),
        ("linux-rocm-7900xtx", []),
        ("linux-rtx4090-driver-470", ["nvidia-driver-too-old"]),
        ("linux-rtx5090-driver-610", []),
        ("linux-two-gpus", []),
        ("macos-12.2", ["macos-too-old"]),
        ("macos-arm64", []),
        ("macos-intel", []),
        ("macos-m1-torch-1.11", ["torch-too-old"]),
        ("macos-rosetta", ["python-under-rosetta"]),
        ("windows-rtx3060-cpu-build", ["torch-cpu-only"]),
        ("wsl2-rtx3080", []),
    ],
)
def test_the_root_cause_from_static_facts(name: str, faults: list[str]) -> None:
    _, findings = judge(facts_of(name))
    assert [f.id for f in findings if f.severity == "fault" and f.root] == faults


def test_old_header_and_a_driver_that_does_not_know_compute_cap() -> None:
    facts = facts_of("linux-rtx4090-driver-470")
    assert facts.nvidia.driver == facts.nvidia.library == facts.nvidia.kernel_module == "470.57.02"
    assert facts.nvidia.driver_cuda == "11.4"
    assert nvidia_names(facts) == ["NVIDIA GeForce RTX 4090"]
    (gpu,) = facts.gpus or ()
    assert (gpu.pci_id, gpu.pci_address, gpu.driver, gpu.capability) == ("10de:2684", "0000:01:00.0", "nvidia", "8.9")
    assert facts.nvidia.processes == 1
    assert facts.origins["nvidia.driver"].source == "/proc/driver/nvidia/version"
    assert facts.origins["nvidia.driver_cuda"].source == "nvidia-smi"
    assert facts.nvidia.xids is None
    assert {gap.fact: gap.reason for gap in facts.gaps}["nvidia.xids"] == "permission"


def test_new_header() -> None:
    facts = facts_of("linux-rtx5090-driver-610")
    assert (facts.nvidia.driver, facts.nvidia.driver_cuda, facts.nvidia.cuinit) == ("610.43.02", "13.3", 0)
    assert facts.nvidia.smi_version == "610.43.02"
    assert [gpu.capability for gpu in facts.gpus or ()] == ["12.0"]
    assert facts.interpreter.manager == "uv"


def test_two_gpus() -> None:
    facts = facts_of("linux-two-gpus")
    assert [(gpu.name, gpu.capability) for gpu in facts.gpus or ()] == [
        ("NVIDIA GeForce RTX 3090", "8.6"), ("NVIDIA GeForce GTX 1080", "6.1"),
    ]  # fmt: skip
    assert facts.nvidia.gpus_seen == 2
    assert facts.nvidia.compute_mode == "Exclusive_Process"
    assert facts.nvidia.xids == (13,)
    assert facts.environ == {"CUDA_VISIBLE_DEVICES": "0,1"}


def test_rocm() -> None:
    facts = facts_of("linux-rocm-7900xtx")
    (gpu,) = facts.gpus or ()
    assert (gpu.vendor, gpu.name, gpu.gfx, gpu.driver) == ("amd", "Radeon RX 7900 XTX", "gfx1100", "amdgpu")
    assert gpu.memory_bytes == 25149440 << 10
    assert facts.nvidia.driver is ABSENT
    assert (facts.amd.kernel_driver, facts.amd.kfd_accessible, facts.amd.render_accessible) == (True, True, True)
    assert facts.amd.rocm == "6.2.4"
    assert facts.torch
    assert (facts.torch.cuda, facts.torch.hip) == (ABSENT, "6.2.41134-65d174c3e")


def test_wsl2_has_the_drivers_version_of_windows() -> None:
    facts = facts_of("wsl2-rtx3080")
    assert (facts.host.wsl, facts.host.dxg) == (2, True)
    assert (facts.nvidia.driver, facts.nvidia.smi_version) == ("552.22", "550.76.01")
    assert facts.nvidia.kernel_module is ABSENT
    assert facts.nvidia.libcuda == "/usr/lib/wsl/lib/libcuda.so.1"
    assert nvidia_names(facts) == ["NVIDIA GeForce RTX 3080"]


def test_container_without_gpu_sees_the_hosts_driver_but_no_device() -> None:
    facts = facts_of("container-without-gpu")
    assert (facts.host.container, facts.host.container_gpus) == ("docker", False)
    assert facts.nvidia.driver == "550.54.15"
    assert facts.nvidia.libcuda is ABSENT
    assert facts.nvidia.device_nodes == ()
    assert [gpu.pci_id for gpu in facts.gpus or ()] == ["10de:2204"]
    assert (facts.host.cgroup_cpus, facts.host.cgroup_memory_bytes) == (4.0, 8 << 30)
    assert facts.host.shm_bytes == 64 << 20


@pytest.mark.parametrize(
    ("name", "macos", "hardware", "own", "translated", "torch"),
    [
        ("macos-arm64", "14.5", "arm64", "arm64", False, "2.6.0"),
        ("macos-rosetta", "14.5", "arm64", "x86_64", True, "2.2.2"),
        ("macos-12.2", "12.2", "arm64", "arm64", False, "2.1.0"),
        ("macos-intel", "13.6.7", "x86_64", "x86_64", False, "2.2.2"),
        ("macos-m1-torch-1.11", "14.5", "arm64", "arm64", False, "1.11.0"),
    ],
)
def test_macs(name: str, macos: str, hardware: str, own: str, translated: bool, torch: str) -> None:
    facts = facts_of(name)
    assert (facts.host.macos, facts.host.architecture) == (macos, hardware)
    assert (facts.interpreter.architecture, facts.interpreter.translated) == (own, translated)
    assert facts.torch
    assert facts.torch.version == torch
    assert facts.nvidia.driver is ABSENT
    (gpu,) = facts.gpus or ()
    assert gpu.vendor == ("apple" if hardware == "arm64" else "intel")
    assert facts.metal.device == gpu.name
    assert facts.metal.gpu_cores == (16 if hardware == "arm64" else None)
    assert facts.host.memory_bytes == 16 << 30


def test_windows() -> None:
    facts = facts_of("windows-rtx3060-cpu-build")
    assert (facts.host.os_name, facts.host.windows_build) == ("Windows 11 Pro", 22631)
    assert facts.host.architecture == facts.interpreter.architecture == "x86_64"
    assert nvidia_names(facts) == ["NVIDIA GeForce RTX 3060"]
    assert facts.nvidia.driver == "552.22"
    assert facts.torch
    assert facts.torch.cuda is ABSENT
    assert facts.host.memory_bytes == 33354052 << 10

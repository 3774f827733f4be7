import pytest

from doctor.model.facts import ABSENT
from tests.evidence.tickets import OLD_DRIVER, facts, patterns


def test_a_table() -> None:
    seen = facts(OLD_DRIVER)
    assert (seen.nvidia.driver, seen.nvidia.driver_cuda, seen.nvidia.smi_error, seen.nvidia.gpus_seen) == (
        "470.86",
        "11.4",
        ABSENT,
        1,
    )
    assert (seen.gpus[0].vendor, seen.gpus[0].name, seen.gpus[0].memory_bytes) == ("nvidia", None, 12053 << 20)
    assert seen.torch.version == "2.1.0+cu121"


@pytest.mark.parametrize(("text", "driver"), [
    ("| NVIDIA-SMI 435.21      Driver Version: 435.21         CUDA Version: 10.1    |", "435.21"),
    ("| NVIDIA-SMI 610.12.01    KMD Version: 610.12.01    CUDA UMD Version: 14.0 |", "610.12.01"),
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31", "550.90.07"),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build", "575.57.08"),
    ("CUDA Driver Version: 580.95.05", "580.95.05"),
    ("$ nvidia-smi --query-gpu=name,driver_version --format=csv,noheader\nNVIDIA L4, 535.104.05\n", "535.104.05"),
    ("name, driver_version, memory.total [MiB]\nTesla T4, 525.60.13, 15360 MiB\n", "525.60.13"),
    ("nvidia-driver-latest-dkms-545.23.08-1.el7.x86_64", "545.23.08"),
])  # fmt: skip
def test_drivers(text: str, driver: str) -> None:
    assert facts(text).nvidia.driver == driver


def test_the_tool_of_another_release_means_wsl() -> None:
    seen = facts("| NVIDIA-SMI 525.60.13    Driver Version: 522.25       CUDA Version: 11.8     |\n")
    assert (seen.nvidia.driver, seen.nvidia.smi_version, seen.host.wsl) == ("522.25", "525.60.13", 2)


def test_an_error_leaves_the_driver_unknown() -> None:
    seen = facts("$ nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n")
    assert seen.nvidia.driver is None
    assert seen.nvidia.smi_error.startswith("NVIDIA-SMI has failed")


def test_gpus_by_torchs_warnings() -> None:
    seen = facts(
        "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_90.\n"
    )
    assert [(g.name, g.capability) for g in seen.gpus] == [("NVIDIA GeForce RTX 5090", "12.0")]
    assert seen.torch.arch_list == ("sm_50", "sm_90")
    seen = facts(
        "Found GPU1 Tesla V100-SXM2-32GB which is of compute capability (CC) 7.0.\n- 7.5 which supports hardware CC >"
        "=7.5,<8.0\n- 12.0 which supports hardware CC >=12.0,<13.0\n"
    )
    assert (seen.gpus[0].capability, seen.torch.arch_list) == ("7.0", ("sm_75", "sm_120"))


def test_gpus_on_the_bus() -> None:
    seen = facts("00:1e.0 3D controller: NVIDIA Corporation Device 2237 (rev a1)\n\tKernel driver in use: nouveau\n")
    assert (seen.gpus[0].vendor, seen.gpus[0].name, seen.gpus[0].pci_id, seen.nvidia.nouveau) == (
        "nvidia",
        None,
        "10de:2237",
        True,
    )
    assert (
        facts(
            "       product: GP107 [GeForce GTX 1050 Ti]\n       vendor: NVIDIA Corporation\n       configuration: dr"
            "iver=nvidia latency=0\n"
        )
        .gpus[0]
        .name
        == "GeForce GTX 1050 Ti"
    )
    assert (
        facts(
            "VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Vega 10 [Radeon Instinct MI25] (prog-i"
            "f 00 [VGA controller])\n"
        )
        .gpus[0]
        .name
        == "Radeon Instinct MI25"
    )


def test_modules_and_kernel_log() -> None:
    assert (
        facts(
            "$ lsmod\nModule                  Size  Used by\ndrm 425984 0\nveth 16384 0\ni2c_core 77824 1 drm\nbackli"
            "ght 16384 0\n"
        ).nvidia.kernel_module
        is ABSENT
    )
    assert facts("[12.3] NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.\n").nvidia.xids == (79,)


def test_the_toolkit_is_not_the_driver() -> None:
    seen = facts("$ nvcc --version\nCuda compilation tools, release 10.1, V10.1.243\n")
    assert (seen.nvidia.toolkit, seen.nvidia.driver) == ("10.1.243", None)


def test_amd() -> None:
    seen = facts("$ rocminfo\nROCk module is loaded\nUnable to open /dev/kfd read-write: Permission denied\n")
    assert (seen.amd.kernel_driver, seen.amd.kfd, seen.amd.kfd_accessible) == (True, True, False)
    assert facts("ROCk module is NOT loaded, possibly no GPU devices\n").amd.kernel_driver is False
    seen = facts("  Name:                    gfx1103\n  Marketing Name:          AMD Radeon 780M\n")
    assert [(g.gfx, g.name) for g in seen.gpus] == [("gfx1103", "AMD Radeon 780M")]


def test_containers() -> None:
    seen = facts("$ docker run -it --rm app\nWARNING: The NVIDIA Driver was not detected.\n")
    assert (seen.host.container, seen.host.container_gpus) == ("docker", False)
    assert "container-run" in patterns("$ docker run --gpus all x\n")
    assert facts("$ docker run --gpus all x\n").host.container_gpus is True

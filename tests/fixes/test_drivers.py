"""Drivers: whose commands, and where there are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fixes.plan import plan, script
from doctor.model.facts import ABSENT, Facts, Gpu
from doctor.model.fix import Fix, Plan
from tests.examples import linux, windows, with_amd, with_nvidia
from tests.fixes.situations import finding

UBUNTU = {"os_id": "ubuntu", "os_version": "22.04"}
GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"


def on(system: dict[str, object], gpu: str = "NVIDIA GeForce RTX 4090") -> Facts:
    return with_nvidia(linux(**system), gpu, driver="440.33.01")  # type: ignore[arg-type]


def fix_of(facts: Facts, minimum: str = "525.60.13", action: str = "upgrade-driver", **details: str) -> Fix:
    wish = (action, {**({"minimum": minimum} if minimum else {}), **details})
    (fix,) = plan([finding("nvidia-driver-too-old", wish, layer="driver")], facts).fixes
    return fix


def with_intel(facts: Facts) -> Facts:
    return replace(facts, gpus=(Gpu(vendor="intel", name="Intel(R) Arc(TM) A770 Graphics"),))


def commands(fix: Fix) -> list[str]:
    return [" ".join(step.argv) for step in fix.steps if step.argv]


@pytest.mark.parametrize(
    ("system", "gpu", "minimum", "expected"),
    [
        (UBUNTU, "NVIDIA GeForce RTX 4090", "525.60.13", ["sudo ubuntu-drivers install nvidia:580"]),
        (UBUNTU, "NVIDIA GeForce RTX 5090", "570", ["sudo ubuntu-drivers install nvidia:580-open"]),
        (UBUNTU, "NVIDIA GeForce GTX 1080", "525.60.13", ["sudo ubuntu-drivers install nvidia:580"]),
        (UBUNTU, "Tesla K80", "450.80.02", ["sudo ubuntu-drivers install nvidia:470"]),
        (UBUNTU, "NVIDIA GeForce RTX 4090", "610", []),
        ({"os_id": "ubuntu", "os_version": "20.04"}, "Tesla T4", "525.60.13", ["sudo ubuntu-drivers install"]),
        ({"os_id": "ubuntu", "os_version": "20.04"}, "Tesla T4", "580", []),
        ({"os_id": "ubuntu", "os_version": "18.04"}, "Tesla T4", "450.80.02", []),
        ({"os_id": "debian", "os_version": "12"}, "Tesla T4", "525.60.13",
         ["sudo apt install linux-headers-amd64 nvidia-driver firmware-misc-nonfree"]),
        ({"os_id": "debian", "os_version": "12"}, "Tesla T4", "580", []),
        ({"os_id": "debian", "os_version": "13"}, "NVIDIA GeForce RTX 5090", "550", []),
        ({"os_id": "fedora", "os_version": "43"}, "NVIDIA GeForce RTX 5090", "580",
         ["sudo dnf install akmod-nvidia xorg-x11-drv-nvidia-cuda"]),
        ({"os_id": "fedora", "os_version": "43"}, "NVIDIA GeForce GTX 1080", "525.60.13",
         ["sudo dnf install akmod-nvidia-580xx xorg-x11-drv-nvidia-580xx-cuda"]),
        ({"os_id": "rocky", "os_like": ("rhel", "centos", "fedora"), "os_version": "9.4"}, "NVIDIA H100", "580",
         ["sudo dnf module enable nvidia-driver:open-dkms", "sudo dnf install nvidia-open"]),
        ({"os_id": "amzn", "os_like": ("fedora",), "os_version": "2023"}, "Tesla T4", "580",
         ["sudo dnf module enable nvidia-driver:open-dkms", "sudo dnf install nvidia-open"]),
        ({"os_id": "amzn", "os_like": ("centos", "rhel", "fedora"), "os_version": "2"}, "Tesla T4", "525", []),
        ({"os_id": "arch", "os_version": None}, "NVIDIA GeForce RTX 4090", "580",
         ["sudo pacman -S nvidia-open nvidia-utils"]),
        ({"os_id": "arch", "os_version": None}, "NVIDIA GeForce GTX 1080", "525", []),
        ({"os_id": "opensuse-leap", "os_like": ("suse",), "os_version": "15.6"}, "Tesla T4", "525", []),
        ({"os_id": "nixos"}, "Tesla T4", "525", []),
        ({"os_id": None, "os_version": None}, "Tesla T4", "525", []),
    ],
)  # fmt: skip
def test_the_distributions_driver_where_it_serves_the_gpu_and_is_new_enough(
    system: dict[str, object], gpu: str, minimum: str, expected: list[str]
) -> None:
    fix = fix_of(on(system, gpu), minimum)
    assert commands(fix) == expected
    assert expected or GUIDE in fix.steps[0].text
    assert fix.steps[-1].needs_reboot


def test_a_gpu_that_the_tables_do_not_know_gets_what_ubuntu_recommends() -> None:
    assert commands(fix_of(on(UBUNTU, "NVIDIA Graphics Device"))) == ["sudo ubuntu-drivers install"]
    assert commands(fix_of(on({"os_id": "arch"}, "NVIDIA Graphics Device"))) == []


def test_all_gpus_count() -> None:
    facts = on({"os_id": "fedora", "os_version": "43"})
    old = with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="470.256.02").gpus
    assert commands(fix_of(replace(facts, gpus=(*(facts.gpus or ()), *(old or ()))))) == []


def test_debian_says_what_must_be_enabled_first_and_has_nothing_for_arm() -> None:
    debian = {"os_id": "debian", "os_version": "12"}
    assert "contrib, non-free" in fix_of(on(debian)).steps[0].text
    assert commands(fix_of(on({**debian, "architecture": "arm64"}))) == []


def test_blackwell_needs_the_open_modules_and_is_told_so() -> None:
    for system in (UBUNTU, {"os_id": "opensuse-leap"}):
        assert "open kernel modules" in fix_of(on(system, "NVIDIA GeForce RTX 5090"), "570").steps[0].text
        assert "open kernel modules" not in fix_of(on(system)).steps[0].text


def test_in_a_cloud_its_own_page_is_named() -> None:
    assert "docs.aws.amazon.com" in fix_of(on({**UBUNTU, "virtual_machine": "ec2"})).steps[0].text


@pytest.mark.parametrize(
    ("system", "words", "reboot"),
    [
        ({"wsl": 2}, ("in Windows, never the Linux driver in WSL", "wsl --shutdown"), False),
        ({"container": "docker"}, ("on the host, not in the container",), True),
        ({"container": "kubernetes"}, ("on the node, not in the container",), True),
        ({"jetson": "36.4.0", "architecture": "arm64"}, ("it comes with JetPack",), True),
    ],
)
def test_where_the_driver_is_not_this_systems(system: dict[str, object], words: tuple[str, ...], reboot: bool) -> None:
    fix = fix_of(on({**UBUNTU, **system}))
    assert commands(fix) == []
    assert all(word in fix.steps[0].text for word in words)
    assert any(step.needs_reboot for step in fix.steps) is reboot
    assert all(line.startswith("#") for line in script(Plan(fixes=(fix,))).splitlines())


def test_windows() -> None:
    fix = fix_of(with_nvidia(windows(), "NVIDIA GeForce RTX 4090", driver="470.05"))
    assert fix.steps[0].text == (
        "Update the NVIDIA driver to 525.60.13 or newer: https://www.nvidia.com/en-us/drivers/"
    )


def test_root_needs_no_sudo() -> None:
    fix = fix_of(on({**UBUNTU, "root": True}))
    assert commands(fix) == ["ubuntu-drivers install nvidia:580"]
    assert fix.steps[0].needs_root


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (UBUNTU, ["sudo apt install amdgpu-dkms"]),
        ({"os_id": "rhel", "os_version": "9.4"}, ["sudo dnf install amdgpu-dkms"]),
        ({"os_id": "arch"}, []),
        ({"os_id": "debian", "os_version": "12"}, []),
        ({**UBUNTU, "wsl": 2}, []),
        ({**UBUNTU, "container": "docker"}, []),
    ],
)
def test_amd(system: dict[str, object], expected: list[str]) -> None:
    facts = with_amd(linux(**system), "AMD Radeon RX 7900 XTX")  # type: ignore[arg-type]
    fix = fix_of(facts, "", "install-driver", vendor="amd")
    assert commands(fix) == expected
    assert expected or "AMD" in fix.steps[0].text or "amdgpu" in fix.steps[0].text


def test_amd_on_wsl_ends_with_a_restart_of_wsl() -> None:
    fix = fix_of(with_amd(linux(wsl=2), "AMD Radeon RX 7900 XTX"), "", "install-driver", vendor="amd")
    assert "wsl --shutdown" in fix.steps[-1].text
    assert not fix.steps[-1].needs_reboot


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ({**UBUNTU, "kernel": "6.8.0-51-generic"}, "sudo apt install linux-headers-6.8.0-51-generic"),
        ({"os_id": "fedora", "os_version": "43", "kernel": "6.17.1-300.fc43.x86_64"},
         "sudo dnf install kernel-devel-6.17.1-300.fc43.x86_64"),
    ],
)  # fmt: skip
def test_a_driver_is_installed_again_with_the_headers_of_the_kernel(system: dict[str, object], expected: str) -> None:
    assert commands(fix_of(on(system), "", "install-driver", headers="yes"))[0] == expected
    for unknown in ({**UBUNTU}, {**UBUNTU, "kernel": "6.8; rm -rf /"}, {"os_id": "arch", "kernel": "6.17.1-arch1-1"}):
        assert "uname -r" in fix_of(on(unknown), "", "install-driver", headers="yes").steps[0].text


def test_an_unknown_distribution_may_be_ubuntu() -> None:
    text = fix_of(on({"os_id": None, "os_version": None})).steps[0].text
    assert "on Ubuntu with «sudo ubuntu-drivers install», elsewhere from the distribution's packages" in text
    assert "ubuntu" not in fix_of(on({"os_id": "opensuse-leap"})).steps[0].text.lower()


@pytest.mark.parametrize(
    ("version", "expected"),
    [("24.04", ["sudo apt install libze1 libze-intel-gpu1 intel-opencl-icd"]), ("22.04", [])],
)
def test_intel(version: str, expected: list[str]) -> None:
    facts = with_intel(linux(os_version=version))
    assert commands(fix_of(facts, "", "install-driver", vendor="intel")) == expected


def test_intel_on_windows_gets_the_page_for_windows() -> None:
    facts = with_intel(windows())
    assert "windows" in fix_of(facts, "", "install-driver", vendor="intel").steps[0].text


def test_no_driver_at_all() -> None:
    facts = with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver=ABSENT)
    fix = fix_of(facts, "580", "install-driver")
    assert fix.title == "Install the NVIDIA driver, 580 or newer."
    assert commands(fix) == ["sudo ubuntu-drivers install nvidia:580"]

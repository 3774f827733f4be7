"""Tools that describe a whole system, and the names of GPUs in them."""

import json

import pytest

from doctor.evidence import machine
from tests.evidence.tickets import facts

SYSTEMINFO = """\
C:\\> systeminfo
OS Name:                   Microsoft Windows 11 Pro
OS Version:                10.0.22631 N/A Build 22631
System Type:               ARM64-based PC
"""
PROFILER = """\
Graphics/Displays:
    AMD Radeon Pro 5500M:
      Chipset Model: AMD Radeon Pro 5500M
System Software Overview:
      System Version: macOS 14.4.1 (23E224)
      Kernel Version: Darwin 23.4.0
"""
CONDA = """\
    active env location : /home/u/miniconda3/envs/ml
          conda version : 24.1.2
         python version : 3.11.7.final.0
       virtual packages : __archspec=1=zen3
                          __cuda=12.4=0
                          __glibc=2.35=0
               platform : linux-aarch64
"""
CLINFO = """\
Number of platforms                               1
  Platform Name                                   Intel(R) OpenCL
  Device Name                                     12th Gen Intel(R) Core(TM) i7-1260P
  Device Name                                     Intel(R) Arc(TM) A770 Graphics
"""
SYCL = (
    "[level_zero:gpu][level_zero:0] Intel(R) oneAPI Unified Runtime over Level-Zero, Intel(R) Arc(TM) B580 Graphics "
    "20.1.0 [1.6.32567]\n"
    "[opencl:cpu][opencl:0] Intel(R) OpenCL, 12th Gen Intel(R) Core(TM) i7 OpenCL 3.0\n"
)


def names(text: str) -> list[tuple[str, str | None]]:
    return [(g.vendor, g.name) for g in facts(text).gpus or ()]


def test_systeminfo() -> None:
    host = facts(SYSTEMINFO).host
    assert (host.system, host.windows_build, host.architecture) == ("windows", 22631, "arm64")
    assert host.os_name == "Windows 11 Pro"


@pytest.mark.parametrize(
    "rows",
    [
        "DriverVersion   Name\n31.0.15.3667    NVIDIA GeForce RTX 3060\n",
        "DriverVersion=31.0.15.3667\nName=NVIDIA GeForce RTX 3060\n",
    ],
)
def test_windows_counts_nvidias_drivers_otherwise(rows: str) -> None:
    assert facts("C:\\> wmic path win32_VideoController get name,driverversion\n" + rows).nvidia.driver == "536.67"


def test_wsl_of_the_default_distribution() -> None:
    text = "PS C:\\> wsl -l -v\n  NAME      STATE     VERSION\n* Ubuntu    Running   1\n  Debian    Stopped   2\n"
    assert facts(text).host.wsl == 1


def test_system_profiler() -> None:
    found = facts(PROFILER)
    assert (found.host.macos, found.host.kernel, names(PROFILER)) == (
        "14.4.1",
        "23.4.0",
        [("amd", "AMD Radeon Pro 5500M")],
    )
    listed = json.dumps(
        {"SPDisplaysDataType": [{"sppci_model": "Apple M1", "spdisplays_vendor": "sppci_vendor_Apple"}]}
    )
    assert (facts(listed).host.system, names(listed)) == ("darwin", [("apple", "Apple M1")])


def test_conda_info() -> None:
    found = facts(CONDA)
    assert (found.interpreter.prefix, found.interpreter.architecture) == ("/home/u/miniconda3/envs/ml", "arm64")
    assert (found.nvidia.driver_cuda, found.host.libc_version, found.interpreter.version) == ("12.4", "2.35", None)


def test_intels_gpus_are_told_from_its_cpus_and_its_software() -> None:
    assert names(CLINFO) == [("intel", "Intel(R) Arc(TM) A770 Graphics")]
    assert names(SYCL) == [("intel", "Intel(R) Arc(TM) B580 Graphics")]


@pytest.mark.parametrize(
    ("name", "vendor"),
    [
        ("Intel(R) Arc(TM) A770 Graphics", "intel"),
        ("A100-SXM4-80GB", "nvidia"),
        ("AMD Instinct MI300X", "amd"),
        ("NVIDIA A10", "nvidia"),
        ("Apple M2", "apple"),
        ("ASPEED Graphics Family", None),
    ],
)
def test_vendor_by_name(name: str, vendor: str | None) -> None:
    assert machine.vendor_of(name) == vendor

"""Questions to the built-in tables, one line a fact."""

from __future__ import annotations

import pytest

from doctor.knowledge import lookup
from doctor.model.facts import ABSENT

NO_GPU = {"cuda": ABSENT, "hip": ABSENT, "xpu": ABSENT}


@pytest.mark.parametrize(
    ("version", "more", "release", "backend", "cuda"),
    [
        ("2.6.0+cu124", {}, "2.6.0", "cu124", "12.4"),
        ("2.6.0", {"cuda": "12.4", "hip": ABSENT}, "2.6.0", "cu124", "12.4"),
        ("2.6.0", {"platform": "linux_x86_64"}, "2.6.0", "cu124", "12.4"),
        ("2.6.0", {"platform": "win_amd64"}, "2.6.0", "cpu", None),
        ("2.6.0", {"platform": "macos_arm64"}, "2.6.0", "mps", None),
        ("2.6.0", {}, "2.6.0", None, None),
        ("2.6.0", NO_GPU, "2.6.0", "cpu", None),
        ("2.2.2", {"platform": "macos_x86_64"}, "2.2.2", "cpu", None),
        ("1.11.0", {"platform": "macos_arm64", **NO_GPU}, "1.11.0", "cpu", None),
        ("2.14.0", {"platform": "linux_aarch64"}, "2.14.0", "cu130", "13.0"),
        ("1.13.0.dev20220608", {"platform": "macos_arm64"}, "1.13.0.dev20220608", "mps", None),
        ("1.13.0.dev20220608", {"platform": "linux_x86_64"}, "1.13.0.dev20220608", None, None),
        ("2.1.0a0+gitabc", {"cuda": "12.1"}, "2.1.0a0", "cu121", "12.1"),
        ("2.1.0a0+41361538.nv23.06", {"platform": "linux_aarch64", "cuda": "11.4"}, "2.1.0a0", "jetson", "11.4"),
        ("2.6.0a0+df5bbc09d1.nv24.12", {"platform": "linux_x86_64", "cuda": "12.6"}, "2.6.0a0", "cu126", "12.6"),
        ("2.5.1.post302", NO_GPU, "2.5.1", "cpu", None),
        ("2.5.1.post302", {"cuda": "12.6"}, "2.5.1", "cu126", "12.6"),
        ("2.5.1.post302", {"platform": "linux_x86_64"}, "2.5.1", None, None),
        ("1.9.0+cu92", {}, "1.9.0", "cu92", "9.2"),
        ("2.0.1+cu117.with.pypi.cudnn", {}, "2.0.1", "cu117", "11.7"),
        ("2.3.1+cpu.cxx11.abi", {}, "2.3.1", "cpu", None),
        ("2.4.0+xpu", {}, "2.4.0", "xpu", None),
        ("2.16.0", {"platform": "linux_x86_64"}, "2.16.0", None, None),
        ("what", {}, "what", None, None),
    ],
)
def test_build(version: str, more: dict, release: str, backend: str | None, cuda: str | None) -> None:
    build = lookup.build_of(version, **more)
    assert (build.release, build.backend, build.cuda) == (release, backend, cuda)


@pytest.mark.parametrize(
    ("version", "hip", "backend", "rocm"),
    [
        ("2.9.0+rocm6.4", None, "rocm6.4", "6.4"),
        ("2.0.1+rocm5.4.2", None, "rocm5.4.2", "5.4.2"),
        ("2.9.1+rocm7.2.0.lw.git7e1940d4", None, "rocm7.2", "7.2"),
        ("2.9.1+rocmsdk20260116", "7.2.53211", "rocm7.2", "7.2"),
        ("2.14.1+rocm7.14", "7.14.60850", "rocm7.14", "7.14"),
    ],
)
def test_rocm_build(version: str, hip: str | None, backend: str, rocm: str) -> None:
    build = lookup.build_of(version, hip=hip)
    assert (build.backend, build.rocm) == (backend, rocm)


@pytest.mark.parametrize("version", ["2.9.0.dev20250801+cu128", "2.1.0a0+git1", "2.6.0rc1"])
def test_nightly(version: str) -> None:
    assert lookup.build_of(version).nightly


@pytest.mark.parametrize(
    ("system", "architecture", "platform"),
    [
        ("linux", "x86_64", "linux_x86_64"), ("linux", "arm64", "linux_aarch64"), ("darwin", "arm64", "macos_arm64"),
        ("darwin", "x86_64", "macos_x86_64"), ("windows", "x86_64", "win_amd64"), ("windows", "arm64", "win_arm64"),
        ("linux", "ppc64le", "linux_ppc64le"), (None, "x86_64", None), ("linux", None, None),
    ],
)  # fmt: skip
def test_platform(system: str | None, architecture: str | None, platform: str | None) -> None:
    assert lookup.platform_of(system, architecture) == platform


@pytest.mark.parametrize(
    ("as_of", "newest"),
    [
        (None, "2.15.0"), ("2022", "1.13.1"), ("2022-05", "1.11.0"), ("2022-10-27", "1.12.1"), ("2022-10-28", "1.13.0"),
        ("2021-03", "1.8.1"), ("2019", "1.8.0"), ("2030-01-01", "2.15.0"),
    ],
)  # fmt: skip
def test_newest_torch(as_of: str | None, newest: str) -> None:
    assert lookup.newest_torch(as_of) == newest


@pytest.mark.parametrize(
    ("platform", "python", "first", "last"),
    [
        ("linux_x86_64", "3.8", "1.8.0", "2.4.1"), ("macos_x86_64", None, "1.8.0", "2.2.2"),
        ("win_amd64", "3.15", "2.15.0", "2.15.0"), ("linux_x86_64", "3.13t", "2.7.0", "2.12.0"),
        ("linux_x86_64", "3.12.4", "2.2.0", "2.15.0"), (None, "3.9", "1.8.0", "2.8.0"),
        ("linux_x86_64", "3.10", "1.11.0", "2.14.1"),
    ],
)  # fmt: skip
def test_torch_versions(platform: str | None, python: str | None, first: str, last: str) -> None:
    versions = lookup.torch_versions(platform, python)
    assert (versions[0], versions[-1]) == (first, last)


def test_no_wheel_is_not_unknown() -> None:
    assert lookup.pythons_of("2.10.0", "linux_ppc64le") == ()
    assert lookup.pythons_of("2.3.0", "macos_x86_64") == ()
    assert lookup.pythons_of("2.16.0", "linux_x86_64") is None
    assert lookup.torch_versions("linux_x86_64", "3.16") == ()


@pytest.mark.parametrize(
    ("cuda", "system", "minimum"),
    [
        ("12.4", "linux", "525.60.13"), ("12.2", "linux", "525.60.13"), ("12.8", "windows", "528.33"),
        ("11.8", "linux", "450.80.02"), ("11.0", "linux", "450.36.06"), ("11.1", "windows", "452.39"),
        ("10.2", "linux", "440.33"), ("10.1", "windows", "418.96"), ("13.4", "linux", "580"), ("13.9", "windows", "580"),
        ("12.4.1", "linux", "525.60.13"),
    ],
)  # fmt: skip
def test_driver_need(cuda: str, system: str, minimum: str) -> None:
    need = lookup.driver_need(cuda, system)
    assert need is not None
    assert need.minimum == minimum
    assert need.source


@pytest.mark.parametrize(
    ("driver", "cuda", "system", "runs"),
    [
        ("525.60.13", "12.9", "linux", True), ("525.60.12", "12.0", "linux", False), ("470.256.02", "12.4", "linux", False),
        ("470.256.02", "11.8", "linux", True), ("450.80.02", "11.8", "linux", True), ("450.36.06", "11.0", "linux", True),
        ("450.36.06", "11.1", "linux", False), ("580.65.06", "13.2", "linux", True), ("580.00", "13.0", "linux", True),
        ("575.64", "13.0", "linux", False), ("528.33", "12.4", "windows", True), ("528.24", "12.4", "windows", False),
        ("440.33.01", "10.2", "linux", True), ("440.31", "10.2", "linux", False), ("999", "14.0", "linux", None),
        ("ERR!", "12.4", "linux", None),
    ],
)  # fmt: skip
def test_driver_runs(driver: str, cuda: str, system: str, runs: bool | None) -> None:
    assert lookup.driver_runs(driver, cuda, system) is runs


@pytest.mark.parametrize(
    ("driver", "system", "cuda"),
    [
        ("550.54.15", "linux", "12.4"), ("546.33", "windows", "12.3"), ("461.72", "windows", "11.2"),
        ("540.4.0", "linux", "12.6"), ("560.35.03", "linux", "12.6"), ("537.13", "windows", "12.2"),
        ("610.47", "windows", "13.3"), ("580.105.08", "linux", "13.0"), ("700.1", "linux", "13.4"), ("300.1", "linux", None),
    ],
)  # fmt: skip
def test_cuda_of_driver(driver: str, system: str, cuda: str | None) -> None:
    assert lookup.cuda_of_driver(driver, system) == cuda


@pytest.mark.parametrize(
    ("capability", "branches"),
    [
        ("3.5", (None, 470)), ("5.2", (None, 580)), ("6.1", (None, 580)), ("7.0", (None, 580)), ("7.5", (410, None)),
        ("8.0", (450, None)), ("8.6", (455, None)), ("8.9", (520, None)), ("9.0", (520, None)), ("10.0", (570, None)),
        ("12.0", (570, None)), ("8.7", (None, None)), ("7.2", (None, None)), ("14.0", (None, None)),
    ],
)  # fmt: skip
def test_branches(capability: str, branches: tuple[int | None, int | None]) -> None:
    assert lookup.branches_of(capability) == branches


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA GeForce RTX 5050", "12.0"), ("NVIDIA GeForce RTX 5090 Laptop GPU", "12.0"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0"), ("NVIDIA RTX PRO 500 Blackwell Generation Laptop GPU", "12.0"),
        ("NVIDIA GB10", "12.1"), ("NVIDIA Thor", "11.0"), ("NVIDIA B300 SXM6 AC", "10.3"), ("NVIDIA GB200", "10.0"),
        ("NVIDIA H20", "9.0"), ("NVIDIA H100 80GB HBM3", "9.0"), ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", "8.9"), ("NVIDIA RTX 6000 Ada Generation", "8.9"), ("NVIDIA L4", "8.9"),
        ("NVIDIA RTX A2000 Laptop GPU", "8.6"), ("NVIDIA A10G", "8.6"), ("NVIDIA GeForce RTX 3060 Laptop GPU", "8.6"),
        ("NVIDIA GeForce RTX 2050", "8.6"), ("NVIDIA A16", "8.6"), ("Orin (nvgpu)", "8.7"), ("NVIDIA Jetson Orin Nano", "8.7"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0"), ("GRID A100-10C", "8.0"), ("NVIDIA A30", "8.0"),
        ("T1000 8GB", "7.5"), ("NVIDIA GeForce MX450", "7.5"), ("Quadro RTX 6000", "7.5"), ("Tesla T4", "7.5"),
        ("NVIDIA GeForce GTX 1660 Ti", "7.5"), ("NVIDIA GeForce RTX 2080 with Max-Q Design", "7.5"), ("GRID T4-2Q", "7.5"),
        ("Tesla V100-SXM2-16GB", "7.0"), ("NVIDIA TITAN V", "7.0"), ("Xavier", "7.2"),
        ("NVIDIA GeForce GTX 1060 with Max-Q Design", "6.1"), ("NVIDIA TITAN X (Pascal)", "6.1"), ("Tesla P100-PCIE-16GB", "6.0"),
        ("Quadro P2000", "6.1"), ("NVIDIA Tegra X2", "6.2"), ("GeForce GTX TITAN X", "5.2"), ("NVIDIA GeForce GTX 960M", "5.0"),
        ("NVIDIA GeForce GTX 980", "5.2"), ("Tesla K80", "3.7"), ("Tesla K40m", "3.5"), ("GeForce GTX 680", "3.0"),
        ("NVIDIA Corporation AD102 [GeForce RTX 4090] (rev a1)", "8.9"), ("GA106M [GeForce RTX 3060 Mobile / Max-Q]", "8.6"),
        ("GK208B [GeForce GT 730]", "3.5"), ("NVIDIA Corporation GB202GL [RTX PRO 6000 Blackwell Workstation Edition]", "12.0"),
        ("NVIDIA Graphics Device", None), ("GeForce GT 730", None), ("NVIDIA GeForce RTX 7090", None),
    ],
)  # fmt: skip
def test_nvidia_names(name: str, capability: str | None) -> None:
    model = lookup.gpu_model(name)
    assert (model.capability if model else None) == capability
    if model:
        assert model.vendor == "nvidia"


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("AMD Radeon RX 7900 XTX", "gfx1100"), ("Radeon RX 7900 XTX", "gfx1100"), ("AMD Radeon RX 7800 XT", "gfx1101"),
        ("AMD Radeon RX 7600M XT", "gfx1102"), ("AMD Radeon RX 7700S", "gfx1102"), ("AMD Radeon RX 6800M", "gfx1031"),
        ("AMD Radeon RX 6600 XT", "gfx1032"), ("AMD Radeon RX 6900 XT", "gfx1030"), ("AMD Radeon RX 9070 XT", "gfx1201"),
        ("AMD Radeon RX 9060 XT", "gfx1200"), ("AMD Radeon AI PRO R9700", "gfx1201"), ("AMD Instinct MI300X", "gfx942"),
        ("AMD Instinct MI250X/MI250", "gfx90a"), ("AMD Instinct MI355X", "gfx950"), ("AMD Radeon VII", "gfx906"),
        ("AMD Radeon 780M Graphics", "gfx1103"), ("AMD Radeon 8060S Graphics", "gfx1151"), ("AMD Radeon 890M Graphics", "gfx1150"),
        ("Radeon RX 580 Series", "gfx803"), ("gfx1036", "gfx1036"), ("AMD Custom GPU 0405", "gfx1033"), ("AMD Radeon Graphics", None), ("AMD Radeon(TM) Graphics", None),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M] (rev c8)", "gfx1100"),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Ellesmere [Radeon RX 470/480/570/570X/580/580X/590]", "gfx803"),
        ("Advanced Micro Devices, Inc. [AMD/ATI] Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S]", "gfx1151"),
    ],
)  # fmt: skip
def test_amd_names(name: str, gfx: str | None) -> None:
    model = lookup.gpu_model(name)
    assert (model.gfx if model else None) == gfx


@pytest.mark.parametrize(
    ("name", "xpu"),
    [
        ("Intel(R) Arc(TM) A770 Graphics", True), ("Intel(R) Arc(TM) B580 Graphics", True), ("Intel(R) Arc(TM) 140V GPU (16GB)", True),
        ("Intel(R) Arc(TM) Graphics", True), ("Intel(R) Data Center GPU Max 1550", True), ("Intel(R) Iris(R) Xe Graphics", False),
        ("Intel(R) UHD Graphics 770", False), ("Intel Corporation DG2 [Arc A380] (rev 05)", True),
        ("Intel(R) Data Center GPU Flex 170", None), ("Intel(R) Arc(TM) Pro 140T GPU", True),
        ("Intel Corporation Meteor Lake-P [Intel Arc Graphics] (rev 08)", True),
        ("Intel Corporation Alder Lake-UP3 GT2 [Iris Xe Graphics]", False),
    ],
)  # fmt: skip
def test_intel_names(name: str, xpu: bool | None) -> None:
    model = lookup.gpu_model(name)
    assert model is not None
    assert (model.vendor, model.xpu) == ("intel", xpu)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Intel(R) Arc(TM) B390 GPU", "Core Ultra 300 (Panther Lake)"), ("Intel(R) Arc(TM) B580 Graphics", "Arc B (Battlemage)"),
        ("Intel(R) Arc(TM) Pro B60 Graphics", "Arc B (Battlemage)"), ("Intel(R) Arc(TM) 140V GPU (16GB)", "Core Ultra 200V (Lunar Lake)"),
    ],
)  # fmt: skip
def test_intel_families(name: str, family: str) -> None:
    model = lookup.gpu_model(name)
    assert model is not None
    assert model.architecture == family


@pytest.mark.parametrize(
    ("pci_id", "what"),
    [
        ("10de:2684", "8.9"), ("10de:2b85", "12.0"), ("10de:2e12", "12.1"), ("10de:2901", "10.0"), ("10de:3182", "10.3"),
        ("10de:2330", "9.0"), ("10de:20b0", "8.0"), ("10DE:1EB8", "7.5"), ("0x10de:0x1db6", "7.0"), ("10de:1b80", "6.1"),
        ("10de:15f8", "6.0"), ("10de:17c8", "5.2"), ("10de:1380", "5.0"), ("10de:102d", "3.7"), ("10de:1180", "3.0"),
        ("1002:744c", "gfx1100"), ("1002:73bf", "gfx1030"), ("1002:7550", "gfx1201"), ("1002:74a1", "gfx942"),
        ("1002:1586", "gfx1151"), ("1002:13c0", "gfx1036"), ("10de:ffff", None), ("1234:1111", None), ("8086:56a0", "Arc A (Alchemist)"),
    ],
)  # fmt: skip
def test_pci_ids(pci_id: str, what: str | None) -> None:
    model = lookup.gpu_model(None, pci_id)
    assert (model and (model.capability or model.gfx or model.architecture)) == what


def test_a_name_goes_before_an_id_and_an_id_helps_a_poor_name() -> None:
    assert lookup.gpu_model("NVIDIA GeForce RTX 4090", "10de:1b80").capability == "8.9"  # type: ignore[union-attr]
    assert lookup.gpu_model("AMD Radeon Graphics", "1002:15bf").gfx == "gfx1103"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("capability", "archs", "cuda", "how"),
    [
        ("8.9", "sm_80 sm_86", None, "family"), ("8.6", "sm_80 sm_86", None, "native"), ("12.1", "sm_120", None, "family"),
        ("12.0", "sm_90 compute_90", None, "ptx"), ("12.0", "sm_90", None, "no"), ("7.5", "sm_70", None, "family"),
        ("7.0", "sm_75", None, "no"), ("6.1", "sm_60", None, "family"), ("3.5", "sm_37", None, "no"),
        ("8.7", "sm_80", None, "no"), ("8.7", "sm_80", "13.0", "no"), ("8.7", "sm_80", "13.2", "family"),
        ("8.7", "sm_87", None, "native"), ("8.9", "sm_87", "13.2", "no"), ("7.2", "sm_70", "12.6", "no"),
        ("5.3", "sm_50", "13.2", "no"), ("11.0", "sm_110", None, "native"), ("10.1", "sm_110", None, "native"),
        ("11.0", "sm_101", None, "native"), ("11.0", "sm_100", None, "no"), ("10.3", "sm_100", None, "family"),
        ("9.0", "sm_90a", None, "native"), ("12.1", "sm_120a", None, "no"), ("12.1", "sm_120f", None, "family"),
        ("10.0", "compute_90a", None, "no"), ("8.0", "compute_90", None, "no"), ("8.7", "compute_80", None, "ptx"),
        ("8.9", "", None, "no"), ("8.9", "gfx1100", None, "no"), ("9.0", "sm_90 compute_90", None, "native"),
    ],
)  # fmt: skip
def test_runs_on(capability: str, archs: str, cuda: str | None, how: str) -> None:
    assert lookup.runs_on(capability, tuple(archs.split()), cuda) == how


@pytest.mark.parametrize(
    ("gfx", "archs", "how"),
    [
        ("gfx1100", "gfx1030 gfx1100", "native"), ("gfx90a:sramecc+:xnack-", "gfx90a", "native"),
        ("gfx1031", "gfx1030", "override"), ("gfx1103", "gfx1100", "override"), ("gfx1031", "gfx1100", "no"),
        ("gfx1010", "gfx1030", "no"), ("gfx803", "gfx900", "no"), ("gfx1151", "gfx1100", "no"),
    ],
)  # fmt: skip
def test_gfx_runs_on(gfx: str, archs: str, how: str) -> None:
    assert lookup.gfx_runs_on(gfx, tuple(archs.split())) == how


def test_a_wheel_whose_tag_no_installer_takes_is_none() -> None:
    assert lookup.pythons_of("1.8.0", "macos_arm64") == ()
    assert lookup.pythons_of("1.9.0", "macos_arm64") == ("3.8", "3.9")
    assert lookup.torch_versions("macos_arm64")[0] == "1.9.0"


def test_overrides() -> None:
    assert lookup.hsa_override("gfx1031") == "10.3.0"
    assert lookup.hsa_override("gfx1102") == "11.0.0"
    assert lookup.hsa_override("gfx906") is None
    assert lookup.hsa_override("gfx1010") is None, "doubtful: not offered"


@pytest.mark.parametrize(
    ("release", "backend", "platform", "first", "last"),
    [
        ("2.7.1", "cu128", "linux_x86_64", "sm_75", "compute_120"), ("2.7.1", "cu128", "win_amd64", "sm_50", "sm_120"),
        ("2.8.0", "cu128", "linux_x86_64", "sm_70", "sm_120"), ("2.14.1", "cu126", "linux_x86_64", "sm_50", "sm_90"),
        ("2.15.0", "cu132", "linux_aarch64", "sm_80", "sm_120"), ("2.9.0.dev20250801+cu128", "cu128", "linux_x86_64", "sm_70", "sm_120"),
        ("2.16.0", "cu132", "linux_x86_64", "sm_75", "sm_120"), ("2.17.1", "cu134", "linux_x86_64", "sm_75", "sm_120"),
        ("2.13.0", "rocm7.2", "linux_x86_64", "gfx900", "gfx1151"), ("2.14.0", "rocm7.14", "linux_x86_64", "gfx908", "gfx1151"),
    ],
)  # fmt: skip
def test_arch_lists(release: str, backend: str, platform: str, first: str, last: str) -> None:
    archs = lookup.arch_list_of(release, backend, platform)
    assert archs
    assert (archs[0], archs[-1]) == (first, last)


def test_arch_lists_that_are_empty_or_not_known() -> None:
    assert lookup.arch_list_of("2.6.0", "cpu", "linux_x86_64") == ()
    assert lookup.arch_list_of("2.6.0", "mps", "macos_arm64") == ()
    assert lookup.arch_list_of("2.6.0", "cu130", "linux_x86_64") is None
    assert lookup.arch_list_of("2.16.0", "cu140", "linux_x86_64") is None


@pytest.mark.parametrize(
    ("release", "minimum"),
    [("1.11.0", None), ("1.12.0", "12.3"), ("2.5.1", "12.3"), ("2.6.0", "13.0"), ("2.8.0", "13.0"), ("2.9.0", "14.0"),
     ("2.16.0", "14.0"), ("1.13.0.dev20220608", "12.3"), ("2.5.1.post302", "12.3")],
)  # fmt: skip
def test_mps_minimum(release: str, minimum: str | None) -> None:
    assert lookup.mps_minimum(release) == minimum


def test_wheel_minimums() -> None:
    assert lookup.wheel_minimum_macos("2.10.0", "macos_arm64", "3.12") == "11.0"
    assert lookup.wheel_minimum_macos("2.10.0", "macos_arm64", "3.14") == "14.0"
    assert lookup.wheel_minimum_macos("2.12.0", "macos_arm64") == "14.0"
    assert lookup.wheel_minimum_macos("2.2.2", "macos_x86_64") == "10.9"
    assert lookup.wheel_minimum_macos("2.3.0", "macos_x86_64") is None
    assert lookup.wheel_minimum_glibc("2.6.0", "linux_x86_64") == "2.17"
    assert lookup.wheel_minimum_glibc("2.6.0", "linux_aarch64") == "2.28"
    assert lookup.wheel_minimum_glibc("2.7.0", "linux_x86_64") == "2.28"
    assert lookup.wheel_minimum_glibc("2.16.0", "linux_x86_64") == "2.28"


@pytest.mark.parametrize(
    ("release", "system", "majors"),
    [("2.2.2", "linux", (1,)), ("2.3.0", "linux", (1, 2)), ("2.3.0", "windows", (1,)), ("2.4.1", "windows", (1, 2)),
     ("2.2.2", "darwin", (1,)), ("2.16.0", "windows", (1, 2))],
)  # fmt: skip
def test_numpy(release: str, system: str, majors: tuple[int, ...]) -> None:
    assert lookup.numpy_majors(release, system) == majors


@pytest.mark.parametrize(
    ("release", "package", "version"),
    [
        ("2.7.1", "torchvision", "0.22.1"), ("2.14.0", "torchvision", "0.29.0"), ("2.14.1", "torchvision", "0.29.1"),
        ("2.15.0", "torchvision", "0.29.2"), ("2.15.0", "torchaudio", "2.11.0"), ("2.0.0", "torchaudio", "2.0.1"),
        ("2.3.1", "torchtext", "0.18.0"), ("2.4.0", "torchtext", None), ("2.6.0", "triton", "3.2.0"),
        ("1.10.0", "torchvision", "0.11.1"), ("2.16.0", "torchvision", None), ("2.7.0.dev20250101", "torchvision", None),
    ],
)  # fmt: skip
def test_companion(release: str, package: str, version: str | None) -> None:
    assert lookup.companion(release, package) == version


def test_companion_on_a_platform() -> None:
    assert lookup.companion("2.15.0", "torchaudio", "linux_x86_64", "3.14") == "2.11.0"
    assert lookup.companion("2.15.0", "torchaudio", "linux_x86_64", "3.15") is None
    assert lookup.companion("2.15.0", "torchvision", "linux_x86_64", "3.15t") == "0.29.2"
    assert lookup.companion("2.5.1", "torchvision", "linux_x86_64", "3.13") is None


@pytest.mark.parametrize(
    ("package", "version", "specifier"),
    [
        ("torchvision", "0.22.1+cu126", "==2.7.1"), ("torchvision", "0.29.0", "==2.14.0"), ("torchvision", "0.29.1", ">=2.14.0"),
        ("torchvision", "0.30.0", ">=2.14.0"), ("torchvision", "0.11.0", "==1.10.0"), ("torchaudio", "2.10.0", "==2.10.0"),
        ("torchaudio", "2.11.0", ">=2.11.0"), ("torchtext", "0.18.0", ">=2.3.0,<=2.3.1"), ("triton", "3.6.0", ">=2.10.0,<=2.11.0"),
        ("torchvision", "0.21.0a0+7af6987", None), ("torchvision", "0.5.0", None), ("numpy", "2.0.0", None),
    ],
)  # fmt: skip
def test_torch_of_companion(package: str, version: str, specifier: str | None) -> None:
    assert lookup.torch_of_companion(package, version) == specifier


@pytest.mark.parametrize(
    ("release", "backend", "platform", "python", "sureness"),
    [
        ("2.6.0", "cu124", "linux_x86_64", "3.12", "verified"), ("2.6.0", "cu118", "linux_x86_64", "3.12", "verified"),
        ("2.6.0", "cu118", "linux_x86_64", "3.14", "no"), ("2.6.0", "cu128", "linux_x86_64", None, "no"),
        ("2.9.0", "rocm6.4", "win_amd64", None, "no"), ("2.9.0", "rocm6.4", "linux_x86_64", "3.12", "verified"),
        ("2.14.1", "rocm7.2", "linux_x86_64", "3.14", "verified"), ("2.15.0", "cu126", "linux_x86_64", None, "no"),
        ("2.15.0", "rocm7.14", "linux_x86_64", "3.13", "derived"), ("2.14.1", "cu126", "linux_x86_64", "3.14t", "derived"),
        ("2.14.1", "cu130", "linux_x86_64", "3.14t", "verified"), ("2.13.0", "cpu", "win_arm64", "3.12", "verified"),
        ("2.13.0", "cpu", "win_arm64", "3.14", "no"), ("2.3.0", "cpu", "macos_x86_64", None, "no"),
        ("2.16.0", "cu132", "linux_x86_64", "3.14", "derived"), ("2.9.0.dev20250801", "cu128", "linux_x86_64", None, "no"),
        ("2.2.2", "cpu", "macos_x86_64", "3.12", "verified"), ("2.6.0", "mps", "macos_arm64", "3.13", "verified"),
        ("1.8.0", "cu111", "linux_x86_64", "3.8", "derived"), ("2.10.0", "cu102", "win_amd64", None, "no"),
    ],
)  # fmt: skip
def test_published(release: str, backend: str, platform: str, python: str | None, sureness: str) -> None:
    assert lookup.published(release, backend, platform, python) == sureness


def test_index() -> None:
    assert lookup.index_url("cu124") == "https://download.pytorch.org/whl/cu124"
    assert lookup.index_url("cu126", "2.14.1") == "https://download.pytorch.org/whl/cu126"
    assert lookup.index_url("cu126", "2.15.0") is None
    assert lookup.index_url("cu130", "2.16.0") == "https://download.pytorch.org/whl/cu130"
    assert lookup.index_url("mps") is None
    assert lookup.index_url("cu112") is None


@pytest.mark.parametrize(
    ("kernel", "macos"),
    [
        ("21.4.0", "12.3"),
        ("21.6.0", "12.5"),
        ("24.6.0", "15.6"),
        ("25.9.0", "26"),
        ("26.0.0", "27"),
        ("17.7.0", None),
        ("", None),
    ],
)
def test_macos_of_darwin(kernel: str, macos: str | None) -> None:
    assert lookup.macos_of_darwin(kernel) == macos


def test_peaks() -> None:
    h100 = lookup.peaks_of("NVIDIA H100 80GB HBM3")
    assert h100 is not None
    assert h100.bf16 == pytest.approx(989, rel=0.01)
    assert lookup.peaks_of("NVIDIA GeForce RTX 4090") is not None
    assert lookup.peaks_of("NVIDIA GeForce RTX 4090 Laptop GPU") is None, "a slower part of the same name"
    assert lookup.peaks_of("Apple M1 Pro").gpu_cores == (14, 16)  # type: ignore[union-attr]

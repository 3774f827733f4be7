"""The parsers that live collection and pasted evidence share: what the tools of a system print."""

from __future__ import annotations

import json

import pytest

from doctor.formats import cpuinfo, lspci, macos, nvidia_smi, os_release, rocm


@pytest.mark.parametrize(
    ("line", "smi", "driver", "cuda"),
    [
        ("| NVIDIA-SMI 390.48                 Driver Version: 390.48                    |", "390.48", "390.48", None),
        ("| NVIDIA-SMI 461.72       Driver Version: 461.72       CUDA Version: 11.2     |", "461.72", "461.72", "11.2"),
        ("| NVIDIA-SMI 560.35.03   Driver Version: 560.35.03   CUDA Version: 12.6 |", "560.35.03", "560.35.03", "12.6"),
        ("| NVIDIA-SMI 545.46    Driver Version: 546.80    CUDA Version: ERR! |", "545.46", "546.80", None),
        (
            "| NVIDIA-SMI 610.43.02   KMD Version: 610.43.02   CUDA UMD Version: 13.3 |",
            "610.43.02",
            "610.43.02",
            "13.3",
        ),
        ("| NVIDIA-SMI 610.47      KMD Version: 610.47      CUDA UMD Version: N/A  |", "610.47", "610.47", None),
        ("nothing of it", None, None, None),
    ],
)
def test_headers_of_nvidia_smi(line: str, smi: str | None, driver: str | None, cuda: str | None) -> None:
    said = nvidia_smi.parse(f"+---+\n{line}\n|---|\n")
    assert (said.smi_version, said.driver, said.cuda) == (smi, driver, cuda)


OLD_ROWS = """\
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0  On |                  N/A |
| 30%   35C    P8    20W / 350W |    500MiB / 24268MiB |      0%      Default |
|   1  Tesla K80           Off  | 0000:05:00.0     Off |                    0 |
| N/A   35C    P8    26W / 149W |      0MiB / 11441MiB |      0%   E. Process |
| Processes:                                                       GPU Memory |
|    0       993      C   python                                       500MiB |
|    0      1001      G   /usr/lib/xorg/Xorg                            35MiB |
"""


def test_rows_of_the_old_table() -> None:
    said = nvidia_smi.parse(OLD_ROWS)
    one, two = said.gpus
    assert (one.name, one.truncated, one.pci_address) == ("NVIDIA GeForce", True, "0000:01:00.0")
    assert (one.memory_used_bytes, one.memory_bytes) == (500 << 20, 24268 << 20)
    assert (two.name, two.truncated, two.compute_mode) == ("Tesla K80", False, "Exclusive_Process")
    assert said.processes == 1


def test_jetsons_table_has_no_memory_and_no_bus() -> None:
    said = nvidia_smi.parse(
        "| NVIDIA-SMI 540.4.0    Driver Version: 540.4.0    CUDA Version: 12.6 |\n"
        "|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |\n"
        "| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |\n"
    )
    (gpu,) = said.gpus
    assert (gpu.name, gpu.pci_address, gpu.memory_bytes) == ("Orin (nvgpu)", None, None)


def test_the_mismatch_error_names_the_library() -> None:
    said = nvidia_smi.parse(
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 570.133\n"
    )
    assert said.error == "Failed to initialize NVML: Driver/library version mismatch"
    assert (said.library, said.driver) == ("570.133", None)


def test_query_lines() -> None:
    line = "0, NVIDIA H100 80GB HBM3, GPU-1, 00000000:1B:00.0, 0x233010DE, 81559, [N/A], Default, 550.54.15, 9.0"
    (gpu,) = nvidia_smi.parse_query(line + "\nField x is not valid\n")
    assert (gpu.pci_address, gpu.pci_id, gpu.capability) == ("0000:1b:00.0", "10de:2330", "9.0")
    assert gpu.memory_used_bytes is None


def test_os_release() -> None:
    said = os_release.parse(
        '# x\nPRETTY_NAME="Rocky Linux 9.3 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos"\nVERSION_ID=9.3\n'
    )
    assert (said.name, said.id, said.like, said.version) == (
        "Rocky Linux 9.3 (Blue Onyx)",
        "rocky",
        ("rhel", "centos"),
        "9.3",
    )
    assert os_release.parse("") == os_release.OsRelease()


def test_cpuinfo() -> None:
    x86 = cpuinfo.parse(
        "processor\t: 0\nmodel name\t: Xeon\nflags\t\t: fpu avx avx2 hypervisor\n\nprocessor\t: 1\nflags\t\t: x\n"
    )
    assert (x86.model, x86.flags, x86.count) == ("Xeon", ("avx", "avx2"), 2)
    arm = cpuinfo.parse("processor\t: 0\nFeatures\t: fp asimd sve\n")
    assert (arm.model, arm.flags) == (None, ("asimd", "sve"))
    assert cpuinfo.parse("processor : 0\n").flags is None
    assert cpuinfo.flags_that_matter("SSE4.2 AVX1.0 AVX2") == ("sse4_2", "avx", "avx2")


LSPCI = """\
00:02.0 VGA compatible controller [0300]: Intel Corporation Alder Lake-S GT1 [UHD Graphics 770] [8086:4680] (rev 0c)
\tSubsystem: ASUSTeK [1043:8694]
\tKernel driver in use: i915
01:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236] (rev a1)
\tKernel driver in use: vfio-pci
02:00.0 Ethernet controller [0200]: Intel Corporation I225-V [8086:15f3]
\tKernel driver in use: igc
03:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000]
0004:00:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua [Instinct MI300X] [1002:74a1]
"""


def test_lspci() -> None:
    found = [(gpu.vendor, gpu.pci_address, gpu.name, gpu.pci_id, gpu.driver) for gpu in lspci.parse(LSPCI)]
    assert found == [
        ("intel", "0000:00:02.0", "Alder Lake-S GT1 [UHD Graphics 770]", "8086:4680", "i915"),
        ("nvidia", "0000:01:00.0", "GA102GL [A10]", "10de:2236", "vfio-pci"),
        ("amd", "0004:00:00.0", "Aqua [Instinct MI300X]", "1002:74a1", None),
    ]


def test_lspci_without_numbers() -> None:
    (gpu,) = lspci.parse("0b:00.0 VGA compatible controller: NVIDIA Corporation TU104 [GeForce RTX 2080] (rev a1)\n")
    assert (gpu.vendor, gpu.name, gpu.pci_id) == ("nvidia", "TU104 [GeForce RTX 2080]", None)


@pytest.mark.parametrize(
    ("number", "gfx"), [(110000, "gfx1100"), (90010, "gfx90a"), (90402, "gfx942"), (100301, "gfx1031")]
)
def test_gfx_of_the_kernels_number(number: int, gfx: str) -> None:
    assert rocm.gfx_of_version(number) == gfx


def test_kfd_nodes() -> None:
    gpu = rocm.parse_kfd("simd_count 304\ngfx_target_version 90402\ndevice_id 29857\nlocation_id 1536\ndomain 4\n")
    assert gpu == rocm.RocmGpu(gfx="gfx942", pci_id="1002:74a1", pci_address="0004:06:00.0")
    assert rocm.parse_kfd("cpu_cores_count 64\ngfx_target_version 0\n") is None


def test_rocminfo_that_cannot() -> None:
    text = "\x1b[31mROCk module is NOT loaded, possibly no GPU devices\x1b[0m\n"
    assert rocm.parse(text) == ()
    assert rocm.error_of(text) == "ROCk module is NOT loaded, possibly no GPU devices"


def test_macos_tools() -> None:
    assert macos.product_version("ProductName:\t\tmacOS\nProductVersion:\t\t14.5\nBuildVersion:\t\t23F79\n") == "14.5"
    assert macos.product_version("14.5\n") == "14.5"
    assert macos.product_version("sw_vers: not found") is None
    assert macos.parse("hw.memsize: 17179869184\n") == {"hw.memsize": "17179869184"}


def test_displays() -> None:
    listed = [
        {"sppci_model": "Apple M2 Max", "sppci_cores": "38", "spdisplays_mtlgpufamilysupport": "spdisplays_metal3",
         "spdisplays_vendor": "sppci_vendor_Apple", "sppci_bus": "spdisplays_builtin"},
        {"sppci_model": "AMD Radeon Pro 5500M", "spdisplays_vram": "8 GB", "sppci_bus": "spdisplays_pcie_device"},
    ]  # fmt: skip
    apple, amd = macos.displays(json.dumps({"SPDisplaysDataType": listed})) or ()
    assert (apple.vendor, apple.cores, apple.metal, apple.integrated) == ("apple", 38, True, True)
    assert (amd.vendor, amd.cores, amd.metal, amd.memory_bytes, amd.integrated) == ("amd", None, None, 8 << 30, False)
    assert macos.displays("{}") is None
    assert macos.displays('{"SPDisplaysDataType": []}') == ()

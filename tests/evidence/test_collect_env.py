import pytest

from doctor.checks import gap_of
from doctor.model.facts import ABSENT
from tests.evidence.tickets import COLLECT_ENV, MAC, facts


def test_a_whole_block() -> None:
    seen = facts(COLLECT_ENV)
    assert (seen.torch.version, seen.torch.cuda, seen.torch.hip, seen.torch.cuda_available) == (
        "2.1.2+cu121",
        "12.1",
        ABSENT,
        True,
    )
    assert (seen.host.system, seen.host.os_id, seen.host.os_version, seen.host.architecture) == (
        "linux",
        "ubuntu",
        "20.04.6",
        "x86_64",
    )
    assert (seen.host.libc, seen.host.libc_version, seen.host.kernel) == ("glibc", "2.31", "5.4.0-170-generic")
    assert (seen.interpreter.version, seen.interpreter.bits, seen.interpreter.implementation) == (
        "3.10.13",
        64,
        "cpython",
    )
    assert [g.name for g in seen.gpus] == ["NVIDIA GeForce RTX 4090"] * 2
    assert (seen.nvidia.driver, seen.nvidia.toolkit) == ("545.23.08", "12.3.107")
    assert {p.name: p.version for p in seen.packages} == {"numpy": "1.26.3", "torch": "2.1.2+cu121"}


def test_every_fact_has_its_line() -> None:
    origin = facts(COLLECT_ENV).origins["nvidia.driver"]
    assert (origin.source, origin.line, origin.quote) == ("collect_env", 20, "Nvidia driver version: 545.23.08")


def test_a_mac_has_no_cuda_and_that_says_nothing_of_a_driver() -> None:
    seen = facts(MAC)
    assert seen.torch.cuda is ABSENT
    assert seen.nvidia.driver is None
    assert "No CUDA" in gap_of(seen, "nvidia.driver").detail
    assert (seen.host.macos, seen.host.architecture, seen.interpreter.translated) == ("14.0", "arm64", False)
    assert [(g.vendor, g.name) for g in seen.gpus] == [("apple", "Apple M2")]


@pytest.mark.parametrize(
    ("said", "cuda"), [("None", ABSENT), ("N/A", ABSENT), ("Could not collect", ABSENT), ("11.8", "11.8")]
)
def test_cuda_of_a_known_build(said: str, cuda: object) -> None:
    assert facts(f"PyTorch version: 2.2.2\nCUDA used to build PyTorch: {said}\n").torch.cuda == cuda


def test_nothing_is_known_of_a_build_that_does_not_import() -> None:
    seen = facts(
        "PyTorch version: N/A\nCUDA used to build PyTorch: N/A\nIs CUDA available: N/A\nGPU models and configuration:"
        " Could not collect\n"
        "Versions of relevant libraries:\n[pip3] torch==1.1.0\n"
    )
    assert (seen.torch.version, seen.torch.imports, seen.torch.cuda, seen.torch.cuda_available) == (
        "1.1.0",
        False,
        None,
        None,
    )
    assert seen.gpus is None


def test_without_a_trace_of_torch_it_is_absent() -> None:
    assert facts("PyTorch version: N/A\nIs debug build: N/A\nOS: macOS 14.5 (arm64)\n").torch is ABSENT


def test_yes_and_no_of_1_5() -> None:
    seen = facts(
        "PyTorch version: 1.5.0\nIs debug build: No\nCUDA used to build PyTorch: 10.1\nPython version: 3.7\nIs CUDA a"
        "vailable: Yes\n"
    )
    assert (seen.torch.debug, seen.torch.cuda_available, seen.interpreter.version) == (False, True, "3.7")


def test_rosetta_shows_in_the_cpu() -> None:
    seen = facts(
        "PyTorch version: 2.2.2\nOS: macOS 14.5 (x86_64)\nPython platform: macOS-14.5-x86_64-i386-64bit\n\nCPU:\nAppl"
        "e M1 Pro\n"
    )
    assert (seen.host.architecture, seen.interpreter.architecture, seen.interpreter.translated) == (
        "arm64",
        "x86_64",
        True,
    )


def test_an_intel_mac() -> None:
    seen = facts(
        "OS: macOS 12.7 (x86_64)\nPython platform: macOS-12.7-x86_64-i386-64bit\nIs CUDA available: False\nCPU:\nInte"
        "l(R) Core(TM) i7-8700B CPU @ 3.20GHz\n"
    )
    assert (seen.host.architecture, seen.interpreter.translated) == ("x86_64", False)


def test_an_old_sdk_hides_the_system() -> None:
    seen = facts("PyTorch version: N/A\nOS: macOS 14.5 (arm64)\nPython platform: macOS-10.16-arm64-arm-64bit\n")
    assert (seen.host.macos, seen.interpreter.macos_reported) == ("14.5", "10.16")


def test_rocm_and_wsl() -> None:
    seen = facts(
        "PyTorch version: 2.7.0+rocm6.3\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.3.42131-fa1d0"
        "9cbd\n"
        "Python platform: Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.35\nIs CUDA available: True\n"
        "GPU models and configuration: AMD Radeon RX 7900 XTX (gfx1100)\n"
    )
    assert (seen.torch.cuda, seen.torch.hip, seen.host.wsl) == (ABSENT, "6.3.42131-fa1d09cbd", 2)
    assert [(g.vendor, g.name, g.gfx) for g in seen.gpus] == [("amd", "AMD Radeon RX 7900 XTX", "gfx1100")]


def test_xpu_on_windows() -> None:
    seen = facts(
        "PyTorch version: 2.13.0+xpu\nOS: Microsoft Windows 11 Pro (10.0.26100 64-bit)\nIs XPU available: True\nXPU u"
        "sed to build PyTorch: 20260000\n"
        "Intel GPU models onboard:\n* Intel(R) Arc(TM) B580 Graphics\nIntel GPU models detected:\n"
        "* [0] _XpuDeviceProperties(name='Intel(R) Arc(TM) B580 Graphics', type='gpu', total_memory=11875MB)\n"
    )
    assert (seen.host.system, seen.host.windows_build, seen.torch.xpu_available) == ("windows", 26100, True)
    assert [(g.vendor, g.memory_bytes) for g in seen.gpus] == [("intel", 11875 << 20)]


def test_glibc_2_9_is_a_guess_of_python() -> None:
    assert facts("PyTorch version: 1.9.0\nLibc version: glibc-2.9\n").host.libc_version is None


def test_as_json() -> None:
    text = """{
    "Platform": "Windows-10-10.0.19045-SP0",
    "Torch env info": {
        "torch_version": "2.2.0+cu121",
        "is_debug_build": "False",
        "cuda_compiled_version": "12.1",
        "os": "Microsoft Windows 10 Pro",
        "python_version": "3.10.6 (tags/v3.10.6:9c7b4bd, Aug  1 2022, 21:53:49) [MSC v.1932 64 bit (AMD64)] (64-bit runtime)",
        "is_cuda_available": "True",
        "nvidia_driver_version": "546.33",
        "nvidia_gpu_models": "GPU 0: NVIDIA GeForce RTX 3060",
        "cudnn_version": null
    }
}"""
    found = facts(text)
    assert (found.torch.version, found.torch.cuda, found.torch.cuda_available) == ("2.2.0+cu121", "12.1", True)
    assert (found.host.system, found.interpreter.version, found.nvidia.driver) == ("windows", "3.10.6", "546.33")
    assert [g.name for g in found.gpus] == ["NVIDIA GeForce RTX 3060"]


@pytest.mark.parametrize("said", ["torch2.8.0+cu128", "torch==2.8.0+cu128", "2.8.0+cu128"])
def test_a_version_that_a_person_filled_in(said: str) -> None:
    found = facts(f"* PyTorch version: {said}\n* OS: Linux\n* Python version: 3.12\n")
    assert (found.torch.version, found.torch.cuda) == ("2.8.0+cu128", "12.8")


def test_lines_of_a_report_are_no_prose() -> None:
    text = "PyTorch version: 2.4.0\nOS: Debian GNU/Linux trixie/sid\nGCC version: (Debian 13.2.0-13) 13.2.0\n"
    assert facts(text).host.os_version is None


def test_the_processor_as_windows_lists_it() -> None:
    text = "PyTorch version: 2.8.0\nOS: Microsoft Windows 11\n\nCPU:\nName: 12th Gen Intel(R) Core(TM) i7-12700H\n"
    assert facts(text).host.cpu_model == "12th Gen Intel(R) Core(TM) i7-12700H"

"""Verdicts that were untrue once, each as it was met."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.judgement import Judgement, judged
from doctor.evidence.read import read
from doctor.model.facts import Facts
from doctor.pipeline import Request, examine
from doctor.reports import verdict
from tests.examples import device, linux, probe, with_nvidia, with_torch

COLLECT_ENV = """\
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: {rocm}

OS: {os}

Python version: 3.11.11 (main, Dec  4 2024, 08:55:07) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: False
CUDA runtime version: 12.4.131
GPU models and configuration: GPU 0: {gpu}
Nvidia driver version: {driver}
"""
UBUNTU = "Ubuntu 22.04.4 LTS (x86_64)"
NVIDIA = {"torch": "2.6.0+cu124", "cuda": "12.4", "rocm": "N/A", "os": UBUNTU, "driver": "550.54.14"}
KIN = {
    "A100": {**NVIDIA, "gpu": "NVIDIA A100-SXM4-80GB"},
    "RTX 3060": {**NVIDIA, "gpu": "NVIDIA GeForce RTX 3060"},
    "RTX 3090": {**NVIDIA, "gpu": "NVIDIA GeForce RTX 3090"},
    "laptop 4060 on Windows": {**NVIDIA, "gpu": "NVIDIA GeForce RTX 4060 Laptop GPU", "os": "Microsoft Windows 11 Pro",
                               "driver": "566.36"},
    "RX 7900 XTX": {"torch": "2.6.0+rocm6.2.4", "cuda": "N/A", "rocm": "6.2.41134-65d174c3e", "os": UBUNTU,
                    "gpu": "AMD Radeon RX 7900 XTX (gfx1100)", "driver": "Could not collect"},
}  # fmt: skip
MAC = """\
PyTorch version: 2.4.0
Is debug build: False
CUDA used to build PyTorch: None
OS: macOS 14.5 (arm64)
Python version: 3.11.9 (64-bit runtime)
Python platform: macOS-14.5-arm64-arm-64bit
Is CUDA available: False
CUDA runtime version: No CUDA
GPU models and configuration: No CUDA
CPU:
Apple M2 Pro
"""


def from_text(text: str) -> Judgement:
    return judged(replace(read((("ticket", text.encode()),)).facts, live=False))


@pytest.mark.parametrize("kin", KIN)
def test_a_gpu_that_torch_does_not_use_is_not_health(kin: str) -> None:
    made = from_text(COLLECT_ENV.format(**KIN[kin]))
    assert made.verdict.value == "unknown"
    assert len({h.id for h in made.account.hypotheses}) >= 3
    assert made.account.questions[0].command


def test_collect_env_says_nothing_of_mps() -> None:
    made = from_text(MAC)
    assert made.verdict.value == "unknown"
    assert "Apple M2 Pro" in made.verdict.unproven[0]
    assert "torch.backends.mps.is_available()" in made.account.questions[0].command


def test_a_package_list_beside_a_gpu_proves_nothing() -> None:
    text = "$ pip list\ntorch 2.6.0+cu124\n$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 4090 (UUID: GPU-1)\n"
    assert from_text(text).verdict.value == "unknown"


def test_a_recipe_passes_no_check() -> None:
    report = examine(Request(evidence=(("recipe", b"Peel the apples. Preheat the oven to 200 C. Bake for 40 min.\n"),)))
    assert report.verdict == "unknown"
    assert [o.id for o in report.outcomes if o.status == "passed"] == []


@pytest.mark.parametrize("facts", [Facts(), Facts(live=False)])
def test_nothing_known_passes_nothing(facts: Facts) -> None:
    assert [o.id for o in judged(facts).outcomes if o.status == "passed"] == []


def test_a_gpu_whose_probe_did_not_start_is_not_proven() -> None:
    gpu = "NVIDIA GeForce RTX 5090"
    facts = with_torch(with_nvidia(linux(), gpu), "2.9.1+cu128", cuda_available=True, devices=(device("cuda", gpu),))
    words = "starting Python: the process ended with exit code 1"
    facts = replace(facts, probes=(probe("cpu"), probe("cuda:0", "skipped", stage="start", reason=words)))
    made = judged(facts)
    assert made.verdict.value == "unknown"
    assert any(words in reason for reason in made.verdict.unproven)


def test_one_check_beside_a_fault_is_not_the_whole() -> None:
    text = "$ pip list\ntorch 2.6.0\ntorchvision 0.10.0\nRuntimeError: operator torchvision::nms does not exist\n"
    request = Request(evidence=(("ticket", text.encode()),), only=("gpu-hidden",))
    report = examine(request)
    assert report.verdict == "unknown"
    assert report.limits == ("--only gpu-hidden",)
    assert "Nothing is wrong" not in verdict.sentence(report)


FALL_BACK = (
    "UserWarning: The operator 'aten::nonzero' is not currently supported on the MPS backend and will fall back to run "
    "on the CPU. This may have performance implications."
)
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system."
NOT_CLAIMED = {
    "a library without torch": ("[BUG] rembg does not use the GPU\nWindows 11, RTX 2080 SUPER", "torch-cpu-only"),
    "onnxruntime on Windows": ("onnxruntime doesn't use my GPU\nWindows 10, RTX 3060", "torch-cpu-only"),
    "AMD on Windows": ("Not using my GPU\nWindows 11, Radeon RX 6650 XT", "torch-cpu-only"),
    "a warning that MPS falls back": (f"It fails on my Mac\n{FALL_BACK}", "mps-op-missing"),
    "who tries the CPU": (f"I try to run it on CPU and not GPU, and get\n{NO_DRIVER}", "nvidia-driver-missing"),
    "who asks for the CPU": (f"{NO_DRIVER}\n\ncan the cpu be used instead?", "nvidia-driver-missing"),
    "who has only a CPU": (f"My computer only has a CPU.\n{NO_DRIVER}", "nvidia-driver-missing"),
    "who uses the CPU, in Chinese": (f"这一步我用的是cpu,请问怎样可以避免\n{NO_DRIVER}", "nvidia-driver-missing"),
    "a machine without GPU": (
        "On a machine without GPU:\nError: libcuda.so.1: cannot open shared object file: No such file or directory",
        "nvidia-driver-missing",
    ),
    "nvidia-smi works": (
        "Windows, PyTorch 2.11.0+cu130\nPyTorch does not detect the GPU, an RTX 5070 Ti\n"
        "- `nvidia-smi` works normally\n- `cuInit()` returns error 100",
        "nvidia-driver-missing",
    ),
    "in Docker, in Chinese": (f"{NO_DRIVER}\n您好！我用docker跑demo", "nvidia-driver-missing"),
    "a model in a sentence": (
        "It crashes on NVIDIA H800\n$ CUDA_VISIBLE_DEVICES=7 python train.py\nSegmentation fault (core dumped)",
        "gpu-hidden",
    ),
    "no module nvidia_uvm in WSL": ("On WSL2 Ubuntu:\nRuntimeError: CUDA error: unknown error", "nvidia-uvm-broken"),
    "a torch that is installed": (
        "torch==2.3.1\nOSError: [WinError 193] %1 is not a valid win32 application. Error loading \"C:\\x\\ext.dll\"",
        "python-32-bit",
    ),
    "a name instead of a code": (
        "RuntimeError: CUDA error (10): invalid device ordinal\nI have one GTX 1060", "nvidia-driver-library-mismatch"
    ),
    "cuFFT": ("Torch 1.13.1+cu117, NVIDIA RX 4090\nfails: cuFFT error: CUFFT_INTERNAL_ERROR", "cuda-out-of-memory"),
    "the one on which it runs": (
        "I can run on gtx1080ti, but can't run on rtx 3090:\nRuntimeError: CUDA error: no kernel image is available "
        "for execution on the device",
        "gpu-too-old-for-build",
    ),
    "no GPU, and another library": (
        "There is no GPU here, so I tried CPU only.\nRuntimeError: CUDA failed with error CUDA driver version is "
        "insufficient for CUDA runtime version",
        "nvidia-driver-too-old",
    ),
    "a driver that runs torch's CUDA": (
        "- NVIDIA Driver Version: 575.64.03\ntorch: 2.6.0+cu124\n"
        "CUDA driver version is insufficient for CUDA runtime version",
        "nvidia-driver-too-old",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CLAIMED)
def test_a_fault_that_the_text_does_not_show(name: str) -> None:
    text, id = NOT_CLAIMED[name]
    judgement = from_text(text)
    assert id not in [f.id for f in judgement.account.findings if f.severity == "fault"]
    assert judgement.verdict.value != "healthy"

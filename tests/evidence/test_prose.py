"""GPUs, Macs, Jetsons and WSL as a person names them in a sentence."""

import doctest

import pytest

from doctor.evidence import prose
from doctor.model.facts import ABSENT, Torch
from doctor.pipeline import Request, examine
from tests.evidence.tickets import facts


def test_the_examples_of_the_docstrings() -> None:
    assert not doctest.testmod(prose).failed


@pytest.mark.parametrize(
    ("said", "gpus"),
    [
        ("I have an RTX 3060, win10", ["GeForce RTX 3060"]),
        ("The card is a rtx3090ti.", ["GeForce RTX 3090 Ti"]),
        ("RX7900XTX, no Nvidia card", ["Radeon RX 7900 XTX"]),
        ("an Arc A770 and Fedora 36", ["Arc A770"]),
        ("a Tesla K80 and two Tesla K40c", ["Tesla K80", "Tesla K40c"]),
        ("It works on an RTX 3090 but not here", None),
        ("My friend's GTX 1080 is fine", None),
        ("There is no RTX card here, RTX 4090 would be nice", None),
        ("An RTX 3060 and a Radeon RX 6600 are in it", None),
        ("https://example.org/rtx-3090-ti", None),
        ("run_rtx3090.py", None),
    ],
)
def test_models_in_sentences(said: str, gpus: list[str] | None) -> None:
    found = facts(said).gpus
    assert (found and [g.name for g in found]) == gpus


def test_a_tool_outranks_a_sentence() -> None:
    text = "I have an RTX 3060\n$ nvidia-smi -L\nGPU 0: NVIDIA A100 (UUID: GPU-0)\n"
    assert [g.name for g in facts(text).gpus or ()] == ["NVIDIA A100"]


def test_a_sentence_alone_makes_no_machine_healthy() -> None:
    assert examine(Request(evidence=(("mail", b"torch 2.6.0, and an RTX 3060\n"),))).verdict == "unknown"


@pytest.mark.parametrize(
    ("said", "system"),
    [
        ("My Mac:\nGraphics: Radeon Pro 560X 4 GB", "darwin"),
        ("在 Mac M1 上面运行项目", "darwin"),
        ("Running this on an M2 (Apple Silicon)", "darwin"),
        ("Mac Pro 2019 with a Radeon Pro 580X 8 GB", "darwin"),
        ("the MAC address of the card", None),
        ("a Radeon Pro W5700 in my workstation", None),
    ],
)
def test_macs_by_name(said: str, system: str | None) -> None:
    assert facts(said).host.system == system


@pytest.mark.parametrize(
    ("said", "jetson"),
    [
        ("a venv on the Jetson device", "unknown"),
        ("Xavier NX, JetPack 5", "35"),
        ("root@jetsonxavier:~# python3", "unknown"),
        ("R35 (release)\nL4T 35.3.1", "35.3.1"),
        ("a Jetson Nano\n       virtual packages : __cuda=10.2=0\n                          __linux=4.9.253=0\n", "32"),
        ("made with dusty-nv/jetson-containers", None),
    ],
)
def test_jetsons_by_name(said: str, jetson: str | None) -> None:
    found = facts(said).host.jetson
    assert (None if found is ABSENT else found) == jetson


@pytest.mark.parametrize(
    ("said", "wsl"),
    [
        ("on WSL2 with Ubuntu 22.04", 2),
        ("Ubuntu app (WSL)", 2),
        ("Microsoft Windows [Version 10.0.17763.292]\nUbuntu app (WSL)", 1),
        ("WSL2, Python 3.11", 2),
        ("The WSL documentation says so", None),
    ],
)
def test_wsl_by_name(said: str, wsl: int | None) -> None:
    found = facts(said).host.wsl
    assert (None if found is ABSENT else found) == wsl


@pytest.mark.parametrize(
    "said",
    ["Creating web_generate_run ... done", "Attaching to webui-docker-auto-1", "[+] Running 2/2"],
)
def test_docker_compose_by_its_words(said: str) -> None:
    assert facts(said).host.container == "docker"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("macOS, M1 Max and 64GB, torch 2.4.0. It runs.", ("darwin", None, "Apple M1 Max", "2.4.0", None, None)),
        (
            "Apple M1 Pro | 32 GB | Sonoma 14.4.1 (23E224) | torch==2.2.2",
            ("darwin", "14.4.1", "Apple M1 Pro", "2.2.2", None, None),
        ),
        ("I use windows 11, python 3.11, driver 570.86.16", ("windows", None, None, None, "3.11", "570.86.16")),
        (
            "Ubuntu 22.04 / Intel Core i7-9700K / Python 3.10.12; torch 2.1.0+cu118",
            ("linux", None, "Intel Core i7-9700K", "2.1.0+cu118", "3.10.12", None),
        ),
        ("Windows 10, AMD Athlon II x4 640, 16gb DDR3", ("windows", None, "AMD Athlon II x4 640", None, None, None)),
        ("It needs python 3.11 and torch 2.4.0", (None, None, None, None, None, None)),
        ("I tried Python 3.10, python 3.11 is here", (None, None, None, None, "3.11", None)),
        ("Python 3.10 on the one side, python 3.11 on the other side", (None, None, None, None, "3.10", None)),
        ("It is python 3.10. It is python 3.11.", (None, None, None, None, None, None)),
        ("PyTorch 9.9, driver 99.1, the M1 key", (None, None, None, None, None, None)),
        ("an M4 screw and windows to the garden", (None, None, None, None, None, None)),
    ],
)
def test_several_facts_in_one_sentence(said: str, expected: tuple[str | None, ...]) -> None:
    found = facts(said)
    torch = found.torch.version if isinstance(found.torch, Torch) else None
    macos = None if found.host.macos is ABSENT else found.host.macos
    host = found.host
    read = (host.system, macos, host.cpu_model, torch, found.interpreter.version, found.nvidia.driver)
    assert tuple(None if one is ABSENT else one for one in read) == expected


@pytest.mark.parametrize(
    ("said", "gpus"),
    [
        ("It fails since I have the 5090", ["GeForce RTX 5090"]),
        ("Linux Mint 21.2, AMD 6600XT", ["Radeon RX 6600 XT"]),
        ("two A100 and an H100", ["NVIDIA A100", "NVIDIA H100"]),
        ("a T4 on Colab", ["NVIDIA T4"]),
        ("Works on my 4070ti, not on the 5090.", ["GeForce RTX 5090"]),
        ("I have a 3090 and a 4090. It crashes on the 4090", ["GeForce RTX 4090"]),
        ("It uses my CPU instead of the RTX 5090", ["GeForce RTX 5090"]),
        ("an image of 1024 x 1024, the 1080 p video, on 3060 steps", None),
        ("the 2024 release on 4000 images", None),
    ],
)
def test_the_patient_and_numbers_alone(said: str, gpus: list[str] | None) -> None:
    found = facts(said).gpus
    assert (found and [g.name for g in found]) == gpus


def test_a_program_outranks_a_sentence() -> None:
    said = "I use windows 11 with python 3.11, torch 2.4.0"
    found = facts(f"{said}\n\nPyTorch version: 2.6.0\nOS: Ubuntu 22.04.3 LTS (x86_64)\n")
    assert isinstance(found.torch, Torch)
    assert (found.torch.version, found.host.system, found.host.os_id) == ("2.6.0", "linux", "ubuntu")


def test_a_variable_in_a_sentence() -> None:
    said = "I have set CUDA_VISIBLE_DEVICES=7, and it says there is no GPU"
    assert facts(said).environ == {"CUDA_VISIBLE_DEVICES": "7"}
    assert not facts("Without CUDA_VISIBLE_DEVICES=7 it works, EPOCHS_MAX=3").environ


def test_a_number_of_macos_follows_its_name() -> None:
    assert facts("I have macOS Sonoma").host.macos == "14"
    assert facts("My mac has Sonoma 15.1").host.macos is None


HEALTHY = "\n\n>>> torch.__version__, torch.cuda.is_available(), torch.cuda.get_device_name()\n('2.6.0+cu124', True, 'NVIDIA GeForce RTX 3090')\n"


@pytest.mark.parametrize(
    ("said", "available"),
    [
        ("The renderer is using my CPU instead of the RTX 5090.", False),
        ("whisper runs on CPU and not on the GPU", False),
        ("torch does not see my GPU", False),
        ("It can't detect the NVIDIA GPU, why?", False),
        ("My GPU is not being used", False),
        ("How do I use the CPU instead of the GPU?", None),
        ("If torch does not see the GPU, install it anew", None),
        ("I want it on the CPU instead of the GPU", None),
        ("It uses the GPU and not the CPU", None),
    ],
)
def test_a_gpu_that_is_said_not_to_be_used(said: str, available: bool | None) -> None:
    torch = facts(said).torch
    assert (torch.cuda_available if isinstance(torch, Torch) else None) is available


def test_what_python_says_of_the_gpu_stands_above_the_complaint() -> None:
    torch = facts("It uses my CPU instead of the GPU" + HEALTHY).torch
    assert isinstance(torch, Torch)
    assert torch.cuda_available is True


def test_an_unused_gpu_is_a_symptom() -> None:
    report = examine(Request(evidence=(("mail", b"I have an RTX 3060, and torch does not use my GPU.\n"),)))
    assert "accelerator-unused" in {s.id for s in report.symptoms}
    assert report.verdict != "healthy"


@pytest.mark.parametrize(
    ("said", "id"),
    [
        ("Since yesterday it only gives noise.", "complaint-wrong-images"),
        ("The images are all black, no error.", "complaint-wrong-images"),
        ("Then the training hangs for ever.", "complaint-hangs"),
        ("ComfyUI closes without any error.", "complaint-ends-silently"),
        ("It fails after suspend.", "complaint-after-suspend"),
    ],
)
def test_a_complaint_is_never_healthy(said: str, id: str) -> None:
    plain, report = (examine(Request(evidence=(("mail", text.encode()),))) for text in (HEALTHY, said + HEALTHY))
    assert plain.verdict == "healthy"
    assert id in {s.id for s in report.symptoms}
    assert report.verdict != "healthy"


@pytest.mark.parametrize("said", ["noise schedule: linear", "noise_level 3", "garbage collection took 3 s", "hang on"])
def test_words_that_are_no_complaint(said: str) -> None:
    assert not [e for e in facts(said).errors if e.pattern.startswith("complaint")]


def test_a_machine_that_has_no_gpu() -> None:
    for said in (
        "My laptop has no GPU, and I run train.py",
        "I want to train on my linux server which has no GPU:",
        "this machine doesn't have any nvidia hardware (or any gpu at all)",
        "It is a CPU-only machine.",
    ):
        assert facts(said + "\n").gpus == (), said
    for said in ("no GPU is detected", "the container has no GPU", "if your machine has no GPU", "a friend's PC has no GPU"):
        assert facts(said + "\n").gpus is None, said


def test_a_version_with_the_local_part_of_a_build_is_torchs() -> None:
    seen = facts("At the start it says 2.6.0+cpu, and I do not know how to change that.\n")
    assert (seen.torch.version, seen.torch.cuda) == ("2.6.0+cpu", ABSENT)
    assert facts("│ │  PyTorch  │  2.10.0+cpu\n").torch.version == "2.10.0+cpu"
    assert facts("torchvision 0.21.0+cpu is there\n").torch is None
    assert facts("it wants torch>=2.2.0+cpu\n").torch is None


def test_a_choice_is_no_complaint() -> None:
    assert facts("I don't use NVIDIA CUDA. Could there be an extra without it?\n").torch is None
    assert facts("ComfyUI does not use my GPU.\n").torch.cuda_available is False


def test_who_says_where_it_runs() -> None:
    assert facts("I pulled the docker image, torch sees nothing.\n").host.container == "docker"
    assert facts("It works outside docker.\n").host.container is None


NO_CUDA = "Torch not compiled with CUDA enabled"


@pytest.mark.parametrize(
    ("said", "system"),
    [
        (f"{NO_CUDA} on M2 MAC", "darwin"),
        (f"'{NO_CUDA}' on Apple M1", "darwin"),
        (f"{NO_CUDA}\n\nthis is a M3 Pro , how do I solve it?", "darwin"),
        (f"{NO_CUDA}\n\nPlatform: macbook pro 16in", "darwin"),
        (f"is mac actually supported?\n\n{NO_CUDA}", "darwin"),
        (f"Hello, on mac M1 there's the error of {NO_CUDA}", "darwin"),
        (f"{NO_CUDA}\nRuntimeError: Unknown platform: darwin", "darwin"),
        (f"doesn't work on my Mac: {NO_CUDA}", "darwin"),
        (f"I connect from my MacBook to a server by ssh.\n{NO_CUDA}", None),
        (f"It works on my Mac but not on the Ubuntu box.\n{NO_CUDA}", "linux"),
        (f"Mac users: use mps.\n{NO_CUDA}", None),
        (f"{NO_CUDA}\nMAC address of the licence: 00:11", None),
    ],
)
def test_a_mac_in_whatever_words(said: str, system: str | None) -> None:
    assert facts(said).host.system == system


def test_a_release_of_macos_in_a_message_is_not_this_one() -> None:
    said = "Run on Intel MacBook Pro: RuntimeError: The MPS backend is supported on MacOS 12.3+.."
    assert facts(said).host.macos is None


def test_so_many_gpus_are_no_machines() -> None:
    said = "".join(f"my RTX {n} fails and the quadro p{n} works\n" for n in range(1000, 2000))
    assert len(facts(said).gpus or ()) <= 100

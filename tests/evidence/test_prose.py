"""GPUs, Macs, Jetsons and WSL as a person names them in a sentence."""

import doctest

import pytest

from doctor.evidence import prose
from doctor.model.facts import ABSENT
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

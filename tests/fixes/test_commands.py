"""The commands `fix` and `install`, from the command line to the exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run

COLLECT_ENV = """Collecting environment information...
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: N/A

OS: Ubuntu 22.04.4 LTS (x86_64)
Libc version: glibc-2.35

Python version: 3.12.4 (main, Jun  6 2024) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: {available}
GPU models and configuration: GPU 0: {gpu}
Nvidia driver version: {driver}
"""


@pytest.fixture
def ticket(tmp_path: Path):
    def write(
        torch="2.6.0+cu124", cuda="12.4", available=False, gpu="NVIDIA GeForce RTX 3090", driver="470.256.02"
    ) -> str:
        path = tmp_path / "ticket.txt"
        path.write_text(COLLECT_ENV.format(torch=torch, cuda=cuda, available=available, gpu=gpu, driver=driver))
        return str(path)

    return write


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str]:
    code = run(argv)
    return code, capsys.readouterr().out


def test_fix_prints_the_systems_commands_and_comments_for_what_is_manual(ticket, capsys) -> None:
    code, out = call(capsys, "fix", "--from", ticket(), "--print-commands")
    assert code == 0
    assert out.splitlines() == ["sudo ubuntu-drivers install nvidia:580", "# Restart the machine"]


def test_fix_shows_the_plan(ticket, capsys) -> None:
    code, out = call(capsys, "fix", "--from", ticket())
    assert code == 0
    assert "nvidia-driver-too-old" in out
    assert "--index-url https://download.pytorch.org/whl/cu118" in out


def test_fix_prints_commands_only(ticket, capsys) -> None:
    path = ticket(torch="2.6.0+cpu", cuda="None", driver="580.95.05")
    code, out = call(capsys, "fix", "--from", path, "--print-commands", "--tool", "uv")
    assert code == 0
    assert out.splitlines() == ["uv pip install --python python3 --reinstall-package torch torch==2.6.0"]


def test_fix_of_a_healthy_machine(ticket, capsys) -> None:
    code, out = call(capsys, "fix", "--from", ticket(available=True, driver="580.95.05"), "--print-commands")
    assert (code, out.strip()) == (0, "")


def test_install(ticket, capsys) -> None:
    code, out = call(capsys, "install", "--from", ticket())
    assert code == 0
    assert "torch 2.7.1 (cu118) serves this machine" in out
    assert "not torch 2.15.0 (cu132): CUDA 13.2 needs driver 580 or newer" in out
    assert out.rstrip().endswith("torch==2.7.1 --index-url https://download.pytorch.org/whl/cu118")


def test_install_what_is_wanted(ticket, capsys) -> None:
    path = ticket(driver="580.95.05")
    argv = ("--torch", "2.5.*", "--with", "torchvision", "--backend", "cu121", "--print-commands")
    code, out = call(capsys, "install", "--from", path, *argv)
    assert code == 0
    assert out == (
        "python3 -m pip install torch==2.5.1 torchvision==0.20.1 --index-url https://download.pytorch.org/whl/cu121\n"
    )


def test_install_where_nothing_serves(ticket, capsys) -> None:
    code, out = call(capsys, "install", "--from", ticket(gpu="NVIDIA GeForce RTX 4090"))
    assert code == 1
    assert "no torch build serves this machine as it is" in out
    assert "update the NVIDIA driver from 470.256.02 to 580 or newer" in out


@pytest.mark.parametrize(
    "argv", [("--torch", "nonsense"), ("--backend", "cuda!"), ("--tool", "apt"), ("--with", "numpy")]
)
def test_wrong_usage(ticket, capsys, argv) -> None:
    assert call(capsys, "install", "--from", ticket(), *argv)[0] == 2


def test_no_folder_of_tickets(tmp_path, ticket, capsys) -> None:
    ticket()
    assert call(capsys, "fix", "--from", str(tmp_path))[0] == 2
    assert call(capsys, "install", "--from", str(tmp_path))[0] == 2

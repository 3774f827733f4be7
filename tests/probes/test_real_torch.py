"""The whole way with a real torch: import, facts, the probe of the CPU."""

from __future__ import annotations

import subprocess
import time

import pytest

from doctor.facts.system import System
from doctor.facts.target import Found
from doctor.model.facts import ABSENT, Facts, Torch
from tests.probes.fakes import look

pytestmark = pytest.mark.real_torch


@pytest.fixture(scope="module")
def looked(torch_python: str) -> Facts:
    return look(System.of_this_process(), Found(python=torch_python, reason="of the test"), limit_s=60)


def test_the_facts_of_a_cpu_build(looked: Facts) -> None:
    torch = looked.torch
    assert isinstance(torch, Torch)
    assert (torch.imports, torch.import_failure, torch.cuda_built, torch.cuda_available) == (True, ABSENT, False, False)
    assert (torch.devices, torch.arch_list) == ((), ())
    assert (torch.cuda, torch.cuda_error, torch.cudnn) == (ABSENT, ABSENT, ABSENT)
    assert torch.version
    assert torch.path
    assert torch.path.endswith("torch")
    assert torch.import_ms
    assert torch.threads
    assert torch.loaded_libraries
    assert any("libtorch_cpu" in path for path in torch.loaded_libraries)
    assert looked.gaps == ()


def test_the_cpu_is_well(looked: Facts) -> None:
    assert looked.probes is not None
    (cpu,) = looked.probes
    assert (cpu.device, cpu.status, cpu.stage, cpu.reason) == ("cpu", "ok", "speed", "")
    assert [s.name for s in cpu.stages] == [
        "open", "reference", "allocate", "kernel", "precision", "correct", "layouts", "random", "speed",
    ]
    assert cpu.data["float32_bits_effective"] == 24
    assert "wrong" not in cpu.data


def test_the_probe_is_quick(looked: Facts) -> None:
    assert looked.probes
    assert sum(stage.ms for stage in looked.probes[0].stages) < 3000  # 400 on two idle cores


def test_facts_alone_cost_little_more_than_the_import(torch_python: str) -> None:
    """The best of three pairs at most: other work shares the machine. A child that said all is not waited for."""
    found = Found(python=torch_python, reason="of the test")
    ratios = []
    for _ in range(3):
        started = time.monotonic()
        subprocess.run([torch_python, "-c", "import torch"], check=True, timeout=60)
        bare = time.monotonic() - started
        started = time.monotonic()
        look(System.of_this_process(), found, probe=False, limit_s=60)
        ratios.append((time.monotonic() - started) / bare)
        if ratios[-1] < 1.15:
            break
    assert min(ratios) < 1.15

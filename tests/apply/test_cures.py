"""From a broken state to a cured one with `fix --run`, and back with `--undo`: real pip and uv, stub wheels, a
recorded GPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from tests.index.patient import Patient

Make = Callable[..., Patient]
both_tools = pytest.mark.parametrize("pip", [True, False], ids=["pip", "uv"])


def cured(patient: Patient) -> None:
    done = patient.fix()
    assert done.returncode == 0, done.stderr
    assert "cured; the environment is healthy" in done.stderr
    assert patient.doctor("check", "--no-probe").returncode == 0


def undone(patient: Patient, before: dict[str, str]) -> None:
    done = patient.doctor("fix", "--undo")
    assert done.returncode == 0, done.stderr
    assert patient.content() == before
    assert not list((patient.env / ".torchdoctor").glob("2*")), "the snapshot is of no more use"


@both_tools
def test_a_cpu_build_on_a_machine_with_a_gpu(patient: Make, pip: bool) -> None:
    sick = patient(pip=pip)
    sick.install("torch==2.13.0", "torchvision", backend="cpu")
    before = sick.content()
    cured(sick)
    assert sick.torch() == "2.13.0+cu130"
    undone(sick, before)
    assert sick.torch() == "2.13.0+cpu"


@both_tools
def test_no_torch(patient: Make, pip: bool) -> None:
    sick = patient(pip=pip)
    before = sick.content()
    cured(sick)
    assert sick.torch() == "2.15.0+cu130"
    undone(sick, before)


@both_tools
def test_a_torchvision_of_another_torch(patient: Make, pip: bool) -> None:
    sick = patient(pip=pip)
    sick.install("torch==2.14.1", backend="cu130")
    sick.install("torchvision==0.28.0", "--no-deps", backend="cu130")
    before = sick.content()
    cured(sick)
    undone(sick, before)


@both_tools
def test_deleted_libraries(patient: Make, pip: bool) -> None:
    sick = patient(pip=pip)
    sick.install("torch==2.14.1", backend="cu130")
    shutil.rmtree(sick.site / "torch" / "lib")
    (sick.site / "torch" / "__init__.py").write_text(
        "raise ImportError('libtorch_cpu.so: cannot open shared object file')"
    )
    before = sick.content()
    cured(sick)
    assert sick.torch() == "2.14.1+cu130"
    undone(sick, before)


@both_tools
def test_two_torches(patient: Make, pip: bool) -> None:
    """The second lies in a folder that a .pth file adds, as after `pip install --target`."""
    sick = patient(pip=pip)
    sick.install("torch==2.14.1", backend="cu130")
    extra = sick.env / "extra" / "site-packages"
    sick.install("torch==2.13.0", "--target", str(extra), backend="cu130")
    (sick.site / "extra.pth").write_text(f"{extra}\n")
    before = sick.content()
    cured(sick)
    assert sick.torch() == "2.13.0+cu130", "pip removes the one that is imported"
    undone(sick, before)
    assert sick.torch() == "2.14.1+cu130"

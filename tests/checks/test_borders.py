"""The borders between diagnoses that look alike: of two that could be said, the right one is, and alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.judgement import judged
from doctor.checks import check_of
from doctor.checks.runner import judge
from doctor.model.facts import Facts
from tests.checks.driver import (
    cuda_compat_conflict,
    driver_library_not_found,
    gpu_blocked_by_sandbox,
    gpu_hidden,
    gpu_permission_denied,
    nvidia_driver_wrong_flavour,
    rocm_in_wsl,
)
from tests.checks.interpreter import stale_kernel
from tests.checks.libraries import library_path_conflict
from tests.checks.machine import process_limits
from tests.checks.torch import harmful_variable, intel_gpu_unsupported, torch_too_new
from tests.example_case import Case, facts_of
from tests.examples import linux, with_error, with_nvidia, with_torch

# (examples, name of one, what is not said beside it)
BORDERS = [
    (gpu_permission_denied, "live", ("amd-driver-missing", "no-accelerator")),
    (gpu_permission_denied, "and nvidia-smi finds no device", ("gpu-hardware-fault", "gpu-blocked-by-sandbox")),
    (gpu_permission_denied, "Intel's render node is closed", ("intel-gpu-driver-missing",)),
    (gpu_blocked_by_sandbox, "the GPU's node is masked", ("gpu-hardware-fault", "gpu-hidden", "nvidia-driver-missing")),
    (gpu_blocked_by_sandbox, "the control node is masked", ("wsl-driver-misconfigured", "nvidia-driver-not-running")),
    (gpu_blocked_by_sandbox, "nvidia_uvm's node is masked", ("nvidia-uvm-broken",)),
    (gpu_blocked_by_sandbox, "root may not open the nodes", ("gpu-permission-denied",)),
    (gpu_hidden, "twice the same", ("gpu-hardware-fault", "no-accelerator")),
    (nvidia_driver_wrong_flavour, "Blackwell under the proprietary module", ("gpu-hardware-fault",)),
    (nvidia_driver_wrong_flavour, "the kernel says which one it wants", ("nvidia-driver-not-running",)),
    (driver_library_not_found, "NixOS", ("nvidia-driver-missing", "no-accelerator")),
    (driver_library_not_found, "a container with the nodes alone", ("container-without-gpu",)),
    (cuda_compat_conflict, "the loader takes it", ("nvidia-driver-library-mismatch", "nvidia-driver-too-old")),
    (cuda_compat_conflict, "it stands in the variable", ("library-path-conflict", "nvidia-uvm-broken")),
    (rocm_in_wsl, "rocminfo says so", ("amd-driver-missing", "wsl-driver-misconfigured")),
    (process_limits, "30 files", ("gpu-busy", "device-crashes")),
    (process_limits, "4 GB of addresses", ("cuda-out-of-memory",)),
    (library_path_conflict, "an empty libcuda comes first", ("nvidia-driver-missing", "driver-library-not-found")),
    (harmful_variable, "PTX alone", ("extension-abi-mismatch", "gpu-too-new-for-build", "gpu-too-old-for-build")),
    (harmful_variable, "pasted: the override of another chip", ("amd-gpu-unsupported",)),
    (torch_too_new, "torchvision's functional_tensor", ("companion-mismatch", "program-error")),
    (stale_kernel, "pasted: an installation in a cell, and then an error", ("program-error",)),
    (intel_gpu_unsupported, "an XPU build", ("intel-gpu-driver-missing",)),
]


def case(examples: object, name: str) -> Facts:
    found = examples.BAD[name]  # type: ignore[attr-defined]
    return facts_of(found.what) if isinstance(found, Case) else facts_of(found)


@pytest.mark.parametrize(
    ("examples", "name", "others"), BORDERS, ids=[f"{e.__name__.rpartition('.')[2]}: {n}" for e, n, _ in BORDERS]
)
def test_one_is_said_and_not_the_other(examples: object, name: str, others: tuple[str, ...]) -> None:
    id = examples.__name__.rpartition(".")[2].replace("_", "-")  # type: ignore[attr-defined]
    assert all(check_of(other) for other in others)
    _, findings = judge(case(examples, name))
    said = [f.id for f in findings if f.root]
    assert id in said
    assert not set(others) & set(said)


def test_the_note_names_the_gpu_that_is_hidden() -> None:
    facts = case(gpu_hidden, "one of two, and one that is not there")
    (finding,) = (f for f in judge(facts)[1] if f.id == "gpu-hidden")
    assert finding.values["hidden"] == "1"
    assert "7, which is not there" in finding.detail


def test_outside_wsl_nothing_is_wrong_with_wsl() -> None:
    """NVML gives the same words where a sandbox masks the control node."""
    facts = with_torch(
        with_nvidia(linux(), "NVIDIA H200", smi_error="GPU access blocked by the operating system", cuinit=304),
        "2.9.1+cu128",
        cuda_available=False,
    )
    assert "wsl-driver-misconfigured" not in [f.id for f in judge(facts)[1]]


def test_void_says_nothing_of_the_machines_gpus() -> None:
    facts = facts_of("NVIDIA_VISIBLE_DEVICES=void\n$ nvidia-smi\nbash: nvidia-smi: command not found\n"
                     "RuntimeError: Found no NVIDIA driver on your system.\n")  # fmt: skip
    found = judged(facts).account.findings
    assert found[0].id == "container-without-gpu"
    assert not any("There is an NVIDIA GPU" in f.title for f in found)


def test_a_device_asked_for_is_a_consequence_of_what_keeps_it_away() -> None:
    facts = replace(case(gpu_permission_denied, "NVIDIA's nodes are closed to an ordinary user"), asked_devices=("cuda",))
    facts = replace(facts, torch=replace(facts.torch, devices=()))  # type: ignore[type-var]
    by_id = {f.id: f for f in judge(facts)[1]}
    assert by_id["requested-device-missing"].explained_by == "gpu-permission-denied"
    assert not by_id["requested-device-missing"].root
    mps = {f.id: f for f in judge(replace(facts, asked_devices=("mps",)))[1]}
    assert mps["requested-device-missing"].root, "NVIDIA's nodes have nothing to do with MPS"


def test_the_override_comes_before_a_download() -> None:
    facts = with_error(
        facts_of("torch 2.8.0+rocm6.4\n$ rocminfo | grep gfx\n  Name:                    gfx1031\n"),
        "hip-invalid-device-function",
        "RuntimeError: HIP error: invalid device function",
    )
    (finding,) = (f for f in judge(facts)[1] if f.id == "amd-gpu-unsupported")
    assert finding.remedies[0].action == "set-env"

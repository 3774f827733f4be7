"""Texts and probes lead to the row of the erratum behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks import _errata
from doctor.checks.runner import judge
from doctor.evidence.read import read
from doctor.knowledge import errata as engine
from doctor.model.facts import Facts, ProbeResult
from tests.checks.torch.known_errata import used_mac, used_nvidia
from tests.examples import linux, mac, with_error, with_packages, with_torch
from tests.knowledge.test_errata import erratum

ROWS = (
    erratum(id="mps-linear", ops=("Linear",), title="Linear is wrong"),
    erratum(id="mps-linear-too", ops=("nn.functional.linear",), title="Linear is wrong again"),
    erratum(id="mps-pool", ops=("MaxPool2d",), title="A pool is wrong", trigger="clamp_twice"),
    erratum(id="mps-leak", kind="leak", ops=("BatchNorm2d",), title="Memory leaks"),
    erratum(id="cpu-says", kind="error", backends=("cpu", "mps"), message="this telling line of text"),
)


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    monkeypatch.setattr(engine, "errata", lambda: ROWS)
    monkeypatch.setattr("doctor.knowledge.lookup.errata", lambda: ROWS)
    by_id = {e.id: e for e in ROWS}
    monkeypatch.setattr("doctor.knowledge.lookup.erratum_of", by_id.get)
    from doctor.evidence import operations

    operations._names.cache_clear()
    yield
    operations._names.cache_clear()


def named(facts: Facts, id: str) -> str | None:
    _, findings = judge(facts)
    return next((f.values.get("erratum") for f in findings if f.id == id), None)


def differs(*operations: str, version: str = "2.8.0") -> Facts:
    facts = with_error(with_torch(mac(macos="15.1"), version), "mps-differs", "cpu and mps differ by 0.5964")
    return replace(facts, operations=operations, live=False)


@pytest.mark.parametrize(
    ("operations", "id"),
    [(("MaxPool2d",), "mps-pool"), (("torch.nn.Linear",), "mps-linear"), (("Linear", "MaxPool2d"), "mps-pool"),
     ((), None), (("BatchNorm2d",), None)],
)  # fmt: skip
def test_the_operation_that_fewest_rows_concern_leads_to_its_row(operations: tuple[str, ...], id: str | None) -> None:
    assert named(differs(*operations), "mps-wrong-results") == id


def test_a_release_without_the_fault_is_not_accused() -> None:
    assert named(differs("MaxPool2d", version="2.9.1"), "mps-wrong-results") is None


def test_the_cure_is_the_release_with_the_fix() -> None:
    _, findings = judge(differs("MaxPool2d"))
    found = next(f for f in findings if f.id == "mps-wrong-results")
    assert found.remedies[0].details == {"torch": ">=2.9.1"}


def test_the_probe_names_the_row_of_its_own_computation() -> None:
    wrong = {"wrong": ["clamp-twice: 3 of 4 elements are wrong"], "silent_faults": ["clamp-twice"]}
    probe = ProbeResult(id="mps", device="mps", status="failed", stage="silent", data=wrong)
    assert named(replace(used_mac("2.8.0"), probes=(probe,)), "mps-wrong-results") == "mps-pool"


def test_a_message_leads_to_its_row_unless_it_means_something_else() -> None:
    facts = with_torch(mac(macos="15.1"), "2.8.0")
    heard = with_error(facts, "exception", "RuntimeError: This telling  line of text, and more")
    assert named(heard, "torch-release-bug") == "cpu-says"
    recognised = with_error(facts, "libnccl-undefined", "this telling line of text")
    assert named(with_error(recognised, "numpy-abi", "x"), "torch-release-bug") in (None, "cpu-says")
    known = with_error(facts, "no-kernel-image", "this telling line of text")
    assert named(known, "torch-release-bug") is None
    other = with_error(with_torch(mac(macos="15.1"), "2.9.1"), "exception", "this telling line of text")
    assert named(other, "torch-release-bug") is None


def test_memory_that_ran_out_leads_to_the_operation_that_takes_too_much(monkeypatch) -> None:
    row = erratum(id="cuda-conv", kind="slow", backends=("cuda",), ops=("Conv3d",), title="Conv3d takes much memory")
    monkeypatch.setattr(engine, "errata", lambda: (row,))
    monkeypatch.setattr("doctor.knowledge.lookup.errata", lambda: (row,))
    facts = with_error(used_nvidia("2.8.0+cu128", "9.10.2"), "cuda-out-of-memory", "CUDA out of memory.")
    assert named(replace(facts, operations=("conv3d",)), "torch-release-bug") == "cuda-conv"
    assert named(facts, "torch-release-bug") is None
    assert named(replace(used_nvidia("2.8.0+cu128", "9.10.2"), operations=("conv3d",)), "torch-release-bug") is None


def test_which_operations_a_text_names() -> None:
    text = b"torch 2.8.0 on mps: nn.MaxPool2d is wrong, linear regression is not; `Linear` neither, says torch"
    assert set(read((("t", text),)).facts.operations) == {"MaxPool2d", "Linear"}
    assert read((("t", b"a linear pool of water"),)).facts.operations == ()


def test_what_a_machine_is_to_the_table() -> None:
    place = _errata.place_of(used_mac("2.8.0", chip="Apple M2 Max"))
    assert (place.backends, place.devices) == (("mps", "cpu"), {"mps": ("M2",)})
    assert (place.system, place.system_version) == ("darwin", "15.1")
    gpu = _errata.place_of(with_packages(used_nvidia("2.9.1+cu128", "9.10.2"), triton="3.5.1"))
    assert (gpu.backends, gpu.devices) == (("cuda", "cpu"), {"cuda": ("sm_89",)})
    assert {k: gpu.libraries.get(k) for k in ("cudnn", "cuda", "rocm", "triton", "torchvision", "scipy")} == {
        "cudnn": "9.10.2", "cuda": "12.8", "rocm": "", "triton": "3.5.1", "torchvision": "", "scipy": None,
    }  # fmt: skip
    assert gpu.cpu["avx2"] is True
    assert gpu.cpu["amx_tile"] is False
    unused = _errata.place_of(with_torch(linux(), "2.9.1+cu128", cuda_available=False))
    assert unused.backends == ("cpu",)

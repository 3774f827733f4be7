"""Texts and probes lead to the row of the erratum behind them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks import _errata, _errata_fit
from doctor.checks.runner import judge
from doctor.checks.torch import torch_release_bug
from doctor.evidence import signs, threads
from doctor.evidence.read import read
from doctor.knowledge import errata as engine
from doctor.knowledge import load
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


def put(monkeypatch, *rows) -> None:
    """The table holds these rows alone."""
    monkeypatch.setattr(engine, "errata", lambda: rows)
    monkeypatch.setattr("doctor.knowledge.lookup.errata", lambda: rows)
    monkeypatch.setattr("doctor.knowledge.lookup.erratum_of", {e.id: e for e in rows}.get)
    load.forget()


@pytest.fixture(autouse=True)
def rows(monkeypatch):
    put(monkeypatch, *ROWS)
    yield
    load.forget()


def named(facts: Facts, id: str) -> str | None:
    _, findings = judge(facts)
    return next((f.values.get("erratum") for f in findings if f.id == id), None)


def differs(*names: str, version: str = "2.8.0") -> Facts:
    facts = with_error(with_torch(mac(macos="15.1"), version), "mps-differs", "cpu and mps differ by 0.5964")
    return replace(facts, operations=names, live=False)


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
    put(monkeypatch, row)
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


def seen(*rows, **facts) -> list[tuple[str, bool]]:
    made = replace(with_torch(mac(macos="15.1"), facts.pop("version", "2.8.0")), live=False, **facts)
    return [(f.match.erratum.id, f.named) for f in _errata_fit.explaining(made, ("wrong-result", "nan"), ("mps",))]


STRIDES = erratum(id="mps-strides", ops=("elu",), title="Wrong for inputs that are not contiguous", versions="==2.8.0")
HALF = erratum(id="mps-half", ops=("gelu",), title="Wrong in float16", symptom="x", versions="==2.8.0")


def test_what_is_seen_leads_to_a_row_where_no_operation_is_named(monkeypatch) -> None:
    put(monkeypatch, STRIDES, HALF)
    assert seen(signs=("strides",)) == [("mps-strides", False)]
    assert seen(signs=("half",)) == [("mps-half", False)]
    assert seen(signs=("images", "training")) == []  # where it was met says little of what is wrong
    assert seen(signs=("strides",), version="2.9.1") == []
    assert seen(signs=("strides",), operations=("gelu",)) == [("mps-half", True), ("mps-strides", False)]


def test_what_people_compare_with_is_no_lead_beside_another_operation(monkeypatch) -> None:
    put(monkeypatch, erratum(id="mps-max", ops=("torch.max",)), erratum(id="mps-norm", ops=("BatchNorm2d",)))
    assert seen(operations=("torch.max", "BatchNorm2d"))[0] == ("mps-norm", True)
    assert seen(operations=("torch.max",)) == [("mps-max", True)]


def test_a_thread_that_is_cited_leads_to_its_row(monkeypatch) -> None:
    row = erratum(id="mps-cited", sources=("https://github.com/pytorch/pytorch/issues/133520",), versions="==2.8.0")
    put(monkeypatch, row)
    text = b"torch 2.8.0, macOS 15.1\nIt is https://github.com/pytorch/pytorch/issues/133520\n"
    facts = read((("t", text),)).facts
    assert facts.threads == ("pytorch/pytorch#133520",)
    assert named(facts, "torch-release-bug") == "mps-cited"
    assert named(read((("t", text.replace(b"2.8.0", b"2.9.1")),)).facts, "torch-release-bug") is None


def test_a_message_names_its_release_where_that_is_not_known() -> None:
    facts = with_error(replace(mac(macos="15.1"), torch=None), "exception", "RuntimeError: this telling line of text")
    assert named(facts, "torch-release-bug") == "cpu-says"


def test_what_other_faults_say_too_counts_of_a_known_release_beside_the_operation(monkeypatch) -> None:
    line = "an illegal memory access was encountered"
    row = erratum(
        id="cpu-shared", kind="crash", backends=("cpu", "mps"), ops=("conv_x",), message=line, shared=True
    )
    put(monkeypatch, row)
    facts = with_error(with_torch(mac(macos="15.1"), "2.8.0"), "exception", f"RuntimeError: {line}")
    assert named(facts, "torch-release-bug") is None
    assert named(replace(facts, operations=("conv_x",)), "torch-release-bug") == "cpu-shared"
    assert named(replace(facts, torch=None, operations=("conv_x",)), "torch-release-bug") is None


def test_two_rows_with_one_message_name_no_release_where_it_is_not_known(monkeypatch) -> None:
    line = "this telling line of text"
    rows = (erratum(id=f"cpu-{n}", kind="error", backends=("cpu", "mps"), message=line) for n in ("one", "two"))
    put(monkeypatch, *rows)
    facts = with_error(replace(mac(macos="15.1"), torch=None), "exception", f"RuntimeError: {line}")
    assert named(facts, "torch-release-bug") is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("tensor([[0., 0.], [0., 0.]], device='mps:0')", "zeros"), ("contiguous: False , all close: False", "strides"),
        ("after torch.mps.empty_cache() 0/625 elements wrong", "freed-memory"), ("only noise", "images"),
        ("Everything was fine before the upgrade of macOS", "system-updated"), ("it gives nan", "nan"),
        ("leaks with varying sequence lengths", "varying-shapes"),
    ],
)  # fmt: skip
def test_signs(text: str, found: str) -> None:
    assert found in signs.of(text)
    assert found not in signs.of("[pip3] torch==2.8.0\nIs debug build: False\ncompiled cuda : None")


def test_threads() -> None:
    text = "https://github.com/pytorch/pytorch/pull/139006, pytorch/pytorch#12, #13, a/b/c#14, x@pytorch/pytorch#15"
    assert list(threads.of(text))[:2] == ["pytorch/pytorch#139006", "pytorch/pytorch#12"]


def test_the_way_back_is_for_the_time_until_the_fix_is_out() -> None:
    facts = replace(with_torch(mac(macos="15.1"), "2.8.0"), as_of="2025-10-01")
    row = erratum(versions="==2.8.0", fixed_in="2.9.0")
    found = _errata.way_back(row, facts)
    assert found is not None
    assert (found.action, found.details) == ("downgrade-torch", {"torch": "==2.7.1"})
    assert _errata.way_back(replace(row, fixed_in=None), facts) is None
    assert _errata.way_back(replace(row, versions="==2.7.0"), facts) is None


def test_a_name_keeps_its_capitals_within_a_sentence() -> None:
    said = {"NumPy 2 fails": "NumPy 2 fails", "Sorting fails": "sorting fails", "CUDA fails": "CUDA fails"}
    assert {title: torch_release_bug._within(title) for title in said} == said

"""Remedies that depend on more of the machine than the fault."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

from doctor.checks.runner import judge
from doctor.model.facts import DamagedFile, Facts, Package
from tests.examples import linux, with_error, with_nvidia, with_torch

CHECKS = Path(__file__).parents[2] / "doctor" / "checks"
STUBS = "/usr/local/cuda/lib64/stubs"


def remedies(path: str, *, live: bool) -> list[tuple[str, dict[str, str]]]:
    facts = with_nvidia(linux(), "NVIDIA H200", libcuda=f"{STUBS}/libcuda.so", cuinit=34)
    facts = with_torch(facts, "2.11.0+cu130", cuda_available=False)
    _, findings = judge(replace(facts, live=live, environ={"LD_LIBRARY_PATH": path}))
    assert findings[0].id == "library-path-conflict"
    return [(r.action, dict(r.details)) for r in findings[0].remedies]


def test_only_the_stub_leaves_the_path_where_other_entries_may_be_needed() -> None:
    first, second = remedies(f"{STUBS}:/usr/local/nvidia/lib64", live=True)[:2]
    assert first == ("set-env", {"name": "LD_LIBRARY_PATH", "value": "/usr/local/nvidia/lib64"})
    assert second[0] == "unset-env"


def test_an_old_libstdcxx_leaves_the_path_that_leads_to_it() -> None:
    said = "/opt/tool/lib64/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /e/torch/lib/libc10.so)"
    facts = replace(linux(), environ={"LD_LIBRARY_PATH": "/opt/tool/lib64:/opt/mine"})
    _, (found, *_) = judge(with_error(facts, "exception", f"ImportError: {said}", "ImportError", said))
    assert found.id == "libstdcxx-too-old"
    first = found.remedies[0]
    assert (first.action, dict(first.details)) == ("set-env", {"name": "LD_LIBRARY_PATH", "value": "/opt/mine"})


def test_files_that_may_not_be_read_are_their_owners_to_open() -> None:
    """No installation helps: the environment is another user's."""
    file = DamagedFile(distribution="torch", file="torch/lib/libtorch_cpu.so", what="unreadable")
    facts = replace(with_torch(linux(), "2.6.0+cpu", path="/srv/e/lib/python3.12/site-packages/torch"), damaged=(file,))
    _, findings = judge(facts)
    (remedy,) = next(f.remedies for f in findings if f.id == "torch-install-broken")
    assert remedy.text.endswith("chmod -R a+rX /srv/e/lib/python3.12/site-packages")


def test_a_sentence_of_a_remedy_stands_for_itself() -> None:
    """It may come first or as an alternative, which begins with «Or:»."""
    texts = [
        keyword.value.value
        for path in CHECKS.rglob("*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Remedy"
        for keyword in call.keywords
        if keyword.arg == "text" and isinstance(keyword.value, ast.Constant)
    ]
    assert len(texts) > 20
    assert [text for text in texts if text.startswith("Or ") or not text.endswith(".")] == []


def test_a_path_of_stubs_alone_is_unset() -> None:
    assert remedies(STUBS, live=True)[0][0] == "unset-env"
    assert remedies(f"{STUBS}:/usr/local/nvidia/lib64", live=False)[0][0] == "unset-env"


def test_a_missing_library_of_cuda_is_named_by_the_package_that_torch_pins() -> None:
    lost = "ImportError: libcudnn.so.9: cannot open shared object file"

    def packages(facts: Facts) -> list[tuple[str | None, str | None]]:
        _, findings = judge(with_error(facts, "exception", lost))
        (finding,) = (f for f in findings if f.id == "shared-library-missing")
        return [(r.details.get("package"), r.details.get("spec")) for r in finding.remedies[1:]]

    torch = with_torch(linux(), "2.6.0", cuda="12.4", imports=False)
    assert packages(torch) == [("nvidia-cudnn-cu12", "==9.1.0.70")]
    assert packages(with_torch(linux(), "2.6.0+cu118", cuda="11.8", imports=False)) == [(None, None)], "in words"
    there = Package(name="nvidia-cudnn-cu12", version="9.5.1.17")
    assert packages(replace(torch, packages=(there,))) == [("nvidia-cudnn-cu12", "==9.5.1.17")]


def test_no_build_of_torch_brings_ffmpeg() -> None:
    lost = "OSError: libavutil.so.58: cannot open shared object file"
    _, findings = judge(with_error(with_torch(linux(), "2.6.0+cpu"), "exception", lost))
    assert [r.action for r in findings[0].remedies] == ["install-system-package"]

"""What is made of the target's answer, or of its silence."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.decode import Refused
from doctor.facts import collect, installed
from doctor.facts.installed import PackageSaid, TorchSaid
from doctor.facts.interpreter import failure_of, read_answer, telling_line
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.facts.target import find_target
from doctor.model.facts import ABSENT, Package, TorchCopy
from doctor.process import Result

MARKERS = {"platform_system": "Linux", "platform_machine": "x86_64", "python_version": "3.12", "sys_platform": "linux"}


@pytest.mark.parametrize(
    ("result", "kind"),
    [
        (
            Result(
                ("p",), "crashed", signal=6, stderr="Fatal Python error: init_fs_encoding: x\n\n<no Python frame>\n"
            ),
            "crashed",
        ),
        (Result(("p",), "timed-out", limit_s=30), "timed-out"),
        (Result(("p",), "failed", exit_code=127, stderr="pyenv: python3: command not found\n"), "exited"),
        (Result(("p",), "ok", stdout="hello", exit_code=0), "not-python"),
        (Result(("p",), "not-found"), "missing-base"),
        (Result(("p",), "permission"), "permission"),
    ],
)
def test_silence(result: Result, kind: str) -> None:
    failure = failure_of(result, None, "/x/python")
    assert failure
    assert failure.kind == kind
    assert failure.message


def test_what_the_packages_of_torch_need_of_each_other_is_missing_too() -> None:
    notes = Notes()
    cusparse = Package(name="nvidia-cusparse", version="12.6.3.3", requires=("nvidia-nvjitlink",))
    other = Package(name="torchvision", version="0.29.1", requires=("numpy",))
    notes.set("torch.requires", ("filelock", "nvidia-cusparse==12.6.3.3", "sympy>=1.13.3"), "test")
    notes.set("packages", (cusparse, other), "test")
    installed.write_missing(("filelock", "nvidia-cusparse"), notes)
    assert notes.get("torch.missing_requirements") == ("sympy>=1.13.3", "nvidia-nvjitlink")


def test_what_torch_asks_for_by_extras_is_required() -> None:
    """torch 2.14.1: cuda-toolkit[cublas,cudart]==13.0.3; the package has no files of its own."""
    told = (
        "nvidia-cuda-runtime==13.0.96.*; (sys_platform == 'linux') and extra == 'cudart'",
        "nvidia-cuda-runtime==13.0.96.*; (sys_platform == 'linux') and extra == 'nvcc'",
        "nvidia-cublas==13.1.1.3.*; (sys_platform == 'linux') and extra == 'cublas'",
        "nvidia-cufft==12.0.0.61.*; sys_platform == 'win32' and extra == 'cudart'",
        "nvidia-cuda-nvcc==13.0.88.*; (sys_platform == 'linux') and extra == 'nvcc'",
    )
    toolkit = PackageSaid(name="cuda-toolkit", version="13.0.3", requires=told)
    cublas = PackageSaid(name="nvidia-cublas", version="13.1.1.3")
    torch = ('cuda-toolkit[cublas, cudart]==13.0.3; platform_system == "Linux"', "filelock")
    notes = Notes()
    notes.set("packages", installed.packages_of((toolkit, cublas), MARKERS, torch), "test")
    notes.set("torch.requires", installed.requirements(torch, MARKERS), "test")
    installed.write_missing(("filelock", "cuda-toolkit"), notes)
    assert notes.get("torch.missing_requirements") == ("nvidia-cuda-runtime==13.0.96.*",)
    without = installed.packages_of((toolkit, cublas), MARKERS, ("filelock",))
    assert without[0].requires == (), "extras that nobody asks for"


@pytest.mark.parametrize("answer", ['{"event": "done"}', '{"version": "3.11.4"}', '{"version": "x"}'])
def test_only_a_python_of_that_age_is_too_old(answer: str) -> None:
    with pytest.raises(Refused):
        read_answer(answer)


def test_too_old() -> None:
    failure = failure_of(Result(("p",), "failed", exit_code=79), read_answer('{"version": "2.7.18"}'), "/x")
    assert failure
    assert (failure.kind, failure.version) == ("too-old", "2.7.18")


def test_an_answer_counts_even_if_the_end_is_ugly() -> None:
    answer = read_answer('{"version": "3.12.0", "torch": {}}')
    assert failure_of(Result(("p",), "crashed", signal=11), answer, "/x") is None


def test_the_line_that_says_most() -> None:
    text = "Fatal Python error: init_import_site: Failed\nPython runtime state: initialized\n\n<no Python frame>"
    assert telling_line(text) == "Fatal Python error: init_import_site: Failed"
    assert telling_line("one\ntwo\n") == "two"
    assert telling_line("") == ""


def test_requirements_hold_or_not() -> None:
    texts = ["filelock", 'a>=1; platform_system == "Linux"', 'b; sys_platform == "win32"', 'c; extra == "all"', "d;;"]
    assert installed.requirements(texts, MARKERS) == ("filelock", "a>=1")


def said(**more: object) -> TorchSaid:
    return TorchSaid(**{"copies": (), "leftovers": (), **more})  # type: ignore[arg-type]


def test_no_torch_is_absent_and_a_pip_leftover_alone_too() -> None:
    for leftovers in ((), ("/s/~orch",)):
        notes = Notes()
        installed.write_torch(said(leftovers=leftovers), MARKERS, notes)
        assert notes.get("torch") is ABSENT


def test_remains_and_shadows_are_told_where_torch_is_not_installed() -> None:
    notes = Notes()
    installed.write_torch(said(shadowed_by="/w/torch.py"), MARKERS, notes)
    assert notes.get("torch") is None
    assert notes.get("torch.shadowed_by") == "/w/torch.py"
    notes = Notes()
    installed.write_torch(said(leftovers=("/s/torch",)), MARKERS, notes)
    assert notes.get("torch.leftovers") == ("/s/torch",)


def test_metadata_alone_leaves_the_backend_unknown() -> None:
    copy = TorchCopy(path="/s", version="2.6.0", installer="pip", has_files=False)
    notes = Notes()
    installed.write_torch(said(copies=(copy,), version="2.6.0", version_file=None, path=None), MARKERS, notes)
    assert notes.get("torch.version") == "2.6.0"
    assert notes.get("torch.cuda") is None
    assert "torch.cuda" in {gap.fact for gap in notes.gaps}


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_shim_that_only_says_command_not_found(tmp_path: Path) -> None:
    shim = tmp_path / "python3"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    system = System.of_this_process()
    facts = collect.start(system, find_target(system, str(shim))).finish()
    failure = facts.interpreter.start_failure
    assert failure
    assert (failure.kind, failure.exit_code, failure.message) == ("exited", 127, "pyenv: python3: command not found")
    assert facts.torch is None
    assert facts.host.libc or facts.host.system != "linux", "the machine's own facts do not need the target"
    assert {gap.fact for gap in facts.gaps} >= {"torch", "packages", "interpreter"}


def test_the_live_interpreter() -> None:
    system = System.of_this_process()
    facts = collect.start(system, find_target(system, sys.executable)).finish()
    assert facts.interpreter.start_failure is ABSENT
    assert facts.interpreter.version == "{}.{}.{}".format(*sys.version_info[:3])
    assert facts.interpreter.executable
    assert facts.packages
    assert None not in (facts.host.system, facts.host.architecture, facts.host.memory_bytes)

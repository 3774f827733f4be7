"""The stages of features with real torch on a CPU: each healthy, and each with faults that it must name.

One child imports torch once: tests/inside/faulty_features.py. What needs more interpreters with torch, or a compiler,
runs with TORCHDOCTOR_TEST_ALL=1.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.inside import probe
from tests.sample import only

pytestmark = [
    pytest.mark.real_torch, pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what is left behind is looked for in /proc"),
]  # fmt: skip

# name -> (key of the data, words of its first text)
SOUND = {
    "attention": "flash attention (float32, causal)",
    "io": "torch.save to a file",
    "workers": "DataLoader, workers started anew",
    "distributed": "all-reduce by gloo",
    "extensions": "",
    "extensions: sound": "torch_scatter",
    "compile": "torch.compile",
    "compile: it leaves a process": "torch.compile",
}
FAULTS = {
    "attention: an element is off": ("wrong", "output: 2"),
    "attention: a NaN": ("wrong", "output: "),
    "attention: a wrong gradient": ("wrong", "gradient of the queries"),
    "attention: it raises": ("failures", "math attention (float32): RuntimeError: cuDNN Frontend"),
    "io: an element is off": ("wrong", "bfloat16 came back with other values"),
    "io: another type": ("wrong", "int64 came back as torch.int32"),
    "io: TMPDIR is not there": ("failures", "the folder of TMPDIR: FileNotFoundError: [Errno 2]"),
    "io: the disk is full": ("failures", "torch.save to a file: OSError: [Errno 28] No space left on device: '"),
    "workers: a bus error": ("failures", "unable to write to shared memory: it was ended by signal 7 (SIGBUS)"),
    "workers: they hang": ("failures", "TimeoutError: it took longer than 1 s"),
    "workers: files": ("failures", "OSError: [Errno 24] Too many open files"),
    "workers: samples are lost": ("wrong", "40 of 48 samples came"),
    "distributed: a wrong sum": ("wrong", "rank 0: 3 sums are wrong"),
    "distributed: one rank fails": ("failures", "Collective: RuntimeError: no interface"),
    "distributed: no such interface": ("failures", "all-reduce by gloo: Collective: "),
    "distributed: a torch without NCCL": ("not_here", "all-reduce by nccl: this torch was built without nccl"),
    "extensions: a wrong result": ("wrong", "torch_scatter: the result is off by 1"),
    "extensions: it can't be imported": ("failures", "torch_scatter: ImportError: undefined symbol: _ZN3c104impl"),
    "extensions: it crashes": ("failures", "torch_scatter: it was ended by signal 6 (SIGABRT)"),
    "extensions: the next one": ("failures", "crashing: it was ended by signal 11 (SIGSEGV)"),
    "compile: no C++ compiler": ("failures", "compiler"),
    "compile: the cache is a file": ("failures", "NotADirectoryError: [Errno 20] Not a directory: '/dev/null"),
    "compile: switched off": ("not_here", "TORCH_COMPILE_DISABLE switches it off"),
    "compile: wrong numbers": ("wrong", "the largest error is 1.7e+03 times the tolerance"),
    "compile: nothing was compiled": ("not_here", "without compiling it"),
    "compile: an old ptxas": ("failures", "PTXASError: ptxas fatal"),
    "compile: too new a Python": ("not_here", "Dynamo is not supported on Python 3.15+"),
    "compile: it hangs beyond the user's limit": ("failures", "TimeoutError: it took longer than 1 s"),
    "compile: it hangs": ("failures", "TimeoutError: it took longer than 1 s"),
}
COSTLY = (
    "workers", "distributed", "distributed: no such interface", "compile", "compile: no C++ compiler",
    "extensions: a wrong result", "extensions: it can't be imported", "extensions: it crashes",
)  # fmt: skip
ALL = [*SOUND, *FAULTS]
NAMES = only(ALL, [name for name in ALL if name not in COSTLY])


@pytest.fixture(scope="module")
def said(torch_python: str) -> dict[str, dict[str, Any]]:
    script = Path(__file__).with_name("faulty_features.py")
    argv = [torch_python, "-B", str(script), probe.__file__, *NAMES]
    child = subprocess.run(argv, capture_output=True, text=True, timeout=900)
    assert child.returncode == 0, child.stderr
    return {line["name"]: line for line in map(json.loads, child.stdout.splitlines())}


@pytest.mark.parametrize("name", [name for name in SOUND if name in NAMES])
def test_what_works_is_not_accused(said: dict[str, dict[str, Any]], name: str) -> None:
    data = said[name]["data"]
    assert (data["wrong"], data["failures"]) == ([], [])
    assert SOUND[name] in data["tried"] or not SOUND[name]


@pytest.mark.parametrize("name", [name for name in FAULTS if name in NAMES])
def test_a_fault_is_named(said: dict[str, dict[str, Any]], name: str) -> None:
    key, words = FAULTS[name]
    data = said[name]["data"]
    assert any(words in text for text in data[key]), data
    if key == "not_here":
        assert (data["wrong"], data["failures"], data["tried"]) == ([], [], [])


def test_after_a_crash_the_next_one_is_called(said: dict[str, dict[str, Any]]) -> None:
    assert said["extensions: the next one"]["data"]["tried"] == ["sound"]


def test_nothing_is_left_behind(said: dict[str, dict[str, Any]]) -> None:
    assert {name: line["left"] for name, line in said.items() if line["left"]} == {}

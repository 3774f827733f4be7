"""The scripts beside the tests that the interpreter with torch runs, each once in a run of all workers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.inside import probe
from tests.shared import shared

Answered = Callable[..., str]


@pytest.fixture(scope="session")
def answered(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Answered:
    """What a script of this folder prints, given probe.py's path and the arguments."""

    def run(script: str, *arguments: str) -> str:
        argv = [torch_python, "-B", str(Path(__file__).with_name(script)), probe.__file__, *arguments]
        child = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
        assert child.returncode == 0, child.stderr
        return child.stdout

    return lambda script, *arguments: shared(tmp_path_factory, script, lambda: run(script, *arguments))

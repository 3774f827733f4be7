"""What is costly to make and asked by many tests is made once in a run, whichever worker asks first."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")
PATIENCE_S = 900.0  # after that a worker makes its own: the one that began is gone


def shared(factory: pytest.TempPathFactory, name: str, make: Callable[[], T]) -> T:
    """The result of make(), or the error it raised: of this run's first caller with that name, in any worker."""
    base = factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        base = base.parent  # each worker has a folder of its own in it
    made, begun = base / f"shared-{name}", base / f"shared-{name}.begun"
    try:
        begun.mkdir()
    except FileExistsError:
        _wait_for(made)
    else:
        _made(made, make)
    if not made.is_file():
        return make()
    value, error = pickle.loads(made.read_bytes())
    if error is not None:
        raise error
    return value


def _made(path: Path, make: Callable[[], T]) -> None:
    value, error = None, None
    try:
        value = make()
    except Exception as raised:
        error = raised
    try:
        whole = pickle.dumps((value, error))
    except Exception:
        whole = pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))
    beside = path.with_suffix(".part")
    beside.write_bytes(whole)
    beside.replace(path)


def _wait_for(path: Path) -> None:
    until = time.monotonic() + PATIENCE_S
    while not path.is_file() and time.monotonic() < until:
        time.sleep(0.05)

"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from tests.sample import ALL, SEED

# A shell starts its background jobs with Ctrl-C ignored, and every child inherits that: the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machine is shared with other work: a slow example says nothing.
settings.register_profile("steady", deadline=None, max_examples=100, derandomize=True)
settings.load_profile("steady")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """By which seed the samples of the day were drawn (tests/sample.py)."""
    said = "all cases (TORCHDOCTOR_TEST_ALL)" if ALL else f"drawn with TORCHDOCTOR_TEST_SEED={SEED}"
    terminalreporter.write_line(f"samples of the costly tests: {said}")


# Whoever asks for these starts an interpreter with torch, or package managers: seconds each.
COSTLY = {"torch_python", "patient", "index", "wheelhouse"}
# Rooms and files that start many doctors, fill disks, read megabytes, or try whole collections.
COSTLY_PLACES = (
    "apply/", "chaos/", "hostile/", "plugins/", "ward/", "inside/", "probes/test_children", "probes/test_isolation",
    "cli/test_real", "evidence/test_linear", "evidence/test_forms", "evidence/test_robust", "checks/test_parity",
    "redaction/test_planted", "knowledge/test_choose_oracle", "knowledge/test_choose_properties",
    "fixes/test_effective", "test_package.py",
    "test_scripts.py", "reports/test_contract", "triage/test_triage", "reports/test_sinks", "reports/test_ticket",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`scripts/test --fast` leaves out what is marked slow."""
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        asks = COSTLY & set(getattr(item, "fixturenames", ()))
        if asks or place.startswith(COSTLY_PLACES) or item.get_closest_marker("real_torch"):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the developer's shell says must not choose targets, colours or limits in tests."""
    for name in (
        "NO_COLOR", "FORCE_COLOR", "COLUMNS", "TORCHDOCTOR_PYTHON", "TORCHDOCTOR_ROOT", "TORCHDOCTOR_DEBUG",
        "VIRTUAL_ENV", "CONDA_PREFIX",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def torch_python() -> str:
    """An interpreter with a CPU torch: scripts/test makes one and names it."""
    python = os.environ.get("TORCHDOCTOR_TEST_PYTHON")
    if not python:
        pytest.skip("TORCHDOCTOR_TEST_PYTHON names no interpreter with torch (scripts/test does)")
    return python

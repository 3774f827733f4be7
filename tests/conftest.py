"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.sample import ALL, EXAMPLES, FAST, SEED

# A shell starts its background jobs with Ctrl-C ignored, and every child inherits that: the tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The machine is shared with other work: a slow example says nothing.
settings.register_profile("steady", deadline=None, max_examples=100, derandomize=True)
settings.register_profile("fast", settings.get_profile("steady"), max_examples=EXAMPLES)
settings.load_profile("fast" if FAST else "steady")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """By which seed the samples of the day were drawn (tests/sample.py)."""
    said = "all cases (TORCHDOCTOR_TEST_ALL)" if ALL else f"drawn with TORCHDOCTOR_TEST_SEED={SEED}"
    terminalreporter.write_line(f"samples of the costly tests: {said}")


# Whoever asks for these starts an interpreter with torch, or package managers: seconds each.
COSTLY = {"torch_python", "patient", "index", "wheelhouse", "beside"}
# Rooms and files that start many processes, wait for time limits, fill disks, read megabytes, or try whole collections.
# A room of doctor/ keeps at least one file that is not named here (tests/test_fast.py).
COSTLY_PLACES = (
    "apply/test_applications", "apply/test_cures", "apply/test_hostile_trees", "apply/test_install",
    "apply/test_notebooks", "apply/test_own_indexes", "apply/test_pixi", "apply/test_projects", "apply/test_snapshot",
    "apply/test_trouble", "apply/test_whole",
    "chaos/", "hostile/", "ward/",
    "checks/test_parity",
    "cli/test_real", "cli/test_terminal_session",
    "evidence/test_forms", "evidence/test_linear", "evidence/test_robust",
    "fixes/test_effective",
    "inside/test_bench", "inside/test_damaged_files", "inside/test_errata_triggers", "inside/test_features",
    "inside/test_full_stages", "inside/test_probe.py", "inside/test_silent_pack",
    "knowledge/test_choose_oracle", "knowledge/test_choose_properties",
    "probes/test_children", "probes/test_isolation",
    "redaction/test_planted",
    "reports/test_contract", "reports/test_sinks", "reports/test_ticket",
    "test_package.py", "test_scripts.py",
)  # fmt: skip
TESTS = Path(__file__).parent


def is_costly(place: str) -> bool:
    """Whether a file, by its path below tests/, is left out of a fast run as a whole."""
    return place.startswith(COSTLY_PLACES)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """In a fast run costly files are not even imported."""
    place = collection_path.relative_to(TESTS).as_posix() if collection_path.is_relative_to(TESTS) else ""
    return True if FAST and collection_path.suffix == ".py" and is_costly(place) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow; a fast run leaves it out."""
    for item in items:
        asks = COSTLY & set(getattr(item, "fixturenames", ()))
        if asks or is_costly(item.nodeid.removeprefix("tests/")) or item.get_closest_marker("real_torch"):
            item.add_marker(pytest.mark.slow)
    if FAST:
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]


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

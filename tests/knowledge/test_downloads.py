"""What an installation fetches: the table, its rule, and how it is measured."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace

import pytest

from doctor.knowledge import lookup
from doctor.knowledge.load import BUILT_IN, TABLES, table
from doctor.knowledge.schema import check_table
from scripts import measure_downloads, refresh_knowledge

MB = 1_000_000
FILES = {
    "torch": [
        ("torch-9.0.0-cp313-cp313-manylinux_2_28_x86_64.whl", 900),
        ("torch-9.0.0-cp313-cp313t-manylinux_2_28_x86_64.whl", 5000),
        ("torch-9.0.0-cp312-cp312-manylinux_2_28_x86_64.whl", 5000),
        ("torch-9.0.0-cp313-cp313-macosx_14_0_arm64.whl", 90),
        ("torch-9.0.0-cp313-none-macosx_11_0_arm64.whl", 70),
        ("torch-8.0.0-cp313-cp313-manylinux_2_28_x86_64.whl", 5000),
    ],
    "nvidia-cublas": [
        ("nvidia_cublas-13.1-py3-none-manylinux_2_27_x86_64.whl", 400),
        ("nvidia_cublas-13.1-py3-none-manylinux_2_27_aarch64.whl", 5000),
    ],
    "sympy": [("sympy-1.14.0-py3-none-any.whl", 6), ("sympy-1.14.0.tar.gz", 5000)],
}
NEEDS = {
    "linux_x86_64": ("torch==9.0.0", "nvidia-cublas[all]==13.1", "sympy==1.14.0", "only-a-source==1"),
    "macos_arm64": ("torch==9.0.0", "sympy==1.14.0"),
}
ROW = {
    "torch": "9.0.0", "mps_minimum": "14.0", "cuda_builds": {"linux_x86_64": "cu130"},
    "wheels": {
        "linux_x86_64": {"manylinux_2_28_x86_64": "3.12 3.13 3.13t"}, "macos_arm64": {"macosx_14_0_arm64": "3.13"},
        "win_arm64": {"win_arm64": "3.13"},
    },
}  # fmt: skip


class Index:
    def get_project_page(self, project: str) -> SimpleNamespace:
        files = FILES.get(project, [])
        return SimpleNamespace(packages=[
            SimpleNamespace(
                filename=name, size=mb * MB, package_type="wheel" if name.endswith("whl") else "sdist"
            ) for name, mb in files
        ])  # fmt: skip


def resolve(requirement: str, platform: str, python: str) -> tuple[str, ...]:
    assert (requirement, python) == ("torch==9.0.0", "3.13")
    if platform not in NEEDS:
        raise subprocess.CalledProcessError(1, "uv")
    return NEEDS[platform]


def test_a_release_is_measured_with_all_that_it_needs() -> None:
    assert measure_downloads.sizes_of(ROW, Index(), resolve) == {  # type: ignore[arg-type]
        "linux_x86_64": {"cu130": 900 + 400 + 6},
        "macos_arm64": {"mps": 90 + 6},
    }


def test_only_what_is_missing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {name: json.loads((BUILT_IN / f"{name}.json").read_text("utf-8")) for name in TABLES}
    monkeypatch.setattr(refresh_knowledge, "sizes_of", lambda row, client: {"linux_x86_64": {"cu140": 1234}})
    assert refresh_knowledge.refresh_sizes(tables, Index()) == []  # type: ignore[arg-type]
    tables["releases"]["rows"].append({**tables["releases"]["rows"][-1], "torch": "9.0.0"})
    assert refresh_knowledge.refresh_sizes(tables, Index()) == ["9.0.0"]  # type: ignore[arg-type]
    check_table(tables["downloads"], "downloads")
    assert {"torch": "9.0.0", "mb": {"linux_x86_64": {"cu140": 1234}}, "sources": ["index-sizes"],
            "status": "verified"} in tables["downloads"]["rows"]  # fmt: skip


def test_every_default_build_has_a_size() -> None:
    for row in table("releases")["rows"]:
        for platform in row["wheels"]:
            if lookup.pythons_of(row["torch"], platform):
                backend = lookup.default_backend(row["torch"], platform)
                assert backend
                assert lookup.download_mb(row["torch"], backend, platform), (row["torch"], platform)


def test_builds_that_were_not_measured() -> None:
    measured = lookup.download_mb("2.9.1", "cu128", "linux_x86_64")
    assert measured
    assert lookup.download_mb("2.9.1", "cu126", "linux_x86_64") == measured
    assert lookup.download_mb("2.9.1", "cu130", "linux_x86_64") is None
    assert lookup.download_mb("2.9.1", "cu126", "win_amd64") is None
    assert lookup.download_mb("2.8.0", "cu126", "win_amd64") == lookup.download_mb("2.8.0", "cu128", "win_amd64")
    assert lookup.download_mb("2.9.1", "rocm6.4", "linux_x86_64") is None
    assert lookup.download_mb("2.9.1", "cpu", "linux_x86_64") is None
    assert lookup.download_mb("99.0.0", "cu130", "linux_x86_64") is None

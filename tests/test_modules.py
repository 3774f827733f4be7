"""Modules are found by being there, in a folder or in an archive."""

from __future__ import annotations

import zipfile
from pathlib import Path

import doctor.checks.run
from doctor.modules import names_in


def test_in_a_folder() -> None:
    found = names_in(doctor.checks.run.__path__)
    assert "program_error" in found
    assert found == sorted(found)
    assert not [name for name in found if name.startswith("_")]


def test_in_an_archive(tmp_path: Path) -> None:
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for name in ("__init__", "_shared", "one", "another"):
            packed.writestr(f"pack/{name}.py", "")
    assert names_in([f"{archive}/pack"]) == ["another", "one"]


def test_of_byte_code_alone(tmp_path: Path) -> None:
    (tmp_path / "one.pyc").write_bytes(b"")
    (tmp_path / "_shared.pyc").write_bytes(b"")
    assert names_in([str(tmp_path)]) == ["one"]

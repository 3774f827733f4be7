"""What is built: a wheel and an sdist that hold everything, and install and run without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.test_laws import ROOT, tracked_files

NOT_SHIPPED = ()  # of doctor/


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """dist/ with an sdist, and the wheel that was built from it, in a copy of the checkout."""
    source, dist = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for path in tracked_files():
        if path.is_file() and path.relative_to(ROOT).parts[0] != "tests":
            target = source / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    argv = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(source)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return dist


def names(built: Path, kind: str) -> set[str]:
    file = next(built.glob(kind))
    if kind == "*.whl":
        return set(zipfile.ZipFile(file).namelist())
    with tarfile.open(file) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def shipped() -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in tracked_files() if path.is_relative_to(ROOT / "doctor")}


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_every_file_of_the_package_is_in_it(built: Path, kind: str) -> None:
    assert shipped() - names(built, kind) == set()
    kinds = {Path(name).suffix or Path(name).name for name in shipped()}
    assert kinds >= {".py", ".json", ".j2", ".txt", ".md", ".typed"}


def test_the_wheel_holds_nothing_else(built: Path) -> None:
    others = {n for n in names(built, "*.whl") if not n.startswith("doctor/")}
    assert {n.partition("/")[2] for n in others} == {
        "METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt", "licenses/LICENSE",
        "data/share/man/man1/torchdoctor.1",
    }  # fmt: skip
    assert {n for n in names(built, "*.whl") if n.startswith("doctor/")} == shipped()


def test_metadata(built: Path) -> None:
    wheel = zipfile.ZipFile(next(built.glob("*.whl")))
    read = {Path(name).name: wheel.read(name).decode() for name in wheel.namelist() if "dist-info" in name}
    said = Parser().parsestr(read["METADATA"])
    requires = said.get_all("Requires-Dist") or []
    assert said["Name"] == "torchdoctor"
    assert said["License-Expression"] == "Apache-2.0"
    assert [r for r in requires if r.startswith("torch") and "extra" not in r] == []
    assert {"torch", "html", "mcp"} <= set(said.get_all("Provides-Extra") or [])
    assert "torchdoctor = doctor.cli.main:main" in read["entry_points.txt"]
    assert "Tag: py3-none-any" in read["WHEEL"]


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_installs_and_runs_without_a_network(built: Path, tmp_path: Path, kind: str) -> None:
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-build-isolation", "--no-deps",
            "--python", sys.executable, "--target", str(tmp_path / "in"), str(next(built.glob(kind)))]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "in")}
    ticket = "PyTorch version: 2.6.0+cu124\nNvidia driver version: 440.33\nGPU 0: NVIDIA L4\nIs CUDA available: False\n"
    for words, said in (
        (["--version"], "torchdoctor"),
        (["help", "skill"], "name: torchdoctor"),
        (["schema"], "urn:torchdoctor:report-1"),
        (["check", "--from", "-", "--json", "-q"], '"verdict": "faulty"'),
        (["check", "--from", "-", "--format", "sarif", "-q"], '"version": "2.1.0"'),
    ):
        argv = [sys.executable, "-c", "import doctor; from doctor.cli.main import main; main()", *words]
        done = subprocess.run(argv, input=ticket, capture_output=True, text=True, timeout=120, check=False, env=environ,
                              cwd=tmp_path)  # fmt: skip
        assert said in done.stdout, done.stderr
    argv = [sys.executable, "-c", "import doctor; print(doctor.__file__)"]
    where = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True, env=environ, cwd=tmp_path)
    assert where.stdout.strip().startswith(str(tmp_path / "in"))

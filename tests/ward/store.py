"""The one cache that all beds are made of: wheels, and environments that real tools installed them into.

`scripts/ward.py build` fills it, from the package index that pip is configured with and from
https://download.pytorch.org/whl/cpu; it lies in .cache/ward, or where TORCHDOCTOR_WARD says.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.ward.place import Place, link_environment

ROOT = Path(__file__).resolve().parents[2]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
CPU = "torch==2.13.0"


@dataclass(frozen=True)
class Base:
    """An environment: made by `tool` with a Python of that version, holding the requirements; bare ones hold nothing
    but what the tool puts there. `online`: its wheels are fetched for it and not kept."""

    python: str  # as `interpreter` is asked for it
    tool: str  # "venv" (with pip) or "uv"
    requirements: tuple[str, ...] = ()
    online: bool = False


BASES = {
    "cpu": Base("3.11", "venv", (CPU, "numpy==2.4.6")),
    "cuda": Base("3.11", "uv", ("torch==2.14.1", "numpy==2.4.6", "torchvision==0.29.1")),
    "cpu-uv": Base("3.11", "uv", (CPU, "numpy==2.4.6")),
    "old": Base("3.10", "venv", ("torch==1.12.1", "numpy==1.26.4", "typing-extensions==4.15.0"), online=True),
    "old-3.6": Base(
        "3.6", "venv", ("torch==1.10.2", "numpy==1.17.5", "typing-extensions==4.1.1", "dataclasses==0.8"), online=True
    ),
    "old-3.7": Base("3.7", "venv", ("torch==1.7.1", "numpy==1.21.6", "typing-extensions==4.7.1"), online=True),
    "old-3.8": Base("3.8", "venv", ("torch==1.8.1", "numpy==1.24.4", "typing-extensions==4.13.2"), online=True),
    "bare": Base("3.11", "venv"),
    "bare-uv": Base("3.11", "uv"),
    "bare-3.12": Base("3.12", "venv"),
    **{f"bare-{version}": Base(version, "venv") for version in ("3.6", "3.7", "3.8", "3.9", "3.10", "3.13")},
    **{f"bare-{kind}": Base(kind, "venv") for kind in ("3.13t", "3.13-musl", "3.13-i686", "pypy3")},
}


@dataclass(frozen=True)
class Wheel:
    """What is unpacked or installed into beds, by its requirement and the platform and Python that it is for."""

    requirement: str
    python: str = "3.11"
    platforms: tuple[str, ...] = ()


_HERE = tuple(f"manylinux{v}_x86_64" for v in ("_2_28", "_2_27", "_2_25", "_2_18", "2014", "2010", "1"))
WHEELS = (
    Wheel("torch==2.3.1", platforms=("manylinux2014_aarch64",)),
    Wheel("torch==2.3.1", platforms=("macosx_11_0_arm64",)),
    Wheel("torch==2.3.1", platforms=("win_amd64",)),
    Wheel("torchvision==0.28.0"),
    Wheel("torchvision==0.23.0"),
    Wheel("torchaudio==2.8.0"),
    Wheel("torchtext==0.18.0"),
    Wheel("triton==3.6.0"),
    Wheel("intel-openmp==2025.0.0"),
    Wheel("numpy==1.26.4"),
    Wheel("numpy==1.26.4", python="3.10"),
    Wheel("numpy==2.2.6", python="3.10"),
)


@dataclass(frozen=True)
class Store:
    folder: Path

    @classmethod
    def configured(cls) -> Store:
        return cls(Path(os.environ.get("TORCHDOCTOR_WARD") or ROOT / ".cache" / "ward"))

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    def base(self, name: str) -> Path:
        return self.folder / "base" / name

    # ---- filling it

    def build(self, tell: object = print) -> None:
        """Fetch and install what is not there yet."""
        self.wheels.mkdir(parents=True, exist_ok=True)
        self._fetch_cpu_torch()
        for wheel in WHEELS:
            self._fetch("--no-deps", wheel)
        self._fetch("", Wheel("torch==2.14.1"), "numpy==2.4.6", "torchvision==0.29.1")
        self._fetch("", Wheel(CPU), "numpy==2.4.6", "--find-links", str(self.wheels))
        for name in BASES:
            self._install(name)

    def _fetch_cpu_torch(self) -> None:
        """A wheel that pip is configured to find on this machine is taken if it is a CPU build."""
        if list(self.wheels.glob("torch-2.13.0+cpu-*")):
            return
        command = [*_pip(), "download", "-q", "--no-deps", "-d", str(self.wheels), f"{CPU}+cpu"]
        if subprocess.run([*command, "--no-index"], check=False, capture_output=True).returncode:
            subprocess.run([*command, "--index-url", CPU_INDEX], check=True)

    def _fetch(self, how: str, wheel: Wheel, *more: str, folder: Path | None = None) -> None:
        platforms = [part for name in wheel.platforms or _HERE for part in ("--platform", name)]
        subprocess.run(
            [*_pip(), "download", "-q", *([how] if how else []), "-d", str(folder or self.wheels),
             "--only-binary=:all:", "--python-version", wheel.python, *platforms, wheel.requirement, *more],
            check=True,
        )  # fmt: skip

    def _install(self, name: str) -> None:
        base, folder = BASES[name], self.base(name)
        if (folder / "built").exists():
            return
        python = interpreter(base.python)
        if python is None:
            return  # its beds say that they can't be made
        shutil.rmtree(folder, ignore_errors=True)
        offline = ["--no-index", "--find-links", str(self.wheels)]
        if base.tool == "uv":
            subprocess.run([*UV, "venv", "-q", "--python", python, str(folder)], check=True)
            install = [*UV, "pip", "install", "-q", "--python", str(folder), *offline]
        else:
            subprocess.run([python, "-m", "venv", str(folder)], check=True)
            install = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q"]
            install += offline
        if base.online:
            self._install_online(base, folder)
        elif base.requirements:
            subprocess.run([*install, *base.requirements], check=True)
        (folder / "built").touch()

    def _install_online(self, base: Base, folder: Path) -> None:
        """With our own pip: that of an old Python knows neither new indexes nor what they say of a Python's version."""
        fetched = self.folder / "fetched"
        for requirement in base.requirements:
            wheel = Wheel(requirement, python=f"{base.python}.9")  # some packages want a patch release at the least
            self._fetch("--no-deps", wheel, folder=fetched)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
        subprocess.run([*pip, *map(str, fetched.iterdir())], check=True)
        shutil.rmtree(fetched)

    # ---- making places

    def has(self, base: str) -> bool:
        return (self.base(base) / "built").exists()

    @contextlib.contextmanager
    def place(self, base: str, name: str) -> Iterator[Place]:
        """A fresh place, gone afterwards."""
        root = self.folder / "beds" / name
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        try:
            link_environment(self.base(base), root / "env")
            with Place(root, root / "env", self.wheels) as place:
                yield place
        finally:
            shutil.rmtree(root, ignore_errors=True)


UV = (sys.executable, "-m", "uv")


def _pip() -> list[str]:
    """Our own pip; where our environment has none, that of the Python which it was made from."""
    own = importlib.util.find_spec("pip") is not None
    return [sys.executable if own else os.path.realpath(sys.executable), "-m", "pip"]


def interpreter(version: str) -> str | None:
    """A Python of that minor version: on PATH, or among pyenv's. Of another kind ("3.13t", "3.13-musl", "3.13-i686",
    "pypy3"): on PATH, or in the folder pythons/ of the store (`pythons.py` builds them)."""
    own = Store.configured().folder / "pythons" / version / "bin" / "python3"
    if own.exists():
        return str(own)
    if found := shutil.which(version if version.startswith("pypy") else f"python{version}"):
        return os.path.realpath(found) if ".pyenv/shims" not in found else _of_pyenv(version)
    return _of_pyenv(version)


def _of_pyenv(version: str) -> str | None:
    versions = Path(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))) / "versions"
    found = sorted(versions.glob(f"{version}.*/bin/python{version}"))
    return str(found[-1]) if found else None

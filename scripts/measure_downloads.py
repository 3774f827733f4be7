"""How many megabytes pip fetches for a torch of the package index: the wheel and all that it needs, measured by the
index's own sizes. `refresh_knowledge.py --sizes` calls it for the releases that tables/downloads.json lacks.

uv resolves, for the newest Python of the release's wheels; nothing is downloaded. Of several wheels that fit, the
largest counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import InvalidVersion
from pypi_simple import DistributionPackage, NoSuchProjectError, PyPISimple

from doctor.knowledge.versions import numbers

UV_PLATFORMS = {
    "linux_x86_64": "x86_64-manylinux_2_28", "linux_aarch64": "aarch64-manylinux_2_28",
    "macos_arm64": "aarch64-apple-darwin", "macos_x86_64": "x86_64-apple-darwin",
    "win_amd64": "x86_64-pc-windows-msvc", "win_arm64": "aarch64-pc-windows-msvc",
}  # fmt: skip
TIMEOUT_S = 300
Resolve = Callable[[str, str, str], tuple[str, ...]]


def uv_resolve(requirement: str, platform: str, python: str) -> tuple[str, ...]:
    """("torch==2.6.0", "sympy==1.13.1", …) of what a requirement brings to that platform and Python."""
    command = ["uv", "pip", "compile", "-", "-q", "--no-header", "--no-annotate", "--no-python-downloads"]
    command += ["--python-platform", UV_PLATFORMS[platform], "--python-version", python]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environ = {**os.environ, "PATH": path, "MACOSX_DEPLOYMENT_TARGET": "15.0"}
    done = subprocess.run(
        command, input=requirement, capture_output=True, text=True, timeout=TIMEOUT_S, env=environ, check=True
    )
    return tuple(line.split(";")[0].strip() for line in done.stdout.splitlines() if "==" in line)


def sizes_of(row: dict[str, Any], client: PyPISimple, resolve: Resolve = uv_resolve) -> dict[str, dict[str, int]]:
    """platform -> {backend of the index's build: megabytes} for a row of tables/releases.json."""

    @cache
    def files(project: str) -> tuple[DistributionPackage, ...]:
        try:
            return tuple(p for p in client.get_project_page(project).packages if p.package_type == "wheel")
        except NoSuchProjectError:
            return ()

    found: dict[str, dict[str, int]] = {}
    for platform, tags in sorted(row["wheels"].items()):
        pythons = {p for named in tags.values() for p in named.split() if not p.endswith("t")}
        python = max(pythons, key=numbers)
        try:
            needed = resolve(f"torch=={row['torch']}", platform, python)
        except subprocess.CalledProcessError:
            continue  # its only wheel fits nowhere: that of 1.8.0 for macOS 11.1
        total = sum(_size(files(name), version, platform, python) for name, version in map(_taken_apart, needed))
        found[platform] = {_backend(row, platform): round(total / 1_000_000)}
    return found


def _taken_apart(pin: str) -> tuple[str, str]:
    name, _, version = pin.partition("==")
    return name.partition("[")[0], version


def _backend(row: dict[str, Any], platform: str) -> str:
    return "mps" if platform == "macos_arm64" and row["mps_minimum"] else row["cuda_builds"].get(platform, "cpu")


def _size(packages: Iterable[DistributionPackage], version: str, platform: str, python: str) -> int:
    """Bytes of the wheel for that platform and Python; 0 where there is none (a small package's source)."""
    return max((p.size or 0 for p in packages if _fits(p.filename, version, platform, python)), default=0)


def _fits(filename: str, version: str, platform: str, python: str) -> bool:
    try:
        _, found, _, tags = parse_wheel_filename(filename)
    except (InvalidWheelFilename, InvalidVersion):
        return False
    if str(found) != version:
        return False
    return any(_runs(tag.interpreter, tag.abi, python) and platform in _platforms(tag.platform) for tag in tags)


def _runs(interpreter: str, abi: str, python: str) -> bool:
    own = "cp" + python.replace(".", "")
    if interpreter in ("py3", f"py{python.replace('.', '')}", "py2.py3"):
        return True
    return (interpreter == own and not abi.endswith("t")) or (abi == "abi3" and interpreter.startswith("cp3"))


def _platforms(tag: str) -> Iterator[str]:
    if tag == "any":
        yield from UV_PLATFORMS
    for cpu in ("x86_64", "aarch64"):
        if tag.startswith(("manylinux", "linux_")) and tag.endswith("_" + cpu):
            yield f"linux_{cpu}"
    for cpu in ("arm64", "x86_64"):
        if tag.startswith("macosx_") and tag.endswith(("_" + cpu, "_universal2")):
            yield f"macos_{cpu}"
    if tag in ("win_amd64", "win_arm64"):
        yield tag

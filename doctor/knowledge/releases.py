"""Releases of torch: builds, wheels, companions. The public names are those of lookup.py."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Literal

from doctor.knowledge.load import of_tables, table
from doctor.knowledge.versions import (
    at_least,
    compared,
    is_early,
    last_day,
    numbers,
    python_of,
    release_of,
    taken_apart,
)  # fmt: skip
from doctor.model.values import dataclass

INDEX = "https://download.pytorch.org/whl/"

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Build:
    """A torch build, taken apart: "2.6.0+cu124" is release 2.6.0, backend cu124, cuda 12.4."""

    version: str  # as given
    release: str  # public version, without the local part and without .post (conda-forge's repackaging of a release)
    backend: str | None  # None where neither the local part nor torch.version.* says it
    cuda: str | None = None
    rocm: str | None = None
    nightly: bool = False  # .dev or .a0 versions


def build_of(
    version: str, *, cuda: object = None, hip: object = None, xpu: object = None, platform: str | None = None
) -> Build:
    """Take a torch version apart. `cuda`, `hip`, `xpu` are torch.version.* (a string, ABSENT or None = not known);
    without a local part, and where torch.version.* is not known, the default build of the package index for
    `platform` is assumed only if the tables have it. macOS arm64 builds from 1.12 on are backend "mps". NVIDIA's own
    builds ("+nv23.05", "a0+41361538.nv23.06") for Linux aarch64 are backend "jetson"; elsewhere, and where the local
    part says nothing ("+gitabc"), torch.version.* decides."""
    parts = taken_apart(version)
    if parts is None:
        return Build(version=version, release=version, backend=None)
    number, early, local = parts
    backend = _backend_of_local(local, platform)
    cuda_version = cuda if isinstance(cuda, str) and cuda else None
    rocm = ".".join(hip.split(".")[:2]) if isinstance(hip, str) and hip else None
    if backend is None:
        backend = _backend_of_runtimes(cuda_version, rocm, xpu, known=_all_known(cuda, hip, xpu))
        if backend is None and not local and not early and "post" not in version:
            backend = _default_backend(number, platform)
    if backend in ("cpu", None) and platform == "macos_arm64" and at_least(number, "1.12"):
        backend = "mps"
    elif backend is None and platform is not None and platform.startswith("macos"):
        backend = "cpu"
    if backend and backend.startswith("cu") and cuda_version is None:
        cuda_version = cuda_of_backend(backend)
    if backend and backend.startswith("rocm"):
        rocm = rocm or backend.removeprefix("rocm")
    return Build(
        version=version, release=number + early, backend=backend, cuda=cuda_version, rocm=rocm, nightly=bool(early)
    )


def _backend_of_local(local: str, platform: str | None) -> str | None:
    """What the local part says: "cu121", "cpu.cxx11.abi", "cu117.with.pypi.cudnn", "rocm6.4", "rocm7.2.0.lw.git1",
    "nv23.05"."""
    words = local.split(".")
    if words[0] in ("cpu", "xpu"):
        return words[0]
    if words[0].startswith("cu") and words[0][2:].isdecimal():
        return words[0]
    if words[0].startswith("rocm") and words[0][4:].isdecimal():
        version = [words[0][4:], *itertools.takewhile(str.isdecimal, words[1:])]
        return "rocm" + ".".join(version[:2] if version[2:] == ["0"] else version)  # AMD's 7.2.0 is 7.2 in index names
    if platform == "linux_aarch64" and any(w.startswith("nv") and w[2:].isdecimal() for w in words):
        return "jetson"
    return None


def _all_known(*runtimes: object) -> bool:
    return all(r is not None for r in runtimes)


def _backend_of_runtimes(cuda: str | None, rocm: str | None, xpu: object, *, known: bool) -> str | None:
    if cuda:
        return "cu" + "".join(cuda.split(".")[:2])
    if rocm:
        return "rocm" + rocm
    if isinstance(xpu, str) and xpu:
        return "xpu"
    return "cpu" if known else None


def cuda_of_backend(backend: str) -> str | None:
    """ "cu124" -> "12.4", "cu92" -> "9.2"; None for what is not CUDA."""
    digits = backend.removeprefix("cu")
    known = backend.startswith("cu") and digits.isdecimal() and len(digits) > 1
    return f"{digits[:-1]}.{digits[-1]}" if known else None


def _default_backend(release: str, platform: str | None) -> str | None:
    """The build that the package index has for a platform; None where it has no wheel or the tables don't know the
    release."""
    row = _row(release)
    if row is None or platform not in row["wheels"]:
        return None
    if platform == "macos_arm64" and row["mps_minimum"]:
        return "mps"
    return str(row["cuda_builds"].get(platform, "cpu"))


def platform_of(system: str | None, architecture: str | None) -> str | None:
    """ "linux", "arm64" -> "linux_aarch64"; "darwin", "x86_64" -> "macos_x86_64"; None where one is not known. What no
    torch wheel exists for has a name too: "linux_ppc64le", "win_x86"."""
    if system is None or architecture is None:
        return None
    name = {"linux": "linux", "darwin": "macos", "windows": "win"}.get(system, system)
    cpu = {"aarch64": "arm64", "amd64": "x86_64"}.get(architecture.lower(), architecture.lower())
    cpu = {("linux", "arm64"): "aarch64", ("win", "x86_64"): "amd64"}.get((name, cpu), cpu)
    return f"{name}_{cpu}"


def tables_date() -> str:
    """ISO date of the tables."""
    return str(table("releases")["date"])


@of_tables
def _releases() -> dict[str, Row]:
    """All releases by version, oldest first."""
    return {row["torch"]: row for row in sorted(table("releases")["rows"], key=lambda r: numbers(r["torch"]))}


def _row(version: str) -> Row | None:
    return _releases().get(release_of(version))


def _row_or_newest(version: str) -> Row | None:
    """The row of a release; the newest row for one newer than the tables: rules of the newest known hold until the
    tables know better. For a patch release that the tables don't have, the row before it."""
    row = _row(version)
    if row is None and (older := [r for v, r in _releases().items() if compared(v) <= compared(release_of(version))]):
        row = older[-1]
    return row


def newest_torch(as_of: str | None = None) -> str:
    """Newest stable release known (at that ISO date; a year or a month stands for its last day). The oldest release
    of the tables for a date before it."""
    if as_of is None:
        return list(_releases())[-1]
    before = [v for v, row in _releases().items() if row["date"] <= last_day(as_of)]
    return before[-1] if before else next(iter(_releases()))


def release_date(release: str) -> str | None:
    """ISO date of a stable release."""
    row = None if is_early(release) else _row(release)
    return str(row["date"]) if row else None


@of_tables
def torch_versions(platform: str | None = None, python: str | None = None, as_of: str | None = None) -> tuple[str, ...]:
    """Stable releases, oldest first, that have a wheel on the package index for that platform and Python ("3.12",
    "3.13t")."""
    return tuple(
        version
        for version, row in _releases().items()
        if (as_of is None or row["date"] <= last_day(as_of)) and _has_wheel(version, platform, python)
    )


def is_release(version: str) -> bool:
    """Whether torch has a release of that number: "2.6.0+cu124", also a nightly; not "0.21.0"."""
    return ".dev" in version or release_of(version) in _releases()


def _has_wheel(release: str, platform: str | None, python: str | None) -> bool:
    platforms = _releases()[release]["wheels"] if platform is None else (platform,)
    wanted = python_of(python) if python else None
    return any(wanted in pythons if wanted else pythons for pythons in (_pythons(release, p) for p in platforms))


def _tags(row: Row | None, platform: str) -> dict[str, str]:
    """tag -> Pythons of the wheels that installers take."""
    tags: dict[str, str] = row["wheels"].get(platform, {}) if row else {}
    return {tag: pythons for tag, pythons in tags.items() if not _is_out_of_reach(tag)}


def _is_out_of_reach(tag: str) -> bool:
    """From macOS 11 on installers know tags of .0 versions only: the wheel tagged macosx_11_1 (1.8.0) fits nowhere."""
    system, major, minor, *_ = [*tag.split("_"), "", ""]
    return system == "macosx" and int(major) >= 11 and minor != "0"


@of_tables
def _pythons(release: str, platform: str) -> tuple[str, ...]:
    tags = _tags(_releases()[release], platform)
    return tuple(sorted((p for pythons in tags.values() for p in pythons.split()), key=lambda p: (numbers(p), p)))


def pythons_of(release: str, platform: str) -> tuple[str, ...] | None:
    """Pythons ("3.10", "3.13t") for which that release has a wheel on the package index for that platform, oldest
    first. () is none; None for a release that the tables don't have (nightlies too)."""
    row = None if is_early(release) else _row(release)
    return _pythons(row["torch"], platform) if row else None


def mps_minimum(release: str) -> str | None:
    """Minimum macOS for MPS at run time: "12.3", "13.0", "14.0"; None before 1.12."""
    row = _row_or_newest(release)
    return row["mps_minimum"] if row else None


def newest_with_mps(macos: str) -> str | None:
    """The newest release whose MPS works on that macOS; None below 12.3. torch 2.5 finds none on macOS 12, whatever its
    message says (pytorch#139425).

    >>> newest_with_mps("12.3"), newest_with_mps("13.0"), newest_with_mps("12.2")
    ('2.4.1', '2.8.0', None)
    """
    found = [
        release
        for release in torch_versions("macos_arm64")
        if (minimum := mps_minimum(release))
        and numbers(minimum) <= numbers(macos)
        and not (numbers(release)[:2] == (2, 5) and numbers(macos) < (13,))
    ]
    return found[-1] if found else None


def wheel_minimum_macos(release: str, platform: str, python: str | None = None) -> str | None:
    """Minimum macOS in the wheel's tag; without `python` the lowest of the release."""
    tags = _tags(_row_or_newest(release), platform)
    minimums = [
        ".".join(tag.split("_")[1:3])
        for tag, pythons in tags.items()
        if tag.startswith("macosx_") and (python is None or python_of(python) in pythons.split())
    ]
    return min(minimums, key=numbers, default=None)


def wheel_minimum_glibc(release: str, platform: str) -> str | None:
    """Minimum glibc by the wheel's manylinux tag: "2.28", "2.17". (manylinux1 wheels of torch were made on CentOS 7:
    2.17.)"""
    tags = _tags(_row_or_newest(release), platform)
    for tag in tags:
        if tag.startswith("manylinux_"):
            return ".".join(tag.split("_")[1:3])
        if tag.startswith("manylinux"):
            return "2.17"
    return None


def numpy_majors(release: str, system: str) -> tuple[int, ...] | None:
    """NumPy major versions with which that release works on "linux", "darwin", "windows": (1,), (1, 2)."""
    row = _row_or_newest(release)
    if row is None:
        return None
    return (1, 2) if system in row["numpy_2"] else (1,)


def companion(release: str, package: str, platform: str | None = None, python: str | None = None) -> str | None:
    """Version of "torchvision", "torchaudio", "torchtext", "triton" made for that torch release; None where there is
    none, or where the tables don't have that release (nightlies too). With a platform (and a Python): None too where
    the package index has no wheel of it for them."""
    row = None if is_early(release) else _companions().get((package, release_of(release)))
    if row is None or (platform and "wheels" in row and not _has_companion_wheel(row, platform, python)):
        return None
    return str(row["version"])


def _has_companion_wheel(row: Row, platform: str, python: str | None) -> bool:
    pythons = row["wheels"].get(platform, "").split()
    return bool(pythons) and (python is None or "any" in pythons or python_of(python) in pythons)


@of_tables
def _companions() -> dict[tuple[str, str], Row]:
    return {(row["package"], row["for"]): row for row in table("companions")["rows"] if row["for"]}


def torch_of_companion(package: str, version: str) -> str | None:
    """PEP 440 specifier of the torch releases with which that companion works ("==2.6.0", ">=2.14.0"). None for a
    version that the tables don't have; one newer than they are is held to what its newest known version wants."""
    if is_early(version):
        return None
    rows = [row for row in table("companions")["rows"] if row["package"] == package]
    same = [row for row in rows if compared(row["version"]) == compared(release_of(version))]
    if same:
        return _spanned([row["torch"] for row in same])
    newest = max(rows, key=lambda row: compared(row["version"]), default=None)
    if newest and compared(version) > compared(newest["version"]) and newest["torch"].startswith(">="):
        return str(newest["torch"])
    return None


def _spanned(specifiers: list[str]) -> str:
    """One specifier for several: ==2.10.0 and ==2.11.0 are >=2.10.0,<=2.11.0 (the tables' rows of one package are in
    step)."""
    if len(set(specifiers)) == 1:
        return specifiers[0]
    exact = sorted((s.removeprefix("==") for s in specifiers if s.startswith("==")), key=numbers)
    return f">={exact[0]},<={exact[-1]}"


def index_url(backend: str, release: str | None = None) -> str | None:
    """The wheel index of that backend: "cu124" -> "https://download.pytorch.org/whl/cu124"; None where it has none
    (mps, jetson, a CUDA version without builds), or, with a release, where that release is not on it."""
    backends = {row["backend"] for row in _variants(release)}
    return INDEX + backend if backend in backends else None


def _variants(release: str | None) -> list[Row]:
    """The published variants of a release (of all: None); those of the newest known for one newer than the tables."""
    rows: list[Row] = table("builds")["rows"]
    if release is None:
        return rows
    wanted = release_of(release)
    if compared(wanted) > compared(newest_torch()):
        wanted = newest_torch()
    return [row for row in rows if row["torch"] == wanted]


def published(
    release: str, backend: str, platform: str, python: str | None = None
) -> Literal["verified", "derived", "no"]:
    """Whether that build was published for that platform and Python, and how sure that is (tables/builds.json has the
    rules). A stable release newer than the tables is taken to have the variants of the newest known: derived."""
    if is_early(release):
        return "no"
    newer = compared(release_of(release)) > compared(newest_torch())
    row = _row_or_newest(release) if newer else _row(release)
    if row is None:
        return "no"
    wanted = python_of(python) if python else None
    pythons = _pythons(row["torch"], platform)
    if pythons and _default_backend(row["torch"], platform) == backend and wanted in (None, *pythons):
        return "derived" if newer else "verified"
    variant = next((v for v in _variants(release) if v["backend"] == backend and platform in v["platforms"]), None)
    if variant is None or (wanted and wanted not in (_own_pythons(variant, platform) or pythons)):
        return "no"
    if newer or (wanted or "").endswith("t"):  # that every variant is made for free-threaded Pythons too is a rule only
        return "derived"
    return "verified" if variant["platforms"][platform] == "verified" else "derived"


def _own_pythons(variant: Row, platform: str) -> tuple[str, ...]:
    """Pythons of a variant that are not those of the package index's wheels; () where they are."""
    return tuple(variant.get("pythons", {}).get(platform, "").split())


def backends_of(release: str, platform: str) -> tuple[str, ...]:
    """Every backend published for a release and platform, the default build of the package index first."""
    default = _default_backend(newest_torch() if _row(release) is None else release, platform)
    found = [default] if default else []
    found += [
        row["backend"] for row in _variants(release) if platform in row["platforms"] and row["backend"] != default
    ]
    return tuple(found)


def default_backend(release: str, platform: str) -> str | None:
    """The backend of the package index's wheel ("cu130", "cpu", "mps"); None where it has no wheel for that
    platform."""
    return _default_backend(release_of(release), platform)


def on_conda_channel(release: str) -> bool | None:
    """Whether the conda channel `pytorch` has that release (it stopped after 2.5); None for one that the tables don't
    have."""
    row = _row(release)
    return bool(row["conda_channel"]) if row else None

"""Questions to the tables. Pure; a table is read once, when the first question needs it.

Vocabulary: a *release* is torch's public version ("2.6.0"); a *backend* is what a build was made for: "cpu", "mps", "cu124",
"rocm6.4", "xpu", "jetson"; a *platform* is "linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64", "win_amd64",
"win_arm64"; a *capability* is NVIDIA's "8.9"; architectures of an arch list are "sm_86", "compute_90", "gfx1100".
Every answer of None means: the tables do not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Build:
    """A torch build, taken apart: "2.6.0+cu124" is release 2.6.0, backend cu124, cuda 12.4."""

    version: str  # as given
    release: str  # public version, without the local part
    backend: str | None  # None where neither the local part nor torch.version.* says it
    cuda: str | None = None
    rocm: str | None = None
    nightly: bool = False  # .dev or .a0 versions


def build_of(
    version: str, *, cuda: object = None, hip: object = None, xpu: object = None, platform: str | None = None
) -> Build:
    """Take a torch version apart. `cuda`, `hip`, `xpu` are torch.version.* (a string, ABSENT or None = not known); without a
    local part, and where torch.version.* is not known, the default build of the package index for `platform` is assumed only if
    the tables have it. macOS arm64 builds from 1.12 on are backend "mps"."""
    raise NotImplementedError


def platform_of(system: str | None, architecture: str | None) -> str | None:
    """"linux", "arm64" -> "linux_aarch64"; "darwin", "x86_64" -> "macos_x86_64"; None where one is not known."""
    raise NotImplementedError


def tables_date() -> str:
    """ISO date of the tables."""
    raise NotImplementedError


def newest_torch(as_of: str | None = None) -> str:
    """Newest stable release known (at that ISO date; a year or a month stands for its last day)."""
    raise NotImplementedError


def release_date(release: str) -> str | None:
    """ISO date of a stable release."""
    raise NotImplementedError


def torch_versions(platform: str | None = None, python: str | None = None, as_of: str | None = None) -> tuple[str, ...]:
    """Stable releases, oldest first, that have a wheel on the package index for that platform and Python ("3.12", "3.13t")."""
    raise NotImplementedError


def pythons_of(release: str, platform: str) -> tuple[str, ...] | None:
    """Pythons ("3.10", "3.13t") for which that release has a wheel on that platform, oldest first."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class DriverNeed:
    """The oldest driver that can run a CUDA version on a system."""

    cuda: str
    minimum: str
    why: str  # "CUDA 12.x minor-version compatibility"
    source: str


def driver_need(cuda: str, system: str = "linux") -> DriverNeed | None:
    """Oldest driver for that CUDA version ("12.4") on "linux" or "windows" (WSL: the Windows driver counts, but the Linux
    number that nvidia-smi prints inside WSL is the Windows one, too)."""
    raise NotImplementedError


def driver_runs(driver: str, cuda: str, system: str = "linux") -> bool | None:
    """Whether that driver can run programs built with that CUDA version, by the minor-version rule."""
    raise NotImplementedError


def cuda_of_driver(driver: str, system: str = "linux") -> str | None:
    """Highest CUDA version that a driver's nvidia-smi prints: "550.54.15" -> "12.4"."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class GpuModel:
    """A GPU model of the tables. `first_branch`/`last_branch`: NVIDIA driver branches that know it (None: unlimited)."""

    vendor: str
    name: str
    architecture: str | None = None  # "Kepler", "Ampere", "RDNA3"
    capability: str | None = None
    gfx: str | None = None
    first_branch: int | None = None
    last_branch: int | None = None
    source: str = ""


def gpu_model(name: str | None = None, pci_id: str | None = None) -> GpuModel | None:
    """The model by the name that a tool prints ("NVIDIA GeForce RTX 4090 Laptop GPU", "AMD Radeon RX 7900 XTX") or PCI id."""
    raise NotImplementedError


def branches_of(capability: str) -> tuple[int | None, int | None]:
    """First and last NVIDIA driver branch that know GPUs of that capability."""
    raise NotImplementedError


def arch_list_of(release: str, backend: str, platform: str) -> tuple[str, ...] | None:
    """What torch.cuda.get_arch_list() says of that official build: ("sm_75", …, "compute_120") or ("gfx900", …)."""
    raise NotImplementedError


def runs_on(capability: str, archs: tuple[str, ...], cuda: str | None = None) -> Literal["native", "family", "ptx", "no"]:
    """How code for `archs` runs on a GPU: same cubin, a cubin of the same major with lower minor, PTX of an older one, or
    not at all. Tegra parts (7.2, 8.7, 10.1/11.0) are families of their own (see cuda_builds: 8.7 runs sm_80 from CUDA 13.2)."""
    raise NotImplementedError


def gfx_runs_on(gfx: str, archs: tuple[str, ...]) -> Literal["native", "override", "no"]:
    """The same for AMD: in the list; sound with HSA_OVERRIDE_GFX_VERSION; not at all."""
    raise NotImplementedError


def hsa_override(gfx: str) -> str | None:
    """Value of HSA_OVERRIDE_GFX_VERSION that is sound for that gfx ("gfx1031" -> "10.3.0"); None where there is none."""
    raise NotImplementedError


def mps_minimum(release: str) -> str | None:
    """Minimum macOS for MPS at run time: "12.3", "13.0", "14.0"; None before 1.12."""
    raise NotImplementedError


def wheel_minimum_macos(release: str, platform: str, python: str | None = None) -> str | None:
    """Minimum macOS in the wheel's tag."""
    raise NotImplementedError


def wheel_minimum_glibc(release: str, platform: str) -> str | None:
    """Minimum glibc by the wheel's manylinux tag: "2.28", "2.17"."""
    raise NotImplementedError


def numpy_majors(release: str, system: str) -> tuple[int, ...] | None:
    """NumPy major versions with which that release works: (1,), (1, 2), (2,)."""
    raise NotImplementedError


def companion(release: str, package: str) -> str | None:
    """Version of "torchvision", "torchaudio", "torchtext", "triton" made for that torch release; None where there is none."""
    raise NotImplementedError


def torch_of_companion(package: str, version: str) -> str | None:
    """PEP 440 specifier of the torch releases with which that companion works ("==2.6.0", ">=2.14.0")."""
    raise NotImplementedError


def index_url(backend: str, release: str | None = None) -> str | None:
    """The wheel index of that backend: "cu124" -> "https://download.pytorch.org/whl/cu124"; None where it has none."""
    raise NotImplementedError


def published(release: str, backend: str, platform: str, python: str | None = None) -> Literal["verified", "derived", "no"]:
    """Whether that build was published for that platform and Python, and how sure that is."""
    raise NotImplementedError


def macos_of_darwin(kernel: str) -> str | None:
    """"21.4.0" -> "12.3"."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ErrorPattern:
    """A recognisable message. `causes`: ids it can mean, the likeliest first. Never a verdict by itself."""

    id: str
    regex: str
    flags: str
    causes: tuple[str, ...]
    literals: tuple[str, ...]  # one of these substrings (lower case) occurs wherever the regex matches: the prefilter
    versions: str
    source: str
    status: str


def error_patterns() -> tuple[ErrorPattern, ...]:
    """All of them."""
    raise NotImplementedError

"""The installed distributions, and the static side of torch, as inside/collect.py found them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from doctor.decode import fits
from doctor.facts.notes import Notes
from doctor.fixes import tools
from doctor.model.facts import ABSENT, Package, TorchCopy
from doctor.model.values import dataclass

NVIDIA = "nvidia-"
OF_CUDA = (NVIDIA, "cuda-toolkit")  # that one has no files: its extras bring the nvidia-* packages

VERSION_FILE = "torch/version.py"
REQUIREMENT_AT_MOST = 2000  # characters; the longest of published wheels have some hundreds


@dataclass(frozen=True, kw_only=True)
class PackageSaid:
    """A distribution, as collect.py answers."""

    name: str
    version: str | None = None
    path: str | None = None
    installer: str | None = None
    requires: tuple[str, ...] = ()
    copies: int = 1
    beside: int = 0


@dataclass(frozen=True, kw_only=True)
class CopySaid:
    """A copy of torch, as collect.py answers."""

    path: str
    version: str | None = None
    installer: str | None = None
    has_files: bool = True
    has_metadata: bool = True


@dataclass(frozen=True, kw_only=True)
class TorchSaid:
    """What files say of torch, as collect.py answers."""

    copies: tuple[CopySaid, ...]
    leftovers: tuple[str, ...]
    shadowed_by: str | None = None
    version_file: Mapping[str, str | bool | None] | None = None
    version: str | None = None
    path: str | None = None
    libraries: tuple[str, ...] | None = None
    installer: str | None = None
    requires: tuple[str, ...] | None = None
    missing_files: tuple[str, ...] | None = None
    build: str | None = None


def packages_of(
    said: Iterable[PackageSaid], markers: Mapping[str, str], torch_requires: Iterable[str] = ()
) -> tuple[Package, ...]:
    """Facts.packages. torch itself is no package of its own environment: it is Facts.torch. What its requirements ask
    for by extras (cuda-toolkit[cudart]) is required of those packages."""
    extras = {tools.normalised(name_of(text)): _extras(text) for text in torch_requires}
    return tuple(
        Package(
            name=one.name,
            version=one.version if fits("Package", "version", one.version) else None,
            path=one.path,
            installer=one.installer,
            requires=requirements(one.requires, markers, extras.get(one.name, ())),
            copies=one.copies,
            beside=one.beside,
        )
        for one in said
        if one.name not in ("torch", "pytorch")
    )


def requirements(texts: Iterable[str], markers: Mapping[str, str], extras: Sequence[str] = ()) -> tuple[str, ...]:
    """Those of the Requires-Dist that hold in the target, without their markers; of extras those that are wanted."""
    kept = []
    for text in texts:
        spec, semicolon, _ = text.partition(";")
        if not semicolon or _holds(text, markers, extras):
            kept.append(spec.strip())
    return tuple(dict.fromkeys(kept))


def _extras(text: str) -> tuple[str, ...]:
    """("cublas", "cudart") of "cuda-toolkit[cublas,cudart]==13.0.3"."""
    found = re.match(r"[\w.-]+\s*\[([^\]]*)\]", text)
    return tuple(extra.strip() for extra in found[1].split(",")) if found else ()


def _holds(text: str, markers: Mapping[str, str], extras: Sequence[str]) -> bool:
    from packaging.requirements import Requirement

    if len(text) > REQUIREMENT_AT_MOST:
        return False
    try:
        marker = Requirement(text).marker
        return marker is None or any(marker.evaluate({**markers, "extra": extra}) for extra in ("", *extras))
    except (ValueError, KeyError, TypeError, RecursionError):  # InvalidRequirement and its like are ValueErrors
        return False


def write_torch(said: TorchSaid, markers: Mapping[str, str], notes: Notes, problem: str | None = None) -> None:
    """Write Facts.torch down, as far as files tell: ABSENT where no folder of sys.path has anything of it, and all of
    them could be read (`problem`: the first that could not)."""
    remains = any(not path.rpartition("/")[2].startswith(("~", "-", "=", "%")) for path in said.leftovers)
    if not said.copies and not said.shadowed_by and not remains:
        notes.set("torch", None if problem else ABSENT, "sys.path")
        return
    notes.set("torch.copies", tuple(map(_copy, said.copies)), "sys.path")
    notes.set("torch.leftovers", said.leftovers, "site-packages")
    notes.set("torch.shadowed_by", said.shadowed_by or ABSENT, "sys.path")
    notes.set("torch.path", said.path, "sys.path")
    _write_version(said, notes)
    notes.set("torch.installer", said.installer, "dist-info/INSTALLER")
    notes.set("torch.build", said.build, "conda-meta" if _has_own_records(said.installer) else "dist-info/WHEEL")
    for name, source in (("missing_files", "dist-info/RECORD"), ("libraries", "torch/lib")):
        value = getattr(said, name)
        if value is not None:
            notes.set(f"torch.{name}", value, source)
        else:
            notes.gap(f"torch.{name}", "not-applicable", problem or f"there is no {source} to read")
    if said.requires is not None:
        notes.set("torch.requires", requirements(said.requires, markers), "dist-info/METADATA")


def _has_own_records(installer: str | None) -> bool:
    """Whether what installed it is no installer of wheels: its packages have records and names of their own."""
    tool = tools.find(installer)
    return tool is not None and bool(tool.channel)


def write_missing(there: Iterable[str], notes: Notes) -> None:
    """torch.missing_requirements: what torch and its nvidia-* packages require, of which neither a distribution nor the
    module is there."""
    known, requires = set(there), notes.get("torch.requires")
    if requires is None or _has_own_records(notes.get("torch.installer")):
        return
    missing = [text for text in requires if tools.normalised(name_of(text)) not in known]
    packages = notes.get("packages") or ()
    installed = {package.name for package in packages}
    for package in packages:  # torch's nvidia-* packages need others that torch does not name
        for text in package.requires if package.name.startswith(OF_CUDA) else ():
            name = tools.normalised(name_of(text))
            if name.startswith(NVIDIA) and name not in installed | known:
                missing.append(text)
    notes.set("torch.missing_requirements", tuple(dict.fromkeys(missing)), "dist-info/METADATA against sys.path")


def name_of(requirement: str) -> str:
    """The name that a requirement begins with.

    >>> name_of("nvidia-cudnn-cu12==9.1.0.70"), name_of("triton (==2.0.0)"), name_of("opt[x]>=1")
    ('nvidia-cudnn-cu12', 'triton', 'opt')
    """
    found = re.match(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?", requirement)
    return found[0] if found else ""


def _copy(said: CopySaid) -> TorchCopy:
    known = said.version if fits("TorchCopy", "version", said.version) else None
    return TorchCopy(
        path=said.path, version=known, installer=said.installer, has_files=said.has_files,
        has_metadata=said.has_metadata,
    )  # fmt: skip


def _write_version(said: TorchSaid, notes: Notes) -> None:
    file = said.version_file
    source = VERSION_FILE if file else "dist-info/METADATA"
    if fits("Torch", "version", said.version):
        notes.set("torch.version", said.version, source)
    else:
        notes.gap("torch.version", "unreadable", f"{str(said.version)[:60]!r} is no version", source)
    if file is None:
        for name in ("cuda", "hip", "xpu", "git", "debug"):
            notes.gap(f"torch.{name}", "unreadable", f"there is no {VERSION_FILE}", VERSION_FILE)
        return
    for name in ("cuda", "hip", "xpu"):  # a line that older releases do not have means the same as None
        value = file.get(name)
        if isinstance(value, str) and not fits("Torch", name, value):
            notes.gap(f"torch.{name}", "unreadable", f"{value[:60]!r} is no version", VERSION_FILE)
            continue
        notes.set(f"torch.{name}", value if isinstance(value, str) and value else ABSENT, VERSION_FILE,
                  f"{name} = {value!r}")  # fmt: skip
    git, debug = file.get("git_version"), file.get("debug")
    notes.set("torch.git", git if isinstance(git, str) else None, VERSION_FILE)
    notes.set("torch.debug", debug if isinstance(debug, bool) else None, VERSION_FILE)

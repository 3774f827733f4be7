"""Which torch build serves a machine: facts in, ranked builds out, with the reasons. Pure.

The rules, in the order in which they rank what works:

  1. Every GPU that counts is served by one build, if there is one; else the build that serves most of them, then the
     one that serves the strongest, and it names what it leaves out. Only GPUs of one vendor can share a build: NVIDIA
     is tried before AMD, AMD before Intel. CUDA_VISIBLE_DEVICES and its kin limit which GPUs count.
  2. Builds with code for the GPUs themselves come before builds that need a crutch: PTX that the driver must compile,
     or HSA_OVERRIDE_GFX_VERSION.
  3. The newest torch.
  4. Among backends of one torch: one whose companions are published too; a publication that is verified; the build
     of the package index itself (no extra index to name); a CUDA version that the driver knows natively (else
     minor-version compatibility has to carry it); the highest CUDA version.

A build works on a GPU if a wheel exists for the platform, the Python and the C library (or macOS), the driver can run
its CUDA version and knows the GPU, and its list of architectures has code that runs there. A GPU newer or older than
the driver's branches is not served, whatever the build. What is not known is assumed to be good enough, and said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

from doctor.knowledge import lookup, vendors
from doctor.knowledge.load import of_tables
from doctor.model.facts import ABSENT, Absent, Facts, Gpu

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

Kind = Literal["cuda", "rocm", "xpu", "mps", "cpu", "jetson"]
VENDORS: tuple[tuple[str, Kind], ...] = (("apple", "mps"), ("nvidia", "cuda"), ("amd", "rocm"), ("intel", "xpu"))
COMPANIONS = ("torchvision", "torchaudio", "torchtext")
MAX_REJECTED = 12

# One choice asks the tables the same questions for hundreds of builds.
_arch_list_of = of_tables(lookup.arch_list_of)
_backends_of = of_tables(lookup.backends_of)
_companion = of_tables(lookup.companion)
_cuda_of_backend = of_tables(lookup.cuda_of_backend)
_cuda_of_driver = of_tables(lookup.cuda_of_driver)
_default_backend = of_tables(lookup.default_backend)
_driver_need = of_tables(lookup.driver_need)
_driver_runs = of_tables(lookup.driver_runs)
_index_url = of_tables(lookup.index_url)
_published = of_tables(lookup.published)
_runs_on = of_tables(lookup.runs_on)
_wheel_minimum_glibc = of_tables(lookup.wheel_minimum_glibc)


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A build that serves (or, in `Choice.rejected`, does not serve) the machine."""

    release: str  # "2.14.1"; "" is the newest that a vendor's index has
    backend: str  # "cu126"
    index: str | None  # URL to name in a command; None: the default index has it
    companions: tuple[tuple[str, str], ...] = ()  # (("torchvision", "0.29.1"), …)
    status: str = "verified"  # "verified" or "derived": how sure it is that it was published
    reasons: tuple[str, ...] = ()  # for it
    against: tuple[str, ...] = ()  # against it
    covers: tuple[str, ...] = ()  # names of the GPUs that it serves
    leaves_out: tuple[str, ...] = ()  # names of the GPUs that it does not
    environ: tuple[tuple[str, str], ...] = ()  # variables that it needs to serve them


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """What would help where no build serves: `kind` is "driver", "python", "os", "older-torch", "cpu",
    "conda-forge", "vendor".

    `details` keys: driver: `minimum`, and `last` (the newest branch that knows the GPUs) where there is one; python:
    `python` ("3.12") or `arch` ("arm64", "64-bit"); os: `minimum` or `build`; conda-forge: `package`, `cuda`;
    vendor: `index`, `requirement`. `candidate` is the build that will then serve.
    """

    kind: str
    text: str
    details: tuple[tuple[str, str], ...] = ()
    candidate: Candidate | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`builds` best first; empty where nothing serves the machine's accelerator, then `nearest` says what would."""

    builds: tuple[Candidate, ...] = ()
    rejected: tuple[Candidate, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    assumes: tuple[str, ...] = field(default=())  # facts that were not known and were taken for granted

    wanting: bool = False  # the best build leaves out a GPU, or needs a crutch

    @property
    def best(self) -> Candidate | None:
        return self.builds[0] if self.builds else None


def choose(
    facts: Facts, *, torch: str | None = None, backend: str | None = None, companions: Iterable[str] = ()
) -> Choice:
    """Rank the builds for the machine of `facts`. `torch` is a PEP 440 specifier that the build must meet ("==2.4.*"),
    `backend` a wanted backend ("cpu", "cu126"; None: the machine's best), `companions` packages to bring along.
    Unknown facts (no driver version in a ticket) are assumed to be good enough, and said so in `assumes`.
    Raises packaging.specifiers.InvalidSpecifier for a specifier that is none."""
    machine, assumes = _machine_of(facts)
    pins, pinned_by = _pins_of(facts)
    wanted = _Wanted(spec=_specifier(torch), pins=_specifier(pins), backend=backend, companions=tuple(companions))
    choice = _rank(machine, wanted)
    if pins and not choice.builds:
        without = _rank(machine, replace(wanted, pins=None))
        if without.builds:
            assumes += (
                f"no build for this machine meets what {pinned_by} asks of torch ({pins}); that was left aside",
            )
            choice = without
    if not choice.builds or choice.wanting:
        choice = replace(choice, nearest=tuple(_nearest(machine, wanted, choice)))
    return replace(choice, assumes=assumes + tuple(_assumed_of_cards(machine)))


def conda_forge_cuda(facts: Facts) -> str | None:
    """The newest CUDA version of conda-forge's builds that serves all NVIDIA GPUs of the machine; None where there
    is none."""
    near = next(_nearest_conda_forge(_machine_of(facts)[0]), None)
    return dict(near.details).get("cuda") if near else None


def platform_of(facts: Facts) -> str:
    """The platform ("linux_x86_64") for which the target's Python takes wheels, by the same assumptions as choose()."""
    return _machine_of(facts)[0].platform


def pythons() -> tuple[str, ...]:
    """Ordinary Pythons ("3.12") for which any torch has a wheel anywhere, oldest first."""
    platforms = ("linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64", "win_amd64")
    return tuple(sorted({p for platform in platforms for p in _pythons(platform)}, key=_version))


# --- the machine, as far as a build cares ---


@dataclass(frozen=True, kw_only=True)
class _Card:
    name: str
    vendor: str
    target: str | None = None  # capability "8.9", "gfx1100", Intel family; None: not known
    first: int | None = None  # NVIDIA driver branches that know it
    last: int | None = None
    since: str | None = None  # the first torch that supports it, where the build alone does not say
    supported: bool = True  # False: graphics that no build was ever made for


@dataclass(frozen=True, kw_only=True)
class _Machine:
    platform: str
    numbers: str  # whose driver numbers count: "linux" or "windows"
    python: str | None
    kinds: tuple[Kind, ...]  # accelerators, the best first; ("cpu",) without one
    cards: tuple[_Card, ...]
    driver: str | Absent | None
    driver_cuda: str | None = None
    macos: str | None = None
    libc: str | None = None
    libc_version: str | None = None
    wsl: bool = False
    jetson: str | None = None
    as_of: str | None = None
    oddity: str = ""  # why no wheel can be installed at all: "a 32-bit Python", "PyPy"
    translated: bool = False

    def of(self, kind: Kind) -> tuple[_Card, ...]:
        vendor = next((v for v, k in VENDORS if k == kind), None)
        return tuple(c for c in self.cards if c.vendor == vendor)


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    spec: SpecifierSet | None = None
    pins: SpecifierSet | None = None
    backend: str | None = None
    companions: tuple[str, ...] = ()

    def admits(self, release: str) -> bool:
        return all(s is None or s.contains(release, prereleases=True) for s in (self.spec, self.pins))

    def admits_backend(self, backend: str) -> bool:
        return self.backend in (None, backend, _kind_of(backend))


def _machine_of(facts: Facts) -> tuple[_Machine, tuple[str, ...]]:
    host, interpreter = facts.host, facts.interpreter
    assumes = []
    system = host.system
    if system is None:
        system = "linux"
        assumes.append("the operating system is not known: taken for Linux")
    architecture = interpreter.architecture or host.architecture
    if architecture is None:
        architecture = "arm64" if system == "darwin" or host.jetson else "x86_64"
        assumes.append(f"the CPU's architecture is not known: taken for {architecture}")
    if interpreter.bits == 32:
        architecture = {"x86": "x86_64", "armv7l": "arm64"}.get(architecture, architecture)
    platform = lookup.platform_of(system, architecture) or "linux_x86_64"
    python = _python_of(interpreter.version, interpreter.free_threaded)
    if python is None:
        assumes.append("the Python version is not known: taken for one that torch has wheels for")
    cards, said = _cards_of(facts)
    assumes += said
    if facts.gpus is None:
        assumes.append("the GPUs are not known: taken for ones that current builds support")
    if any(c.vendor == "nvidia" for c in cards) and facts.nvidia.driver is None and not host.jetson:
        assumes.append("the driver's version is not known: taken for the newest that knows the GPU")
    if system == "linux" and host.libc is None:
        assumes.append("the C library is not known: taken for a glibc that is new enough")
    if system == "darwin" and not host.macos:
        assumes.append("the macOS version is not known: taken for a current one")
    return _Machine(
        platform=platform,
        numbers="windows" if system == "windows" or host.wsl else "linux",
        python=python,
        kinds=_kinds_of(cards, facts, platform),
        cards=cards,
        driver=None if host.jetson else facts.nvidia.driver,
        driver_cuda=facts.nvidia.driver_cuda,
        macos=host.macos or None,
        libc=host.libc,
        libc_version=host.libc_version,
        wsl=bool(host.wsl),
        jetson=host.jetson or None,
        as_of=facts.as_of,
        oddity=_oddity_of(facts),
        translated=interpreter.translated is True
        or (system == "darwin" and host.architecture == "arm64" != architecture),
    ), tuple(assumes)


def _python_of(version: str | None, free_threaded: bool | None) -> str | None:
    """ "3.13.1" of a free-threaded build -> "3.13t"."""
    if not version:
        return None
    return ".".join(version.split(".")[:2]) + ("t" if free_threaded else "")


def _oddity_of(facts: Facts) -> str:
    if facts.interpreter.bits == 32:
        return "a 32-bit Python"
    implementation = facts.interpreter.implementation
    return f"the Python implementation {implementation}" if implementation not in (None, "cpython") else ""


def _cards_of(facts: Facts) -> tuple[tuple[_Card, ...], list[str]]:
    """The GPUs that count: those that the visibility masks let through."""
    gpus = facts.gpus or ()
    assumes: list[str] = []
    chosen: list[Gpu] = [g for g in gpus if g.vendor in ("apple", "intel")]
    for vendor, names in (
        ("nvidia", ("CUDA_VISIBLE_DEVICES",)),
        ("amd", ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")),
    ):
        own = [g for g in gpus if g.vendor == vendor]
        for name in names:
            own, said = _masked(own, name, facts.environ or {})
            assumes += said
        chosen += own
    discrete = [g for g in chosen if not g.integrated]
    kept = [g for g in chosen if not g.integrated or not discrete]
    return tuple(_card(g) for g in kept), assumes


def _masked(gpus: list[Gpu], name: str, environ: Mapping[str, str]) -> tuple[list[Gpu], list[str]]:
    """The GPUs that a visibility mask names, by index or UUID. A mask that hides all of them hides a fault, not
    the GPUs."""
    mask = environ.get(name)
    if mask is None or not gpus:
        return gpus, []
    seen = []
    for part in (p.strip() for p in mask.split(",")):
        by_uuid = [g for g in gpus if part.upper().startswith(("GPU-", "MIG-")) and (g.uuid or "").startswith(part)]
        found = by_uuid or ([gpus[int(part)]] if part.isdecimal() and int(part) < len(gpus) else [])
        if not found:
            break  # CUDA reads no further than the first entry that names no GPU
        seen += [g for g in found if g not in seen]
    if not seen:
        return gpus, [f"{name}={mask} hides every GPU: the build is chosen for them all the same"]
    mixed = len({g.name for g in gpus}) > 1 and len(seen) < len(gpus)
    if mixed and environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and not mask.upper().startswith("GPU-"):
        return seen, [f"{name}={mask} is taken to count the GPUs in the order of their PCI addresses"]
    return seen, []


def _card(gpu: Gpu) -> _Card:
    model = lookup.gpu_model(gpu.name, gpu.pci_id)
    name = gpu.name or (model.name if model else None) or gpu.pci_id or f"an {gpu.vendor.upper()} GPU"
    if gpu.vendor == "nvidia":
        capability = gpu.capability or (model.capability if model else None)
        first, last = lookup.branches_of(capability) if capability else (None, None)
        return _Card(name=name, vendor="nvidia", target=capability, first=first, last=last)
    if gpu.vendor == "amd":
        return _Card(name=name, vendor="amd", target=gpu.gfx or (model.gfx if model else None))
    if gpu.vendor == "intel":
        known = model.xpu if model else None
        return _Card(
            name=name,
            vendor="intel",
            since=vendors.xpu_since(model.architecture if model else None),
            supported=known is not False,
        )
    return _Card(name=name, vendor="apple")


def _kinds_of(cards: tuple[_Card, ...], facts: Facts, platform: str) -> tuple[Kind, ...]:
    kinds = tuple(kind for vendor, kind in VENDORS if any(c.vendor == vendor and c.supported for c in cards))
    if kinds:
        return kinds
    if facts.host.jetson:
        return ("cuda",)
    if facts.gpus is None and platform.startswith("macos_arm64"):
        return ("mps",)
    if facts.gpus is None and (facts.nvidia.driver or (facts.nvidia.driver is None and platform.startswith("linux"))):
        return ("cuda",)  # the package index's own build, which runs on a CPU, too
    return ("cpu",)


def _assumed_of_cards(machine: _Machine) -> Iterator[str]:
    for card in machine.cards:
        if card.target is None and card.vendor in ("nvidia", "amd"):
            yield f"{card.name} is not in the tables: taken for one that current builds support"


def _specifier(text: str | None) -> SpecifierSet | None:
    if not text:
        return None
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text if text[0] in "<>=!~" else f"=={text}")


def _pins_of(facts: Facts) -> tuple[str, str]:
    """What other installed packages want of torch, as one specifier, and their names. Companions move along with
    torch."""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    specs, names = [], []
    for package in facts.packages or ():
        if package.name in COMPANIONS or package.name == "triton":
            continue
        for text in package.requires:
            try:
                requirement = Requirement(text)
            except InvalidRequirement:
                continue
            if canonicalize_name(requirement.name) == "torch" and requirement.specifier and requirement.marker is None:
                specs.append(str(requirement.specifier))
                names.append(package.name)
    return ",".join(dict.fromkeys(specs)), ", ".join(dict.fromkeys(names))


# --- one build on one machine ---


@dataclass(frozen=True, kw_only=True)
class _Trial:
    candidate: Candidate
    blocked: bool
    crutch: bool = False  # PTX, or an override
    strongest: tuple[int, ...] = ()
    missing_companions: int = 0
    native_toolkit: bool = True


def _rank(machine: _Machine, wanted: _Wanted) -> Choice:
    """The choice for the best of the machine's accelerators that any build serves."""
    kinds: tuple[Kind, ...] = machine.kinds
    if wanted.backend:
        kinds = (_kind_of(wanted.backend),)
    rejected: list[_Trial] = []
    for kind in kinds:
        trials = list(_trials(machine, kind, wanted))
        works = sorted((t for t in trials if not t.blocked), key=_order)
        full = [t for t in works if not t.candidate.leaves_out]
        builds = full or works
        rejected += [t for t in trials if t.blocked or (full and t.candidate.leaves_out)]
        if builds:
            newest = _version(builds[0].candidate.release)
            neighbours = _neighbours(t.candidate for t in rejected if _version(t.candidate.release) >= newest)
            others = tuple(c for k in kinds if k != kind for c in machine.of(k))
            return Choice(
                builds=tuple(_beside(t.candidate, others) for t in builds),
                rejected=neighbours,
                wanting=not full or builds[0].crutch,
            )
    return Choice(rejected=_neighbours(t.candidate for t in rejected))


def _neighbours(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Of the rejected builds the newest of each backend for each reason."""
    found = {(c.backend, c.against[:1]): c for c in reversed(list(candidates))}
    return tuple(reversed(found.values()))[:MAX_REJECTED]


def _beside(candidate: Candidate, others: tuple[_Card, ...]) -> Candidate:
    """The build with another vendor's GPUs named, which no build serves beside the first vendor's."""
    if not others:
        return candidate
    return replace(
        candidate,
        leaves_out=(*candidate.leaves_out, *(c.name for c in others)),
        against=(*candidate.against, f"no build serves another vendor's GPU as well: {_names(others)}"),
    )


def _trials(machine: _Machine, kind: Kind, wanted: _Wanted) -> Iterator[_Trial]:
    """Every build of that kind that could be wanted, the newest torch first."""
    if machine.oddity:
        return
    if (own := _jetson_trials(machine, kind)) is not None:
        yield from own
        return
    for release in reversed(lookup.torch_versions(as_of=machine.as_of)):
        if not wanted.admits(release):
            continue
        for backend in _backends_of(release, machine.platform):
            if _serves_as(backend, kind) and wanted.admits_backend(backend):
                yield _try(machine, kind, release, backend, wanted.companions)


@dataclass(frozen=True, kw_only=True)
class _Coverage:
    """Which cards a build serves, and what is to be said about it. `blocked`: it can serve none of them."""

    covers: tuple[_Card, ...] = ()
    leaves_out: tuple[_Card, ...] = ()
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    environ: tuple[tuple[str, str], ...] = ()
    crutch: bool = False
    blocked: bool = False


def _try(machine: _Machine, kind: Kind, release: str, backend: str, companions: tuple[str, ...]) -> _Trial:
    """Judge one build on the machine."""
    status = _published(release, backend, machine.platform, machine.python)
    objections = tuple(_system_objections(machine, kind, release, status))
    coverage = _coverage(machine, kind, release, backend)
    reasons, against = coverage.reasons, objections + coverage.against
    if coverage.covers and coverage.leaves_out:
        against += (f"it leaves out {_names(coverage.leaves_out)}",)
    default = _default_backend(release, machine.platform) == backend
    if default:
        reasons += ("the package index has it: no other index is needed",)
    if status == "derived":
        against += ("its publication is derived by rule, it was not seen",)
    found, missing = _companions_of(machine.platform, release, backend, companions)
    cuda, known = _cuda_of_backend(backend), _native_cuda(machine)
    return _Trial(
        candidate=Candidate(
            release=release,
            backend=backend,
            index=None if default else _index_url(backend, release),
            companions=found,
            status="verified" if status == "verified" else "derived",
            reasons=reasons,
            against=against + missing,
            covers=tuple(c.name for c in coverage.covers),
            leaves_out=tuple(c.name for c in coverage.leaves_out),
            environ=coverage.environ,
        ),
        blocked=bool(objections) or coverage.blocked,
        crutch=coverage.crutch,
        strongest=max((_strength(c) for c in coverage.covers), default=()),
        missing_companions=len(missing),
        native_toolkit=not cuda or not known or _version(cuda) <= _version(known),
    )


def _order(trial: _Trial) -> tuple[object, ...]:
    """Sort key: the rules in the module's docstring, best first."""
    c = trial.candidate
    return (
        -len(c.covers),
        tuple(-n for n in trial.strongest),
        trial.crutch,
        tuple(-n for n in _version(c.release)),
        trial.missing_companions,
        c.status != "verified",
        c.index is not None,
        not trial.native_toolkit,
        tuple(-n for n in _version(_cuda_of_backend(c.backend) or _rocm_of(c.backend) or "0")),
    )


def _system_objections(machine: _Machine, kind: Kind, release: str, status: str) -> Iterator[str]:
    """Why that build's wheel cannot be installed or used on this system at all."""
    if status == "no":
        yield f"there is no wheel of it for Python {machine.python or '3'} on {machine.platform}"
        return
    if machine.platform.startswith("linux"):
        need = _wheel_minimum_glibc(release, machine.platform)
        if machine.libc == "musl":
            yield "there are no wheels for musl"
        elif need and machine.libc_version and _version(machine.libc_version) < _version(need):
            yield f"its wheel needs glibc {need}; this system has {machine.libc_version}"
    if machine.platform.startswith("macos") and machine.macos:
        tag = lookup.wheel_minimum_macos(release, machine.platform, machine.python)
        if tag and _version(machine.macos) < _version(tag):
            yield f"its wheel needs macOS {tag}; this Mac has {machine.macos}"
        metal = lookup.mps_minimum(release) if kind == "mps" else None
        if metal and _version(machine.macos) < _version(metal):
            yield f"its MPS needs macOS {metal}; this Mac has {machine.macos}"


def _coverage(machine: _Machine, kind: Kind, release: str, backend: str) -> _Coverage:
    cards = tuple(c for c in machine.of(kind) if c.supported)
    if kind == "cuda":
        return _cuda_coverage(machine, cards, release, backend)
    if kind == "rocm":
        return _rocm_coverage(machine, cards, release, backend)
    if kind == "xpu":
        late = tuple(c for c in cards if c.since and _version(release) < _version(c.since))
        return _Coverage(
            covers=tuple(c for c in cards if c not in late),
            leaves_out=late,
            reasons=tuple(f"the xpu builds support the {c.name}" for c in cards if c not in late),
            against=tuple(f"it is older than the support for the {c.name} (from {c.since} on)" for c in late),
            blocked=bool(cards) and len(late) == len(cards),
        )
    return _Coverage(covers=cards)


def _cuda_coverage(machine: _Machine, cards: tuple[_Card, ...], release: str, backend: str) -> _Coverage:
    cuda = _cuda_of_backend(backend) or ""
    driver = machine.driver or _newest_driver(cards)
    reasons: list[str] = []
    against: list[str] = []
    need = _driver_need(cuda, machine.numbers)
    if machine.driver is ABSENT:
        against.append("there is no NVIDIA driver")
    elif _driver_runs(driver, cuda, machine.numbers) is False:
        have = f"this machine has {machine.driver}" if machine.driver else "no driver that knows the GPU is that new"
        against.append(f"CUDA {cuda} needs driver {need.minimum if need else '?'} or newer; {have}")
    elif machine.driver and need:
        reasons.append(f"driver {machine.driver} runs CUDA {cuda} (from {need.minimum} on: {need.why})")
    hopeless = bool(against)
    archs = _arch_list_of(release, backend, machine.platform)
    covers, leaves_out, crutch = [], [], False
    for card in cards:
        how, why = _how_cuda_runs(machine, card, driver, archs, cuda)
        crutch |= how == "ptx"
        if how == "no":
            leaves_out.append(card)
            against.append(why)
        else:
            covers.append(card)
            (against if how == "ptx" else reasons).append(why)
    return _Coverage(
        covers=tuple(covers),
        leaves_out=tuple(leaves_out),
        reasons=tuple(r for r in reasons if r),
        against=tuple(against),
        crutch=crutch,
        blocked=hopeless or (bool(cards) and not covers),
    )


def _how_cuda_runs(
    machine: _Machine, card: _Card, driver: str, archs: tuple[str, ...] | None, cuda: str
) -> tuple[str, str]:
    """ "native", "family", "ptx" or "no", and the sentence that says why."""
    what = f"the {card.name} (compute capability {card.target})"
    if card.first and _version(driver)[0] < card.first:
        return "no", f"the driver {driver} does not know the {card.name}: that takes branch {card.first} or newer"
    if _is_beyond(driver, card.last, machine.numbers):
        return "no", f"the driver {driver} no longer supports the {card.name}: branch {card.last} was the last"
    if card.target is None:
        return "native", ""
    if archs is None:
        return "no", "the list of its architectures is not known"
    how = _runs_on(card.target, archs, cuda)
    if how == "ptx":
        known = _native_cuda(machine)
        if known and _version(known) < _version(cuda):
            return "no", f"for {what} it has PTX only, and a driver for CUDA {known} cannot compile that of CUDA {cuda}"
        return (
            "ptx",
            f"it has PTX only for {what}: the driver compiles it, but CUDA {cuda}'s libraries may not know the GPU",
        )
    if how == "no":
        return "no", f"it has no code for {what}"
    return how, f"it has code for {what}"


def _is_beyond(driver: str, last: int | None, numbers: str) -> bool:
    """Whether a driver is of a later branch. Windows drivers of branch 580 are numbered up to 582: their CUDA
    version tells."""
    if last is None or _version(driver)[0] <= last:
        return False
    own, limit = _cuda_of_driver(driver, numbers), _cuda_of_driver(str(last), numbers)
    return own is None or limit is None or _version(own) > _version(limit)


def _newest_driver(cards: tuple[_Card, ...]) -> str:
    """Stands for a driver version that is not known: the newest of the last branch that knows all the cards."""
    return f"{min((c.last for c in cards if c.last), default=99999)}.999"


def _native_cuda(machine: _Machine) -> str | None:
    """The highest CUDA version that the driver knows natively."""
    if machine.driver:
        return _cuda_of_driver(machine.driver, machine.numbers) or machine.driver_cuda
    return machine.driver_cuda


def _rocm_coverage(machine: _Machine, cards: tuple[_Card, ...], release: str, backend: str) -> _Coverage:
    archs = _arch_list_of(release, backend, machine.platform)
    rocm = _rocm_of(backend) or "0"
    covers: list[_Card] = []
    leaves_out: list[_Card] = []
    reasons: list[str] = []
    against: list[str] = []
    overrides: dict[str, str] = {}
    for card in cards:
        gfx = card.target
        how = "native" if gfx is None else lookup.gfx_runs_on(gfx, archs or ())
        limit = vendors.rocm_blas_until(gfx)
        if how == "native" and limit and _version(rocm) > _version(limit):
            how = "no"
            against.append(f"it names {gfx}, but its BLAS has had no kernels for the {card.name} since ROCm {limit}")
        elif how == "no":
            against.append(f"it has no code for the {card.name} ({gfx})")
        elif how == "override" and gfx:
            overrides[card.name] = lookup.hsa_override(gfx) or ""
            reasons.append(
                f"the {card.name} ({gfx}) runs its code with HSA_OVERRIDE_GFX_VERSION={overrides[card.name]}"
            )
        elif gfx:
            reasons.append(f"it has code for the {card.name} ({gfx})")
        (leaves_out if how == "no" else covers).append(card)
    # One variable overrides every GPU: it must suit all of them.
    if overrides and (len(set(overrides.values())) > 1 or len(overrides) < len(covers)):
        spoiled = [c for c in covers if c.name in overrides]
        covers = [c for c in covers if c.name not in overrides]
        leaves_out += spoiled
        against += [f"the override that the {c.name} needs would break the others" for c in spoiled]
        overrides = {}
    if machine.wsl:
        against.append("under WSL it needs AMD's own ROCm for WSL beside it")
    return _Coverage(
        covers=tuple(covers),
        leaves_out=tuple(leaves_out),
        reasons=tuple(reasons),
        against=tuple(against),
        environ=tuple(("HSA_OVERRIDE_GFX_VERSION", v) for v in dict.fromkeys(overrides.values())),
        crutch=bool(overrides),
        blocked=bool(cards) and not covers,
    )


def _companions_of(
    platform: str, release: str, backend: str, names: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The companions' versions for that build, and what is missing. A companion that serves several releases was
    built for the backends of the first of them."""
    found, missing = [], []
    for name in dict.fromkeys(names):
        version = _companion(release, name)
        if version is None:
            missing.append(f"there is no {name} for torch {release}")
            continue
        first = next(r for r in lookup.torch_versions() if _companion(r, name) == version)
        if first != release and _kind_of(backend) != "mps" and backend not in _backends_of(first, platform):
            missing.append(f"{name} {version} was made for the backends of torch {first}, {backend} is none of them")
        else:
            found.append((name, version))
    return tuple(found), tuple(missing)


# --- what would help ---


def _nearest(machine: _Machine, wanted: _Wanted, choice: Choice) -> Iterator[Nearest]:
    """What would help where no build serves all of the machine's GPUs, the least trouble first."""
    if choice.builds:
        yield from _nearest_driver(machine, wanted)
        yield from _nearest_vendor(machine)
        yield from _nearest_conda_forge(machine)
        return
    free = replace(wanted, spec=None, pins=None, backend=None)
    if machine.oddity:
        arch = "arm64" if machine.platform == "macos_arm64" else "64-bit"
        fixed = _rank(replace(machine, oddity="", python=None), wanted).best
        yield Nearest(
            kind="python",
            text=f"torch has no wheels for {machine.oddity}: install a 64-bit CPython",
            details=(("arch", arch), *_python_for(fixed, machine.platform)),
            candidate=fixed,
        )
        return
    if machine.translated:
        yield _native_python(machine, wanted)
    if machine.libc == "musl":
        yield Nearest(
            kind="os",
            text="torch has no wheels for musl: use a system or a base image with glibc",
            details=(("build", "a glibc base image instead of a musl one"),),
            candidate=_rank(replace(machine, libc="glibc"), wanted).best,
        )
        return
    yield from _nearest_driver(machine, wanted)
    yield from _nearest_other_torch(machine, wanted, free)
    pythons = tuple(_nearest_python(machine, wanted))
    yield from pythons
    yield from _nearest_macos(machine, wanted)
    yield from _nearest_vendor(machine)
    yield from _nearest_conda_forge(machine)
    yield from _nearest_cpu(machine, wanted, another_python=not pythons)


def _native_python(machine: _Machine, wanted: _Wanted) -> Nearest:
    fixed = _rank(replace(machine, platform="macos_arm64", translated=False, python=None, kinds=("mps",)), wanted).best
    return Nearest(
        kind="python",
        text="this Python is an x86-64 program under Rosetta: install one for arm64",
        details=(("arch", "arm64"), *_python_for(fixed, "macos_arm64")),
        candidate=fixed,
    )


def _nearest_driver(machine: _Machine, wanted: _Wanted) -> Iterator[Nearest]:
    """Another driver: the newest that knows the GPUs, if a build then serves more of them than now."""
    cards = machine.of("cuda")
    if "cuda" not in machine.kinds or machine.driver is None or not cards:
        return
    now = _rank(machine, wanted).best
    fixed = _rank(replace(machine, driver=None, driver_cuda=None), wanted).best
    if fixed is None or _kind_of(fixed.backend) != "cuda" or (now and len(fixed.covers) <= len(now.covers)):
        return
    covered = [c for c in cards if c.name in fixed.covers]
    need = _driver_need(_cuda_of_backend(fixed.backend) or "", machine.numbers)
    minimum = max([need.minimum if need else "0", *(str(c.first) for c in covered if c.first)], key=_version)
    last = min((c.last for c in covered if c.last), default=None)
    newest = f" (branch {last} is the last that supports it)" if last else ""
    if machine.driver is ABSENT:
        text = f"install the NVIDIA driver, {minimum} or newer{newest}"
    elif last and int(str(machine.driver).split(".")[0]) > last:
        text = f"install an older NVIDIA driver: branch {last} is the last that supports the {_names(covered)}"
    else:
        text = f"update the NVIDIA driver from {machine.driver} to {minimum} or newer{newest}"
    details = (("minimum", minimum), *((("last", str(last)),) if last else ()))
    yield Nearest(kind="driver", text=text, details=details, candidate=fixed)


def _nearest_other_torch(machine: _Machine, wanted: _Wanted, free: _Wanted) -> Iterator[Nearest]:
    """Leave the wish for a version or a backend aside."""
    if free == wanted:
        return
    fixed = _rank(machine, free).best
    if fixed and not fixed.leaves_out:
        yield Nearest(
            kind="older-torch",
            text=f"the newest torch that serves this machine is {fixed.release} ({fixed.backend})",
            details=(("torch", fixed.release), ("backend", fixed.backend)),
            candidate=fixed,
        )


def _nearest_python(machine: _Machine, wanted: _Wanted) -> Iterator[Nearest]:
    """Another Python: the one with which the newest torch serves, of those the nearest to this one."""
    if machine.python is None or not _rank(replace(machine, python=None), wanted).builds:
        return
    choices = []
    for python in _pythons(machine.platform):
        fixed = _rank(replace(machine, python=python), wanted).best
        if fixed:
            distance = abs(_minor(python) - _minor(machine.python))
            choices.append(((_version(fixed.release), -distance), python, fixed))
    if choices:
        _, python, fixed = max(choices, key=lambda c: c[0])
        yield Nearest(
            kind="python",
            text=f"there is no build of torch for this machine and Python {machine.python}; "
            f"for Python {python} there is {f'torch {fixed.release}' if fixed.release else 'one of the vendor'}",
            details=(("python", python),),
            candidate=fixed,
        )


def _nearest_macos(machine: _Machine, wanted: _Wanted) -> Iterator[Nearest]:
    if "mps" not in machine.kinds or machine.macos is None or not machine.platform.startswith("macos"):
        return
    fixed = _rank(replace(machine, macos=None), wanted).best
    if fixed is None:
        return
    needs = (
        lookup.mps_minimum(fixed.release),
        lookup.wheel_minimum_macos(fixed.release, machine.platform, machine.python),
    )
    minimum = max((n for n in needs if n), key=_version, default=None)
    if minimum and _version(machine.macos) < _version(minimum):
        yield Nearest(
            kind="os",
            text=f"update macOS from {machine.macos} to {minimum} or newer",
            details=(("minimum", minimum),),
            candidate=fixed,
        )


def _nearest_vendor(machine: _Machine) -> Iterator[Nearest]:
    """What only the vendor of the GPU or the board publishes."""
    therock = vendors.therock()
    listed = therock["windows" if machine.platform == "win_amd64" else "linux"]
    gfx = [c.target or "" for c in machine.of("rocm")]
    if gfx and all(g in listed for g in gfx) and machine.platform in ("win_amd64", "linux_x86_64"):
        extras = ",".join(f"device-{g}" for g in dict.fromkeys(gfx))
        yield Nearest(
            kind="vendor",
            text=f"AMD's own index has torch for {', '.join(dict.fromkeys(gfx))}",
            details=(("index", therock["index"]), ("requirement", f"torch[{extras}]"), ("backend", "rocm")),
        )
    row = vendors.jetpack(machine.jetson)
    if row and row["page"]:
        yield Nearest(
            kind="vendor",
            text=f"NVIDIA has wheels for JetPack {row['jetpack']} (Python {row['python']}, up to torch {row['torch']})",
            details=(("page", row["page"]), ("backend", "jetson"), ("python", row["python"])),
        )


def _nearest_conda_forge(machine: _Machine) -> Iterator[Nearest]:
    """conda-forge builds for GPUs and Macs that the wheels dropped."""
    table = vendors.conda_forge()
    offer = table["platforms"].get(machine.platform)
    if offer is None or machine.jetson or machine.translated:
        return
    if machine.platform == "macos_x86_64":
        yield Nearest(
            kind="conda-forge", text="conda-forge still builds torch for Intel Macs", details=(("package", "pytorch"),)
        )
        return
    cards = [c for c in machine.of("cuda") if c.target]
    if "cuda" not in machine.kinds or not cards or machine.driver is ABSENT:
        return
    for cuda in reversed(offer["cuda"]):
        archs = tuple(table["archs"][cuda.split(".")[0]].split())
        driver = machine.driver or _newest_driver(tuple(cards))
        runs = _driver_runs(driver, cuda, machine.numbers) is not False
        if runs and all(_how_cuda_runs(machine, c, driver, archs, cuda)[0] in ("native", "family") for c in cards):
            yield Nearest(
                kind="conda-forge",
                text=f"conda-forge's build for CUDA {cuda} has code for the {_names(cards)}",
                details=(("package", table["packages"]["cuda"]), ("cuda", cuda)),
            )
            return


def _nearest_cpu(machine: _Machine, wanted: _Wanted, *, another_python: bool) -> Iterator[Nearest]:
    if machine.kinds == ("cpu",) and not wanted.backend:
        return
    alone, wish = replace(machine, kinds=("cpu",), jetson=None), replace(wanted, backend=None)
    fixed = _rank(alone, wish).best
    if fixed is None and another_python:
        yield from _nearest_python(alone, wish)
    elif fixed:
        yield Nearest(
            kind="cpu",
            text=f"torch {fixed.release} runs on the CPU of this machine",
            details=(("torch", fixed.release), ("backend", fixed.backend)),
            candidate=fixed,
        )


# --- boards with their own wheels ---


def _jetson_trials(machine: _Machine, kind: Kind) -> tuple[_Trial, ...] | None:
    """The builds for a Jetson whose JetPack needs NVIDIA's own wheels; None where the ordinary ones serve."""
    row = vendors.jetpack(machine.jetson) if kind in ("cuda", "jetson") else None
    if row is None or (row["index"] is None and row["page"] is None):
        return None
    if not row["index"] or machine.python not in (None, row["python"]):
        return ()
    names = tuple(c.name for c in machine.of("cuda"))
    candidate = Candidate(
        release="",
        backend="jetson",
        index=row["index"],
        companions=(("torchvision", ""),),
        reasons=(f"it is made for JetPack {row['jetpack']} (CUDA {row['cuda']}, Python {row['python']})",),
        covers=names,
    )
    return (_Trial(candidate=candidate, blocked=False),)


# --- small helpers ---


def _kind_of(backend: str) -> Kind:
    if backend.startswith("cu"):
        return "cuda"
    if backend.startswith("rocm"):
        return "rocm"
    return backend if backend in ("xpu", "mps", "jetson") else "cpu"  # type: ignore[return-value]


def _serves_as(backend: str, kind: Kind) -> bool:
    """A Mac has one build for both the GPU and the CPU."""
    return _kind_of(backend) == kind or (kind == "cpu" and backend == "mps")


@of_tables
def _pythons(platform: str) -> tuple[str, ...]:
    """Ordinary (not free-threaded) Pythons for which any torch was published on that platform, oldest first."""
    releases = lookup.torch_versions()
    named = {p for r in releases for p in lookup.pythons_of(r, "linux_x86_64") or () if not p.endswith("t")}
    builds = [(r, b) for r in releases for b in _backends_of(r, platform)]
    return tuple(
        p for p in sorted(named, key=_version) if any(_published(r, b, platform, p) != "no" for r, b in builds)
    )


def _python_for(candidate: Candidate | None, platform: str) -> tuple[tuple[str, str], ...]:
    """The Python to recommend for a build: the newest but one, so that other packages have wheels for it, too."""
    pythons = [p for p in lookup.pythons_of(candidate.release, platform) or () if p[-1] != "t"] if candidate else []
    return (("python", pythons[-2] if len(pythons) > 1 else pythons[0]),) if pythons else ()


def _minor(python: str) -> int:
    return _version(python)[1]


def _strength(card: _Card) -> tuple[int, ...]:
    """Orders GPUs of one vendor by generation."""
    return _version(card.target) if card.vendor == "nvidia" and card.target else ()


def _names(cards: Iterable[_Card]) -> str:
    return ", ".join(dict.fromkeys(c.name for c in cards))


def _rocm_of(backend: str) -> str | None:
    return backend[4:] if backend.startswith("rocm") else None


@cache
def _version(text: str) -> tuple[int, ...]:
    """The numbers of a dotted version: "2.14.1" -> (2, 14, 1), "3.13t" -> (3, 13)."""
    return tuple(int(n) for n in re.findall(r"\d+", text))

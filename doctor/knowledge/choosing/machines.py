"""The machine as far as a build of torch cares: facts, with what is not known taken for granted and said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

from doctor.knowledge import lookup, specifiers, vendors
from doctor.knowledge.specifiers import Specifier
from doctor.model.facts import Absent, Facts, Gpu
from doctor.model.values import dataclass

Kind = Literal["cuda", "rocm", "xpu", "mps", "cpu", "jetson"]
VENDORS: tuple[tuple[str, Kind], ...] = (("apple", "mps"), ("nvidia", "cuda"), ("amd", "rocm"), ("intel", "xpu"))
COMPANIONS = ("torchvision", "torchaudio", "torchtext")
FOLLOWERS = ("xformers",)  # see followers.py


@dataclass(frozen=True, kw_only=True)
class Card:
    """One GPU, or a family of processors with graphics, as the choice of a build sees it."""

    name: str
    vendor: str
    target: str | None = None  # capability "8.9", "gfx1100", Intel family; None: not known
    first: int | None = None  # NVIDIA driver branches that know it
    last: int | None = None
    since: str | None = None  # the first torch that supports it, where the build alone does not say
    supported: bool = True  # False: graphics that no build was ever made for


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What of a machine decides which builds of torch it can use."""

    platform: str
    numbers: str  # whose driver numbers count: "linux" or "windows"
    python: str | None
    kinds: tuple[Kind, ...]  # accelerators, the best first; ("cpu",) without one
    cards: tuple[Card, ...]
    driver: str | Absent | None
    driver_cuda: str | None = None
    macos: str | None = None
    libc: str | None = None
    libc_version: str | None = None
    wsl: bool = False
    jetson: str | None = None
    as_of: str | None = None
    among: frozenset[tuple[str, str]] | None = None  # (release, backend) that alone can be had; None: all
    oddity: str = ""  # why no wheel can be installed at all: "a 32-bit Python", "PyPy"
    translated: bool = False

    def of(self, kind: Kind) -> tuple[Card, ...]:
        """The cards that torch uses by that kind of accelerator."""
        vendor = next((v for v, k in VENDORS if k == kind), None)
        return tuple(c for c in self.cards if c.vendor == vendor)


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asked for, and what installed packages ask of torch."""

    spec: Specifier | None = None
    pins: Specifier | None = None
    backend: str | None = None
    companions: tuple[str, ...] = ()

    def admits(self, release: str) -> bool:
        """Whether that release is within both."""
        return all(s is None or s.contains(release, prereleases=True) for s in (self.spec, self.pins))

    def admits_backend(self, backend: str) -> bool:
        """A Mac's one build is what is wanted for its CPU, too."""
        return self.backend in (None, backend, kind_of(backend)) or (self.backend, backend) == ("cpu", "mps")


def machine_of(facts: Facts) -> tuple[Machine, tuple[str, ...]]:
    """The machine of those facts, and what had to be assumed about it, in sentences."""
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
        jetpack = vendors.jetpack(host.jetson if isinstance(host.jetson, str) else None)
        known = jetpack["python"] if jetpack else None
        like = f"{known}, its JetPack's" if known else "one that torch has wheels for"
        assumes.append(f"the Python version is not known: taken for {like}")
    cards, said = _cards_of(facts)
    assumes += said
    if facts.gpus is None and not host.jetson and system != "darwin":  # those have their own, always
        assumes.append("the GPUs are not known: taken for ones that current builds support")
    numbers = "windows" if system == "windows" or host.wsl else "linux"
    driver = None if host.jetson else facts.nvidia.driver
    if driver is None and facts.nvidia.driver_cuda and not host.jetson:
        driver = _branch_for(facts.nvidia.driver_cuda, numbers)
    if any(c.vendor == "nvidia" for c in cards) and driver is None and not host.jetson:
        assumes.append("the driver's version is not known: taken for the newest that knows the GPU")
    if system == "linux" and host.libc is None and not host.jetson:
        assumes.append("the C library is not known: taken for a glibc that is new enough")
    if system == "darwin" and not host.macos:
        assumes.append("the macOS version is not known: taken for a current one")
    return Machine(
        platform=platform,
        numbers=numbers,
        python=python,
        kinds=_kinds_of(cards, facts, platform),
        cards=cards,
        driver=driver,
        driver_cuda=facts.nvidia.driver_cuda,
        macos=host.macos or None,
        libc=host.libc,
        libc_version=host.libc_version,
        wsl=bool(host.wsl),
        jetson=host.jetson or None,
        as_of=facts.as_of,
        among=None if facts.wheels is None else frozenset(builds_among(facts.wheels, platform, python)),
        oddity=_oddity_of(facts),
        translated=interpreter.translated is True
        or (system == "darwin" and host.architecture == "arm64" != architecture),
    ), tuple(assumes)


def builds_among(wheels: Iterable[str], platform: str, python: str | None) -> Iterator[tuple[str, str]]:
    """(release, backend) of the torch wheels among those file names that suit the platform and the Python.

    >>> list(builds_among(("torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl", "x.whl"), "linux_x86_64", "3.12"))
    [('2.13.0', 'cpu')]
    """
    from packaging.utils import InvalidWheelFilename, parse_wheel_filename

    system, _, processor = platform.partition("_")
    words = {"linux": ("linux", "manylinux"), "macos": ("macosx",), "win": ("win",)}.get(system, (system,))
    for file in wheels:
        try:
            name, version, _, tags = parse_wheel_filename(file.replace("%2B", "+"))
        except InvalidWheelFilename:
            continue
        fits = any(
            tag.platform.startswith(words)
            and tag.platform.endswith((processor, "universal2") if system == "macos" else processor)
            and python in (None, f"{tag.interpreter[2:3]}.{tag.interpreter[3:]}" + ("t" if tag.abi[-1:] == "t" else ""))
            for tag in tags
        )
        backend = version.local or lookup.default_backend(version.public, platform)
        if name == "torch" and fits and backend:
            yield version.public, backend


def newest_of(branch: int) -> str:
    """Stands for a driver of which only the branch is known: the newest of it."""
    return f"{branch}.999"


def spoken(driver: str) -> str:
    """ "driver 550.54.14"; "a driver of branch 470" where that is all that is known."""
    branch, _, rest = driver.partition(".")
    return f"a driver of branch {branch}" if rest == "999" else f"driver {driver}"


def _branch_for(cuda: str, system: str) -> str | None:
    """The driver that reports that CUDA version, where a ticket shows no more than that."""
    branches = range(410, 1000)
    return next((newest_of(b) for b in branches if lookup.cuda_of_driver(str(b), system) == cuda), None)


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


def _cards_of(facts: Facts) -> tuple[tuple[Card, ...], list[str]]:
    """The GPUs that count: those that the visibility masks let through."""
    gpus = facts.gpus or ()
    assumes: list[str] = []
    chosen: list[Gpu] = [g for g in gpus if g.vendor == "apple"]
    for vendor, names in (
        ("nvidia", ("CUDA_VISIBLE_DEVICES",)),
        ("amd", ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")),
        ("intel", ("ZE_AFFINITY_MASK",)),
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
        index = part.split(".")[0]  # Level Zero counts tiles, too: "0.1"
        found = by_uuid or ([gpus[int(index)]] if index.isdecimal() and int(index) < len(gpus) else [])
        if not found:
            break  # CUDA reads no further than the first entry that names no GPU
        seen += [g for g in found if g not in seen]
    if not seen:
        return gpus, [f"{name}={mask} hides every GPU: the build is chosen for them all the same"]
    mixed = len({g.name for g in gpus}) > 1 and len(seen) < len(gpus)
    if mixed and environ.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID" and not mask.upper().startswith("GPU-"):
        return seen, [f"{name}={mask} is taken to count the GPUs in the order of their PCI addresses"]
    return seen, []


def _card(gpu: Gpu) -> Card:
    model = lookup.gpu_model(gpu.name, gpu.pci_id)
    name = gpu.name or (model.name if model else None) or gpu.pci_id or f"an {gpu.vendor.upper()} GPU"
    if gpu.vendor == "nvidia":
        capability = gpu.capability or (model.capability if model else None)
        first, last = lookup.branches_of(capability) if capability else (None, None)
        return Card(name=name, vendor="nvidia", target=capability, first=first, last=last)
    if gpu.vendor == "amd":
        return Card(name=name, vendor="amd", target=gpu.gfx or (model.gfx if model else None))
    if gpu.vendor == "intel":
        known = model.xpu if model else None
        return Card(
            name=name,
            vendor="intel",
            since=vendors.xpu_since(model.architecture if model else None),
            supported=known is not False,
        )
    return Card(name=name, vendor="apple")


def _kinds_of(cards: tuple[Card, ...], facts: Facts, platform: str) -> tuple[Kind, ...]:
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


def assumed_of_cards(machine: Machine) -> Iterator[str]:
    """What is assumed about cards that the tables do not know, in sentences."""
    for card in machine.cards:
        if card.target is None and card.vendor in ("nvidia", "amd"):
            yield f"{card.name} is not in the tables: taken for one that current builds support"


def specifier(text: str | None) -> Specifier | None:
    """The specifier of a text; None without one."""
    return specifiers.specifier(text) if text else None


def pins_of(facts: Facts, *, only: tuple[str, ...] | None = None, without: tuple[str, ...] = ()) -> tuple[str, str]:
    """What other installed packages (`only` those, all `without` those) want of torch, as one specifier, and their
    names. Companions move along with torch."""
    if not any("torch" in text for package in facts.packages or () for text in package.requires):
        return "", ""
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    specs, names = [], []
    for package in facts.packages or ():
        if package.name in (*COMPANIONS, "triton", *without) or (only is not None and package.name not in only):
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


def kind_of(backend: str) -> Kind:
    """The kind of accelerator that a backend is for: "cu128" -> "cuda", "rocm6.4" -> "rocm"."""
    if backend.startswith("cu"):
        return "cuda"
    if backend.startswith("rocm"):
        return "rocm"
    return backend if backend in ("xpu", "mps", "jetson") else "cpu"  # type: ignore[return-value]


def names(cards: Iterable[Card]) -> str:
    """Each name once: "RTX 4090, T400"."""
    return ", ".join(dict.fromkeys(c.name for c in cards))

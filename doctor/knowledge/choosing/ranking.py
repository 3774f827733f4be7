"""Every build on one machine: what speaks for it and against it, and which is the best. The rules are in choose.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import groupby, takewhile

from doctor.knowledge import lookup, vendors
from doctor.knowledge.choosing.avoiding import preferred
from doctor.knowledge.choosing.lazy import Lazy
from doctor.knowledge.choosing.machines import Card, Kind, Machine, Wanted, kind_of, names, newest_of, spoken
from doctor.knowledge.load import of_tables
from doctor.knowledge.versions import numbers
from doctor.model.facts import ABSENT
from doctor.model.values import dataclass

MAX_REJECTED = 12
CUDNN_9 = (2, 4)  # the first torch with cuDNN 9, which dropped Kepler

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
    behind: str = ""  # of a build that serves, too: why another comes first


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

    builds: Sequence[Candidate] = ()
    rejected: Sequence[Candidate] = ()
    nearest: Sequence[Nearest] = ()
    assumes: tuple[str, ...] = field(default=())  # facts that were not known and were taken for granted

    wanting: bool = False  # the best build leaves out a GPU, or needs a crutch

    @property
    def best(self) -> Candidate | None:
        """The first build; None where there is none."""
        return self.builds[0] if self.builds else None


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A build that was tried against the machine, with what decides its rank."""

    candidate: Candidate
    blocked: bool
    crutch: bool = False  # PTX, or an override
    strongest: tuple[int, ...] = ()
    missing_companions: int = 0
    native_toolkit: bool = True
    known_fault: bool = False  # a grave erratum, for which another build comes first (avoiding.py)

    @property
    def is_flawed(self) -> bool:
        """Whether an older build may come before it."""
        return bool(self.candidate.leaves_out) or self.crutch or self.candidate.status != "verified"


@partial(of_tables, at_most=256)  # tickets of the same machine, and of one ticket several questions
def rank(machine: Machine, wanted: Wanted) -> Choice:
    """The choice for the best of the machine's accelerators that any build serves."""
    kinds: tuple[Kind, ...] = (kind_of(wanted.backend),) if wanted.backend else machine.kinds
    tried: list[Lazy[Trial]] = []
    for kind in kinds:
        tried.append(Lazy(_trials(machine, kind, wanted)))
        if not (works := Lazy(_best_first(tried[-1]))):
            continue
        builds = Lazy(preferred(works, machine, kind))
        others = tuple(c for k in kinds if k != kind for c in machine.of(k))
        return Choice(
            builds=Lazy(_beside(c, others) for c in _with_reasons_for_the_order(builds)),
            rejected=Lazy(_rejected(tried, works[0], numbers(builds[0].candidate.release))),
            wanting=bool(works[0].candidate.leaves_out) or builds[0].crutch,
        )
    return Choice(rejected=Lazy(_neighbours(t.candidate for trials in tried for t in trials)))


def _best_first(trials: Iterable[Trial]) -> Iterator[Trial]:
    """The builds that work, in the order of the rules; of those that leave no GPU out only these. The newest are tried
    first: nothing that is older comes before a build without a flaw (rules 1 to 3)."""
    flawed: list[Trial] = []
    flawless = False
    for _, release in groupby(trials, key=lambda t: t.candidate.release):
        works = sorted((t for t in release if not t.blocked), key=_order)
        flawed += [t for t in works if t.is_flawed]
        for trial in works:
            if not trial.is_flawed:
                flawless = True
                yield trial
    full = [t for t in flawed if not t.candidate.leaves_out]
    yield from sorted(full if full or flawless else flawed, key=_order)


def _rejected(tried: list[Lazy[Trial]], best: Trial, newest: tuple[int, ...]) -> Iterator[Candidate]:
    """What is as new as the first build or newer, and does not serve, or serves less."""
    full = not best.candidate.leaves_out
    as_new = [list(takewhile(lambda t: numbers(t.candidate.release) >= newest, trials)) for trials in tried]
    as_new[-1] = [t for t in as_new[-1] if t.blocked or (full and t.candidate.leaves_out)]
    yield from _neighbours(t.candidate for trials in as_new for t in trials)


def _neighbours(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Of the rejected builds the newest of each backend for each reason."""
    found = {(c.backend, c.against[:1]): c for c in reversed(list(candidates))}
    return tuple(reversed(found.values()))[:MAX_REJECTED]


def _beside(candidate: Candidate, others: tuple[Card, ...]) -> Candidate:
    """The build with another vendor's GPUs named, which no build serves beside the first vendor's."""
    if not others:
        return candidate
    return replace(
        candidate,
        leaves_out=(*candidate.leaves_out, *(c.name for c in others)),
        against=(*candidate.against, f"no build serves another vendor's GPU as well: {names(others)}"),
    )


def _trials(machine: Machine, kind: Kind, wanted: Wanted) -> Iterator[Trial]:
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
            if machine.among is not None and (release, backend) not in machine.among:
                continue
            if _serves_as(backend, kind) and wanted.admits_backend(backend):
                yield _try(machine, kind, release, backend, wanted.companions)


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Which cards a build serves, and what is to be said about it. `blocked`: it can serve none of them."""

    covers: tuple[Card, ...] = ()
    leaves_out: tuple[Card, ...] = ()
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    environ: tuple[tuple[str, str], ...] = ()
    crutch: bool = False
    blocked: bool = False


def _try(machine: Machine, kind: Kind, release: str, backend: str, companions: tuple[str, ...]) -> Trial:
    """Judge one build on the machine."""
    status = _published(release, backend, machine.platform, machine.python)
    objections = tuple(_system_objections(machine, kind, release, status))
    coverage = _coverage(machine, kind, release, backend)
    reasons, against = coverage.reasons, objections + coverage.against
    if coverage.covers and coverage.leaves_out:
        against += (f"it leaves out {names(coverage.leaves_out)}",)
    if kind not in (*machine.kinds, "cpu"):
        against += ("no GPU that it is made for was seen here: it will run on the CPU only",)
    default = _default_backend(release, machine.platform) == backend
    if default:
        reasons += ("the package index has it: no other index is needed",)
    if status == "derived":
        against += ("its publication is derived by rule, it was not seen",)
    found, missing = _companions_of(machine.platform, release, backend, companions)
    cuda, known = _cuda_of_backend(backend), native_cuda(machine)
    return Trial(
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
        native_toolkit=not cuda or not known or numbers(cuda) <= numbers(known),
    )


def _order(trial: Trial) -> tuple[object, ...]:
    """Sort key: the rules in the module's docstring, best first."""
    c = trial.candidate
    return (
        -len(c.covers),
        tuple(-n for n in trial.strongest),
        trial.crutch,
        c.status != "verified",
        tuple(-n for n in numbers(c.release)),
        trial.missing_companions,
        c.index is not None,
        not trial.native_toolkit,
        tuple(-n for n in numbers(_cuda_of_backend(c.backend) or _rocm_of(c.backend) or "0")),
    )


_BEHIND = (
    "it serves fewer of the GPUs",
    "the strongest GPU is not among those that it serves",
    "it needs PTX, or an override",
    "its publication was not seen",
    "its torch is older",
    "more of the companions are missing",
    "it is on another index than the package index",
    "the driver runs its CUDA by minor-version compatibility only",
    "its {} is older",
)  # by the place in _order


def _with_reasons_for_the_order(trials: Iterable[Trial]) -> Iterator[Candidate]:
    """The builds, best first, each but the first with what puts it behind that one."""
    best: tuple[object, ...] | None = None
    for trial in trials:
        order = _order(trial)
        if best is None:
            best, behind = order, ""
        elif trial.known_fault:
            behind = "it has a grave fault here that is known"
        else:
            place = next((i for i, (a, b) in enumerate(zip(best, order, strict=True)) if a != b), None)
            platform = "ROCm" if trial.candidate.backend.startswith("rocm") else "CUDA"
            behind = _BEHIND[place].format(platform) if place is not None else ""
        yield replace(trial.candidate, behind=behind) if behind else trial.candidate


def _system_objections(machine: Machine, kind: Kind, release: str, status: str) -> Iterator[str]:
    """Why that build's wheel cannot be installed or used on this system at all."""
    if status == "no":
        yield f"there is no wheel of it for Python {machine.python or '3'} on {machine.platform}"
        return
    if machine.platform.startswith("linux"):
        need = _wheel_minimum_glibc(release, machine.platform)
        if machine.libc == "musl":
            yield "there are no wheels for musl"
        elif need and machine.libc_version and numbers(machine.libc_version) < numbers(need):
            yield f"its wheel needs glibc {need}; this system has {machine.libc_version}"
    if machine.platform.startswith("macos") and machine.macos:
        tag = lookup.wheel_minimum_macos(release, machine.platform, machine.python)
        if tag and numbers(machine.macos) < numbers(tag):
            yield f"its wheel needs macOS {tag}; this Mac has {machine.macos}"
        metal = lookup.mps_minimum(release) if kind == "mps" else None
        if metal and numbers(machine.macos) < numbers(metal):
            yield f"its MPS needs macOS {metal}; this Mac has {machine.macos}"


def _coverage(machine: Machine, kind: Kind, release: str, backend: str) -> Coverage:
    cards = tuple(c for c in machine.of(kind) if c.supported)
    if kind == "cuda":
        return _cuda_coverage(machine, cards, release, backend)
    if kind == "rocm":
        return _rocm_coverage(machine, cards, release, backend)
    if kind == "xpu":
        late = tuple(c for c in cards if c.since and numbers(release) < numbers(c.since))
        return Coverage(
            covers=tuple(c for c in cards if c not in late),
            leaves_out=late,
            reasons=tuple(f"the xpu builds support the {c.name}" for c in cards if c not in late),
            against=tuple(f"it is older than the support for the {c.name} (from {c.since} on)" for c in late),
            blocked=bool(cards) and len(late) == len(cards),
        )
    return Coverage(covers=cards)


def _cuda_coverage(machine: Machine, cards: tuple[Card, ...], release: str, backend: str) -> Coverage:
    cuda = _cuda_of_backend(backend) or ""
    driver = machine.driver or newest_driver(cards)
    reasons: list[str] = []
    against: list[str] = []
    need = _driver_need(cuda, machine.numbers)
    if machine.driver is ABSENT:
        against.append("there is no NVIDIA driver")
    elif _driver_runs(driver, cuda, machine.numbers) is False:
        have = (
            f"this machine has {spoken(machine.driver).removeprefix('driver ')}"
            if machine.driver
            else "no driver that knows the GPU is that new"
        )
        against.append(f"CUDA {cuda} needs driver {need.minimum if need else '?'} or newer; {have}")
    elif machine.driver and need:
        reasons.append(f"{spoken(machine.driver)} runs CUDA {cuda} (from {need.minimum} on: {need.why})")
    hopeless = bool(against)
    archs = _arch_list_of(release, backend, machine.platform)
    covers, leaves_out, crutch = [], [], False
    for card in cards:
        how, why = how_cuda_runs(machine, card, driver, archs, cuda)
        crutch |= how == "ptx"
        if how == "no":
            leaves_out.append(card)
            against.append(why)
        else:
            covers.append(card)
            (against if how == "ptx" else reasons).append(why)
            if (card.target or "").startswith("3.") and numbers(release) >= CUDNN_9:
                against.append(f"its cuDNN 9 has no code for the {card.name}: convolutions need cuDNN switched off")
    return Coverage(
        covers=tuple(covers),
        leaves_out=tuple(leaves_out),
        reasons=tuple(r for r in reasons if r),
        against=tuple(against),
        crutch=crutch,
        blocked=hopeless or (bool(cards) and not covers),
    )


def how_cuda_runs(
    machine: Machine, card: Card, driver: str, archs: tuple[str, ...] | None, cuda: str
) -> tuple[str, str]:
    """ "native", "family", "ptx" or "no", and the sentence that says why."""
    what = f"the {card.name} (compute capability {card.target})"
    if card.first and numbers(driver)[0] < card.first:
        return "no", f"{spoken(driver)} does not know the {card.name}: that takes branch {card.first} or newer"
    if is_beyond(driver, card.last, machine.numbers):
        return "no", f"{spoken(driver)} no longer supports the {card.name}: branch {card.last} was the last"
    if card.target is None:
        return "native", ""
    if archs is None:
        return "no", "the list of its architectures is not known"
    how = _runs_on(card.target, archs, cuda)
    if how == "ptx":
        known = native_cuda(machine)
        if known and numbers(known) < numbers(cuda):
            return "no", f"for {what} it has PTX only, and a driver for CUDA {known} cannot compile that of CUDA {cuda}"
        return (
            "ptx",
            f"it has PTX only for {what}: the driver compiles it, but CUDA {cuda}'s libraries may not know the GPU",
        )
    if how == "no":
        return "no", f"it has no code for {what}"
    return how, f"it has code for {what}"


def is_beyond(driver: str, last: int | None, system: str) -> bool:
    """Whether a driver is of a later branch. Windows drivers of branch 580 are numbered up to 582: their CUDA
    version tells."""
    if last is None or numbers(driver)[0] <= last:
        return False
    own, limit = _cuda_of_driver(driver, system), _cuda_of_driver(str(last), system)
    return own is None or limit is None or numbers(own) > numbers(limit)


def newest_driver(cards: tuple[Card, ...]) -> str:
    """Stands for a driver version that is not known: the newest of the last branch that knows all the cards."""
    return newest_of(min((c.last for c in cards if c.last), default=99999))


def native_cuda(machine: Machine) -> str | None:
    """The highest CUDA version that the driver knows natively."""
    if machine.driver:
        return _cuda_of_driver(machine.driver, machine.numbers) or machine.driver_cuda
    return machine.driver_cuda


def _rocm_coverage(machine: Machine, cards: tuple[Card, ...], release: str, backend: str) -> Coverage:
    archs = _arch_list_of(release, backend, machine.platform)
    rocm = _rocm_of(backend) or "0"
    covers: list[Card] = []
    leaves_out: list[Card] = []
    reasons: list[str] = []
    against: list[str] = []
    overrides: dict[str, str] = {}
    for card in cards:
        gfx = card.target
        how = "native" if gfx is None else lookup.gfx_runs_on(gfx, archs or ())
        limit = vendors.rocm_blas_until(gfx)
        if how == "native" and limit and numbers(rocm) > numbers(limit):
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
    return Coverage(
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
        if first != release and kind_of(backend) != "mps" and backend not in _backends_of(first, platform):
            missing.append(f"{name} {version} was made for the backends of torch {first}, {backend} is none of them")
        else:
            found.append((name, version))
    return tuple(found), tuple(missing)


def _jetson_trials(machine: Machine, kind: Kind) -> tuple[Trial, ...] | None:
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
    return (Trial(candidate=candidate, blocked=False),)


def _serves_as(backend: str, kind: Kind) -> bool:
    """A Mac has one build for both the GPU and the CPU."""
    return kind_of(backend) == kind or (kind == "cpu" and backend == "mps")


def _strength(card: Card) -> tuple[int, ...]:
    """Orders GPUs of one vendor by generation."""
    return numbers(card.target) if card.vendor == "nvidia" and card.target else ()


def _rocm_of(backend: str) -> str | None:
    return backend[4:] if backend.startswith("rocm") else None

"""Errata: what is known to be broken in exact releases of torch, alone or beside one partner.

The rows are in tables/errata.json. `errata_for` asks which of them hold for a Place: a torch, its devices, its system
and the libraries beside it. An erratum *applies* only where everything that it depends on is known; where something is
not, it is returned with what is missing. The public names are those of lookup.py.

Versions. A build counts as the stable releases around it: a release as itself (also rebuilt by conda-forge, or with a
local part that names only the backend); a build of a release branch ("2.4.0+gitd990dad") as its release and the next
patch release; a nightly, a candidate or a vendor's build of an unreleased state ("2.1.0a0+41361538.nv23.06") as the
releases before and after it. The erratum holds where it holds for all of these, does not where it holds for none, and
else is not known. Nightlies that a row names by date are judged by the date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Literal, NamedTuple

from doctor.knowledge.load import of_tables, table
from doctor.knowledge.releases import newest_torch, release_date, torch_versions
from doctor.knowledge.specifiers import specifier
from doctor.knowledge.versions import compared, is_early, numbers, release_of, taken_apart
from doctor.model.values import dataclass
from doctor.regex import Regex

Kind = Literal["wrong-result", "nan", "crash", "leak", "hang", "slow", "import", "install", "error"]
SILENT = ("wrong-result", "nan", "leak")  # what no message tells
GRAVITY = ("grave", "moderate", "minor")
_KINDS = ("wrong-result", "nan", "leak", "crash", "hang", "error", "import", "install", "slow")
KEPT = 512  # versions, which texts name, and places: of so many is kept what was worked out
BACKENDS = ("cpu", "cuda", "rocm", "mps", "xpu")
_PLAIN_LOCAL = Regex(
    r"(cpu|xpu|cu\d+|rocm\d+(\.\d+)*)?(\.?with\.pypi\.cudnn|\.?cxx11\.abi|\.?cudnn[\d.]+|\.?full)*"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Erratum:
    """One row. `versions` is a PEP 440 specifier ("" where only nightlies are bad); `nightlies` the first and the last
    bad date (None: when it ended is not known). `devices` empty: all of the backends. `cpu`: what the CPU must be or
    have ("arm64", "amx_tile"), and with "-" must not. `systems` and `needs`: name to specifier, "" for any version;
    systems empty: everywhere. `message`: a literal part of what is printed; `shared`: other faults print it
    too, so that it counts only beside the operation. `looked`: the ISO date on which the sources
    were last read."""

    id: str
    title: str
    kind: Kind
    versions: str
    backends: tuple[str, ...]
    ops: tuple[str, ...]
    symptom: str
    severity: str
    fixed_in: str | None
    workaround: str
    sources: tuple[str, ...]
    status: str
    looked: str
    nightlies: tuple[str | None, ...] = ()
    devices: tuple[str, ...] = ()
    cpu: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    message: str = ""
    shared: bool = False
    trigger: str = ""

    @property
    def silent(self) -> bool:
        """Whether nothing but the result tells of it."""
        return self.kind in SILENT

    @cached_property
    def weight(self) -> tuple[int, bool, int, bool, int, str]:
        """What orders the rows: severity, not silent, how many conditions (int), not verified, kind, id."""
        conditions = len(self.devices) + len(self.cpu) + len(self.needs) + len(self.systems)
        severity, kind = GRAVITY.index(self.severity), _KINDS.index(self.kind)
        return severity, not self.silent, conditions, self.status != "verified", kind, self.id

    @cached_property
    def is_conditional(self) -> bool:
        """Whether it takes more than a build and a backend."""
        return bool(self.devices or self.cpu or self.needs or self.systems)

    @cached_property
    def is_over_once_imported(self) -> bool:
        """Whether it keeps torch from being installed or imported."""
        return self.kind == "install" or (self.kind == "import" and set(self.ops) <= {"torch", "import torch"})

    @cached_property
    def devices_lower(self) -> frozenset[str]:
        return frozenset(d.lower() for d in self.devices)


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where errata are asked for. None is not known, everywhere. `backends`: those that torch can compute on here.
    `devices`: backend to what its devices are called in the rows ("sm_90", "gfx1100", "M1"). `libraries`: partner to
    its version, "" where it is absent; those that are not named are not known. `cpu`: architectures and instruction
    sets, each with whether the CPU has it. `imported`: torch is known to import."""

    version: str | None = None
    backends: tuple[str, ...] | None = None
    devices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    system: str | None = None
    system_version: str | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    cpu: Mapping[str, bool] = field(default_factory=dict)
    imported: bool = False


class Match(NamedTuple):
    """An erratum that holds at a place, or may. `unknown`: what would have to be known to say; () it holds. `backends`:
    those of the place that meet it. `exact`: the build is a published release, not one judged by those around it."""

    erratum: Erratum
    backends: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    exact: bool = True

    @property
    def applies(self) -> bool:
        return not self.unknown


@of_tables
def errata() -> tuple[Erratum, ...]:
    """All rows, in the order of the table."""
    return tuple(_erratum(row) for row in table("errata")["rows"])


def _erratum(row: Mapping[str, object]) -> Erratum:
    lists = ("backends", "ops", "sources", "nightlies", "devices", "cpu")
    return Erratum(**{k: tuple(v) if k in lists else v for k, v in row.items()})  # type: ignore[arg-type]


def erratum_of(id: str) -> Erratum | None:
    """The row of that id."""
    return next((e for e in errata() if e.id == id), None)


def errata_for(place: Place) -> tuple[Match, ...]:
    """The errata that hold at a place, and those that may, the gravest first."""
    return _matching(place)


def grave_for(place: Place) -> tuple[Match, ...]:
    """Of errata_for only those that are grave and verified: what the choice of a build asks of every candidate."""
    return _matching(place, grave=True)


def _matching(place: Place, *, grave: bool = False) -> tuple[Match, ...]:
    build = _build(place.version) if place.version else None
    found = []
    for erratum, hit, made in _of_place(place.version, place.backends, imported=place.imported, grave=grave):
        if match := made or _match(erratum, place, build, hit):
            found.append(match)
    return tuple(sorted(found, key=gravity))


def _of_place_asked(
    version: str | None, backends: tuple[str, ...] | None, *, imported: bool, grave: bool
) -> tuple[tuple[Erratum, bool | None, Match | None], ...]:
    """The errata that a build has or may have on these backends, each with whether it is known to have it, and with the
    match where nothing else of a place counts. `grave`: only those that are grave and verified."""
    place = Place(version=version, backends=backends, imported=imported)
    build = _build(version) if version else None
    here = frozenset(BACKENDS if backends is None else backends)
    found = []
    for erratum in errata():
        if here.isdisjoint(erratum.backends) or (imported and erratum.is_over_once_imported):
            continue
        if grave and (erratum.severity != "grave" or erratum.status != "verified"):
            continue
        hit = build.has(erratum) if build else None
        if hit is not False:
            found.append((erratum, hit, None if erratum.is_conditional else _match(erratum, place, build, hit)))
    return tuple(found)


_of_place = of_tables(_of_place_asked, KEPT)


def gravity(match: Match) -> tuple[object, ...]:
    """Sort key, the gravest first: what holds, severity, what is silent, what is said of this very device, how well it
    is known."""
    severity, silent, conditions, *known = match.erratum.weight
    return (not match.applies, severity, silent, -conditions if match.applies else 0, *known)


def _match(erratum: Erratum, place: Place, build: _Build | None, hit: bool | None) -> Match | None:
    """`hit`: whether the build has it, as far as that is known."""
    backends = [b for b in erratum.backends if place.backends is None or b in place.backends]
    there = [(b, on) for b in backends if (on := _on_device(erratum, place, b)) is not False]
    if not there:
        return None
    beside: list[tuple[bool | None, str]] = []
    for conditions, ask in ((erratum.systems, _systems), (erratum.cpu, _cpu), (erratum.needs, _needs)):
        if conditions:
            beside += ask(erratum, place)
    if any(answer is False for answer, _ in beside):
        return None
    unknown: list[str] = []
    if build is None:
        unknown.append("the version of torch")
    elif hit is None:
        unknown.append(f"whether {place.version} has it")
    if place.backends is None:
        unknown.append("the device")
    elif not any(on for _, on in there):
        unknown.append("the model of the device")
    unknown += [what for answer, what in beside if answer is None]
    exact = build is not None and (build.exact or bool(erratum.nightlies and build.day and hit))
    return Match(erratum=erratum, backends=tuple(b for b, _ in there), unknown=tuple(unknown), exact=exact)


def _on_device(erratum: Erratum, place: Place, backend: str) -> bool | None:
    """Whether a device of that backend is one of those that the erratum names; None where they are not known."""
    if not erratum.devices or backend == "cpu":
        return True
    here = place.devices.get(backend)
    if not here:
        return None
    return any(d.lower() in erratum.devices_lower for d in here)


def _systems(erratum: Erratum, place: Place) -> Iterable[tuple[bool | None, str]]:
    if not erratum.systems:
        return
    if place.system is None:
        yield None, "the system"
        return
    wanted = erratum.systems.get(place.system)
    if wanted is None:
        yield False, ""
    elif wanted:
        name = {"darwin": "macOS", "windows": "Windows", "linux": "Linux"}[place.system]
        yield _admits(wanted, place.system_version), f"the version of {name}"


def _cpu(erratum: Erratum, place: Place) -> Iterable[tuple[bool | None, str]]:
    for token in erratum.cpu:
        name = token.removeprefix("-")
        has = place.cpu.get(name)
        yield None if has is None else has != token.startswith("-"), f"whether the CPU has {name}"


def _needs(erratum: Erratum, place: Place) -> Iterable[tuple[bool | None, str]]:
    for name, wanted in erratum.needs.items():
        version = place.libraries.get(name)
        if version == "":
            yield False, ""
        elif version is None:
            yield None, f"the version of {name}"
        elif wanted:
            yield _admits(wanted, version), f"the version of {name}"


def _admits(wanted: str, version: str | None) -> bool | None:
    """Whether a version is admitted, judged by its numbers: those of systems and libraries are not all PEP 440."""
    parts = numbers(version) if version else ()
    return specifier(wanted).contains(".".join(map(str, parts))) if parts else None


# ---- versions


def affects(erratum: Erratum, version: str) -> bool | None:
    """Whether a build has the erratum; None where that can't be said.

    >>> e = Erratum(id="x", title="", kind="nan", versions=">=2.8,<2.9.1", backends=("mps",), ops=(), symptom="",
    ...             severity="grave", fixed_in="2.9.1", workaround="", sources=(), status="verified", looked="")
    >>> [affects(e, v) for v in ("2.9.0", "2.9.1+cu126", "2.9.0.dev20250801", "2.10.0a0+gitabc", "2.8.0+gitabc")]
    [True, False, True, None, True]
    """
    return _build(version).has(erratum)


@dataclass(frozen=True)
class _Build:
    """A build as the errata see it: the stable releases that it is judged by, the day of a nightly, whether it is a
    published release; and which errata it has, as far as that was asked."""

    stand_ins: tuple[str, ...]
    day: str | None
    early: bool
    exact: bool
    answers: dict[Erratum, bool | None] = field(default_factory=dict)

    def has(self, erratum: Erratum) -> bool | None:
        if erratum not in self.answers:
            self.answers[erratum] = self._has(erratum)
        return self.answers[erratum]

    def _has(self, erratum: Erratum) -> bool | None:
        if self.day and erratum.nightlies:
            first, last = erratum.nightlies[0], erratum.nightlies[-1]
            if self.day == first or (last and (first or "") <= self.day <= last):
                return True
            if not erratum.versions:
                return None if last is None and self.day > (first or "") else False
        elif erratum.nightlies and not erratum.versions:
            return None if self.early else False
        answers = {_has(erratum, release) for release in self.stand_ins}
        return answers.pop() if len(answers) == 1 else None


def _build_of(version: str) -> _Build:
    stand_ins = stands_for(version)
    exact = len(stand_ins) == 1 and _is_published(version)
    return _Build(stand_ins, nightly_date(version), is_early(version), exact)


_build = of_tables(_build_of, KEPT)


def _has(erratum: Erratum, release: str) -> bool | None:
    """Whether a stable release has it. Not known: a release after the newest that was seen to have it and before the
    one that is known to be free of it; and of an open range a release that came after the sources were read."""
    if specifier(erratum.versions).contains(release):
        if erratum.fixed_in or "<" in erratum.versions or "==" in erratum.versions:
            return True
        day = release_date(release)
        return True if day and day <= erratum.looked else None
    if erratum.fixed_in and compared(release) >= compared(erratum.fixed_in):
        return False
    newest = newest_in(erratum.versions)
    return False if newest is None or compared(release) < compared(newest) else None


@of_tables
def newest_in(versions: str) -> str | None:
    """The newest stable release of the tables that a specifier admits; None for "", and where there is none."""
    if not versions:
        return None
    spec = specifier(versions)
    return next((v for v in reversed(torch_versions()) if spec.contains(v)), None)


def nightly_date(version: str) -> str | None:
    """ "2.9.0.dev20250801+cu128" -> "2025-08-01"."""
    found = re.search(r"dev(20\d\d)(\d\d)(\d\d)", version)
    return "-".join(found.groups()) if found else None


def stands_for(version: str) -> tuple[str, ...]:
    """The stable releases that a build is judged by: see the module's docstring; () where it is no version of torch.

    >>> stands_for("2.5.1.post302"), stands_for("2.4.0+cpu.cxx11.abi"), stands_for("2.4.0+gitd990dad")
    (('2.5.1',), ('2.4.0',), ('2.4.0', '2.4.1'))
    >>> stands_for("2.1.0a0+41361538.nv23.06"), stands_for("main")
    (('2.0.0', '2.0.1', '2.1.0'), ())
    """
    if taken_apart(version) is None:
        return ()
    base = release_of(version)
    known = torch_versions()
    if is_early(version):
        older = [v for v in known if numbers(v)[:2] < numbers(base)[:2]]
        minor = numbers(older[-1])[:2] if older else ()
        return (*(v for v in older if numbers(v)[:2] == minor), base)
    if _is_published(version):
        return (base,)
    later = (v for v in known if numbers(v)[:2] == numbers(base)[:2] and compared(v) > compared(base))
    following = next(later, None)
    return (base, following) if following else (base,)


def _is_published(version: str) -> bool:
    """Whether a build is a stable release as it was published: its local part names the backend at most."""
    parts = taken_apart(version)
    return bool(parts and not parts[1] and _PLAIN_LOCAL.fullmatch(parts[2]))


# ---- what cures


def is_stale(erratum: Erratum, today: str) -> bool:
    """Whether nobody knows a fix and the sources were last read more than a year before that ISO date."""
    year = f"{int(today[:4]) - 1}{today[4:]}"
    return erratum.fixed_in is None and erratum.looked < year


def fix_is_ahead(erratum: Erratum) -> bool:
    """Whether the fix is in a release that the tables don't have yet."""
    return erratum.fixed_in is not None and compared(erratum.fixed_in) > compared(newest_torch())

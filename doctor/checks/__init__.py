"""Stage 3. One file is one diagnosis: the file's name is its id (with _ for -), its folder its layer.

A check declares itself by a module-level `check = Check(...)`; its module docstring is its documentation, with the
title as first line and the headings «What it means», «How to see it yourself», «What to do», «References».
`scripts/new.py check LAYER ID` writes such a file and its examples.

The check either is given a `judge` function, pure, that takes Facts and returns a Finding (by `check.found(...)`), None
(nothing found), several Findings, or Unknown(reason) where the facts do not suffice; or, where the diagnosis is «this
message plus these facts», a `rule`.

Nothing found is not ruled out: that takes known facts. Which ones, the check declares as `needs`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cache, lru_cache
from typing import Any

from doctor.checks._only_on import ONLY_ON
from doctor.model.facts import ABSENT, ErrorText, Facts, Gap, Gpu, ImportFailure, Package, Source, TorchCopy
from doctor.model.finding import LAYERS, Evidence, Finding, Remedy, Severity
from doctor.model.values import dataclass
from doctor.modules import names_in

PROGRAM_ERROR = "program-error"  # the check that stands for errors of the user's program
PROGRAM = "program"  # explains a symptom that is the program's own without being a finding


@dataclass(frozen=True)
class Unknown:
    """A judge's answer where what is known does not suffice: the check is skipped with this reason."""

    reason: str


Judgement = Finding | Iterable[Finding] | Unknown | None


@dataclass(frozen=True)
class Fit:
    """How well a hypothesis fits the facts: `factor` multiplies its weight (3: typical here; 0.1: hardly ever here),
    `why` is one clause for the reader."""

    factor: float
    why: str


@dataclass(frozen=True, kw_only=True)
class Rule:
    """«This message plus these facts.» Found when one of `errors` was recognised, `when` holds and `unless` does not.

    `detail` may use {text} (the message), {0} {1} … (its groups) and the names that `values` gives. `remedies` is a
    tuple or a function of the facts.
    """

    errors: tuple[str, ...]
    detail: str
    when: Callable[[Facts, ErrorText], bool] | None = None
    unless: Callable[[Facts, ErrorText], bool] | None = None
    values: Callable[[Facts, ErrorText], Mapping[str, str]] | None = None
    facts: tuple[str, ...] = ()  # dotted names shown as evidence where they are known
    remedies: tuple[Remedy, ...] | Callable[[Facts], tuple[Remedy, ...]] = ()
    confidence: str = "certain"


@dataclass(kw_only=True)
class Check:
    """The declaration of one diagnosis. `id`, `layer`, `title` and `docs` come from the file itself.

    `needs`: the facts that must be known before «nothing found» rules the diagnosis out; else the outcome is `skipped`,
    with the first that is missing. Dotted names; "a|b": one of them; "messages": whatever torch, the driver and a probe
    would say of it was heard, which only a live run can claim.
    `systems`: where it can occur at all ("linux", "darwin", "windows"); () is everywhere.
    `keeps_from`: the vendors ("nvidia", "amd", "intel", "apple") whose GPUs torch cannot use because of it. It is a
    candidate for each GPU of theirs that torch does not use, and refuted where torch uses all of them.
    `even_if_listed`: torch may list such a GPU all the same, so that only a passed probe of each refutes it.
    `even_if_imported`: it can make `import torch` fail, and can also keep torch from the GPU while the import succeeds.
    `usual`: the remedies that are tried where only the diagnosis is concluded, and no detail known.
    """

    severity: Severity
    needs: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    keeps_from: tuple[str, ...] = ()
    even_if_listed: bool = False
    even_if_imported: bool = False
    usual: tuple[Remedy, ...] = ()
    on_request: bool = False  # judged only where the user asked for it: where all that it needs is known
    concluded: bool = False  # found by doctor/accounting when the others have answered, never by a judge of its own
    follows_kept_gpus: bool = False  # a consequence of every fault that keeps GPUs of its `vendors` from torch
    explains: tuple[str, ...] = ()  # ids that are its consequences
    instead_of: tuple[str, ...] = ()  # ids that it replaces: the borders of the catalogue
    rule: Rule | None = None
    judge: Callable[[Facts], Judgement] | None = field(default=None, repr=False)
    fits: Callable[[Facts], Fit | None] | None = field(default=None, repr=False)
    id: str = ""
    layer: str = ""
    title: str = ""
    docs: str = ""

    def __call__(self, judge: Callable[[Facts], Judgement]) -> Callable[[Facts], Judgement]:
        """Use as a decorator: `@check`."""
        self.judge = judge
        return judge

    def fit(self, fits: Callable[[Facts], Fit | None]) -> Callable[[Facts], Fit | None]:
        """A decorator for the function that says how well the diagnosis fits these facts, where only a hypothesis is
        asked for: `@check.fit`."""
        self.fits = fits
        return fits

    def found(
        self,
        facts: Facts,
        detail: str,
        *,
        evidence: Iterable[str | Evidence | None] = (),
        remedies: Iterable[Remedy] = (),
        severity: Severity | None = None,
        confidence: str = "certain",
        title: str | None = None,
        **values: object,
    ) -> Finding:
        """The finding of this check. `evidence` names facts by their dotted names (their values and sources are looked
        up) or gives Evidence; unknown ones are left out."""
        shown = [self.quote(facts, e) if isinstance(e, str) else e for e in evidence]
        return Finding(
            id=self.id,
            layer=self.layer,
            severity=severity or self.severity,
            title=title or self.title,
            detail=detail,
            values={k: str(v) for k, v in values.items() if v is not None},
            evidence=tuple(e for e in shown if e is not None),
            confidence=confidence,  # type: ignore[arg-type]
            remedies=tuple(remedies),
        )

    def needs_shown(self, facts: Facts) -> tuple[Evidence, ...]:
        """The known ones of the facts that it needs, as evidence."""
        names = (name for need in self.needs for name in need.split("|") if name not in ("messages", "environ"))
        return tuple(e for name in dict.fromkeys(names) if (e := self.quote(facts, name)))

    @staticmethod
    def quote(facts: Facts, name: str, label: str = "") -> Evidence | None:
        """The fact of that dotted name as Evidence, with its source; None where it is not known."""
        value = look_up(facts, name)
        if value is None:
            return None
        if isinstance(value, tuple):
            value = ", ".join(_in_words(v) for v in value) or "none"
        elif value is ABSENT:
            value = "none"
        origin = origin_of(facts, name)
        return Evidence(
            fact=label or name,
            value=_in_words(value),
            source=origin.source if origin else "",
            quote=origin.quote if origin else "",
        )


def _in_words(value: object) -> str:
    """One value as people read it: a GPU by its name, a source by its answer; never a Python repr."""
    if isinstance(value, Gpu):
        return value.name or value.pci_id or value.vendor
    if isinstance(value, Source):
        return f"{value.name}: {value.status}"
    if isinstance(value, ImportFailure):
        return f"{value.exception}: {value.message}" if value.exception else value.message
    if isinstance(value, (Package, TorchCopy)):
        return value.name if isinstance(value, Package) else value.path
    if dataclasses.is_dataclass(value):  # any other: what its texts say
        return " ".join(v for f in dataclasses.fields(value) if isinstance(v := getattr(value, f.name), str) and v)
    if isinstance(value, tuple):
        return ": ".join(map(str, value))
    return str(value)


def look_up(facts: Facts, name: str) -> Any:
    """The value of a dotted fact; ABSENT where something on the way is absent, None where it is not known.

    >>> look_up(Facts(), "nvidia.driver") is None
    True
    """
    value: Any = facts
    for part in name.split("."):
        if value is None or value is ABSENT:
            return value
        value = value.get(part) if isinstance(value, dict) else getattr(value, part)
    return value


def is_known(facts: Facts, need: str) -> bool:
    """Whether a need of a check (see Check) is met.

    >>> is_known(Facts(), "nvidia.driver"), is_known(Facts(gpus=()), "nvidia.driver|gpus")
    (False, True)
    """
    for name in need.split("|"):
        if _everything_was_heard(facts) if name == "messages" else look_up(facts, name) is not None:
            return True
    return False


def _everything_was_heard(facts: Facts) -> bool:
    """Whether torch was imported and the devices were probed, here and now: what they had to say is in the facts."""
    torch = facts.torch
    heard_import = torch is ABSENT or (torch is not None and torch.imports is not None)
    return facts.live and heard_import and facts.probes is not None


def origin_of(facts: Facts, name: str) -> Any:
    """The Origin of a dotted fact, or of the nearest fact above it; None where nothing was noted."""
    while name:
        if name in facts.origins:
            return facts.origins[name]
        name = name.rpartition(".")[0]
    return None


def gap_of(facts: Facts, name: str) -> Gap:
    """Why a dotted fact is not known: its own Gap, or that of a fact above it."""
    part = name if facts.gaps else ""
    while part:
        for gap in facts.gaps:
            if gap.fact == part:
                return gap
        part = part.rpartition(".")[0]
    return _nothing_said(name, facts.live)


@cache
def _nothing_said(name: str, live: bool) -> Gap:
    return Gap(fact=name, reason="not-looked" if live else "not-in-evidence")


@cache
def layers() -> dict[str, str]:
    """Of each check, found by being there, its layer; in causal order (layer, then file name)."""
    found: dict[str, str] = {}
    for layer in LAYERS:
        package = importlib.import_module(f"doctor.checks.{layer}")
        found |= {module.replace("_", "-"): layer for module in names_in(package.__path__)}
    return found


@cache
def check_of(id: str) -> Check | None:
    """The check of that id, or None. Its file is loaded when somebody asks for it."""
    if (layer := layers().get(id)) is None:
        return None
    loaded = importlib.import_module(f"doctor.checks.{layer}.{id.replace('-', '_')}")
    check = loaded.check
    assert isinstance(check, Check), f"{loaded.__name__} declares no check"
    check.id = id
    check.layer = layer
    title, _, docs = (loaded.__doc__ or "").strip().partition("\n")
    check.title, check.docs = title.strip(), docs.strip("\n")
    return check


def all_checks() -> tuple[Check, ...]:
    """Every check, in causal order."""
    return checks_on(())


@lru_cache(maxsize=16)  # a report that somebody changed may name any system
def checks_on(there: tuple[str, ...]) -> tuple[Check, ...]:
    """The checks of all that can occur where systems_of() says these systems are, in causal order. The others are not
    even loaded."""
    ids = (id for id in layers() if occurs_on(ONLY_ON.get(id, ()), there))
    return tuple(check for id in ids if (check := check_of(id)))


def systems_of(facts: Facts) -> tuple[str, ...]:
    """The systems of a machine ("linux", "darwin", "windows"); () where that is not known. WSL is a Linux, whichever
    system is named beside it."""
    system = facts.host.system
    if not system:
        return ()
    return (system, "linux") if facts.host.wsl and system != "linux" else (system,)


def occurs_on(systems: tuple[str, ...], there: tuple[str, ...]) -> bool:
    """Whether what occurs on these systems, () for all, can occur there."""
    return not systems or not there or not frozenset(systems).isdisjoint(there)


def is_programs_own(explained_by: str | None) -> bool:
    """Whether what explains a symptom, or a finding's id, says that the error is the program's own."""
    return explained_by is not None and explained_by in (PROGRAM, PROGRAM_ERROR)

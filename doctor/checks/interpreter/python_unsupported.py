"""There is no torch wheel for this Python.

What it means
    Each torch release is published for a few Python versions: a new Python waits for a new torch, an old one is
    dropped. PyPy and other implementations have no wheels at all. pip then says «from versions: none», or offers only
    other releases.

How to see it yourself
    python -VV; pip download torch --no-deps --dry-run shows what pip can find.

What to do
    Make an environment with a Python that the wanted torch supports, or take a torch release that supports this
    Python.

References
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md#release-compatibility-matrix
    https://packaging.python.org/specifications/platform-compatibility-tags/
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement, Unknown
from doctor.checks._machine import (
    backend_of_index,
    beyond_intel_macs,
    heard,
    imported,
    offered_for_intel_macs,
    older,
    python_minor,
    wanted_release,
    wanted_torch,
)
from doctor.checks._torch import installed, numbers, quote, wanted_backend
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, ErrorText, Facts, InstallAttempt, StartFailure
from doctor.model.finding import Evidence, Remedy
from doctor.model.values import dataclass
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("interpreter.version", "interpreter.implementation", "torch", "messages"),
    usual=(Remedy(action="replace-interpreter"),),
    explains=("torch-missing", "torch-too-old", "compiler-missing"),
    instead_of=("no-matching-wheel", "index-misconfigured", "interpreter-broken", "pip-missing"),
)

NOTHING_FOUND = ("torch-from-versions-none", "no-matching-torch", "uv-no-solution", "local-version-not-found")
NOT_THERE = ("module-not-found-torch", "no-module-named-torch")
FIRST_WHEELS = "0.3"  # the package index has 0.1.2 as sources that only say where to look
OF_TORCH = Regex(r"torch(?![\w.-])")
OF_FAMILY = Regex(r"(?:py)?torch(?:vision|audio)?(?![\w.-])")
PLATFORMS = ("linux_x86_64", "win_amd64", "macos_arm64", "linux_aarch64")


@check
def judge(facts: Facts) -> Judgement:
    failure = facts.interpreter.start_failure
    if isinstance(failure, StartFailure) and failure.kind == "too-old":
        return _too_old_to_ask(facts, failure)
    if error := heard(facts, "dynamo-unsupported-python"):
        return _compiler_of_torch(facts, error)
    if beyond_intel_macs(facts):
        return None  # whatever the Python
    if error := heard(
        facts,
        "torch-requires-different-python",
        "poetry-python-too-narrow",
        "uv-python-without-wheel",
        "wheel-for-abi-tag",
        "conda-torch-needs-python",
        "torch-requires-python",
        "poetry-wheels-skipped",
    ):
        return _refused(facts, error)
    torch, error = installed(facts), heard(facts, *NOTHING_FOUND)
    if torch is not None and (torch.imports or error is None):
        return None
    failed = [a for a in facts.attempts if (a.failed or a.offered is not None) and _may_be_torch(a)]
    if facts.torch is not ABSENT and error is None and not failed and not heard(facts, *NOT_THERE):
        return None
    if (facts.interpreter.implementation or "cpython").lower() not in ("cpython", "python"):
        return _other_implementation(facts, error)
    python = python_minor(facts)
    if python is None:
        return _from_the_offer(facts, failed, error)
    if said := next((f for a in failed if (f := _only_placeholders(facts, a, error))), None):
        return said
    return _no_release(facts, python, error) or _not_the_wanted_one(facts, python, failed, error)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if imported(facts):
        return Fit(0.1, "torch imports in this Python")
    if _before_the_tables(facts):
        return None  # which Pythons torch served in those days is not known
    failed = [a for a in facts.attempts if a.failed]
    if failed and not any(map(_may_be_torch, failed)):
        return Fit(0.1, "it was another package that could not be installed")
    python, platforms = python_minor(facts), _platforms(facts)
    if python is None or not platforms:
        return None
    served = any(lookup.torch_versions(p, python, facts.as_of) for p in platforms)
    return (
        Fit(0.3, f"torch has wheels for Python {python}") if served else Fit(5, f"torch has none for Python {python}")
    )


def _may_be_torch(attempt: InstallAttempt) -> bool:
    """False where it is known that other packages were to be installed."""
    return not attempt.requirements or any(OF_FAMILY.match(requirement) for requirement in attempt.requirements)


def _platforms(facts: Facts) -> tuple[str, ...]:
    """Wheel platforms that this may be. Where a ticket names only the system, x86-64 is assumed."""
    system, architecture = facts.host.system, facts.interpreter.architecture or facts.host.architecture
    if system and not architecture and system != "darwin":
        architecture = "x86_64"
    if system and architecture:
        known = lookup.platform_of(system, architecture)
        return (known,) if known else ()
    return tuple(
        p for p in PLATFORMS if not system or p.startswith({"darwin": "macos", "windows": "win"}.get(system, system))
    )


@dataclass(frozen=True)
class _Range:
    """Pythons of a release: "3.9" to "3.12" is ">=3.9,<3.13"."""

    release: str
    pythons: tuple[str, ...]

    @property
    def spec(self) -> str:
        plain = sorted({p.rstrip("t") for p in self.pythons}, key=numbers)
        major, minor = numbers(plain[-1])[:2]
        return f">={plain[0]},<{major}.{minor + 1}"


def _range_of(facts: Facts, release: str | None = None) -> _Range | None:
    """The Pythons of that release, or of the newest one, on the platform."""
    for platform in _platforms(facts):
        releases = lookup.torch_versions(platform, None, facts.as_of)
        chosen = release or (releases[-1] if releases else None)
        pythons = lookup.pythons_of(chosen, platform) if chosen else None
        if chosen and pythons:
            return _Range(chosen, pythons)
    return None


def _no_release(facts: Facts, python: str, error: ErrorText | None) -> Judgement:
    """No release at all has a wheel for this Python (by the tables, or by the date of the ticket)."""
    platforms = tuple(p for p in _platforms(facts) if lookup.torch_versions(p, None, facts.as_of))
    if not platforms or any(lookup.torch_versions(p, python, facts.as_of) for p in platforms):
        return None
    when = facts.as_of or lookup.tables_date()
    known = any(python in (lookup.pythons_of(r, p) or ()) for p in platforms for r in lookup.torch_versions(p))
    newest = _range_of(facts)
    newer = bool(newest) and numbers(python) > max(map(numbers, newest.pythons)) if newest else False
    return _found(
        facts,
        f"No torch release has a wheel for Python {facts.interpreter.version} "
        f"here{f' (as of {when})' if newer or known else ''}.",
        newest,
        error,
        confidence="likely" if newer and not known and error is None else "certain",
    )


def _not_the_wanted_one(facts: Facts, python: str, failed: list[InstallAttempt], error: ErrorText | None) -> Judgement:
    """The release that was asked for has no wheel for this Python, while others have."""
    for attempt in failed:
        wanted = wanted_release(attempt)
        if wanted is None or (facts.host.system == "darwin" and wanted_backend(attempt)[0] not in (None, "cpu")):
            continue  # no Mac can have that build, whatever the Python
        found = [lookup.pythons_of(wanted, p) for p in _platforms(facts)]
        known = [p for p in found if p]
        if not known or any(python in p for p in known):
            continue
        return _found(
            facts,
            f"torch {wanted} has no wheel for Python {facts.interpreter.version}.",
            _range_of(facts, wanted),
            error,
            attempt=attempt,
            install=_instead(facts, python, attempt),
        )
    return None


def _instead(facts: Facts, python: str, attempt: InstallAttempt) -> dict[str, str]:
    """Which torch this Python can have, of the backend that was asked for if one of them is published in it."""
    backend = next((b for url in attempt.indexes if (b := backend_of_index(url))), None)
    asked = wanted_release(attempt) or ""
    for platform in _platforms(facts):
        if not (releases := lookup.torch_versions(platform, python, facts.as_of)):
            continue
        there = backend and any(lookup.published(r, backend, platform, python) != "no" for r in releases)
        kept = {"backend": backend} if backend and there else {}
        return {"torch": f">={releases[0]}", "instead_of": asked, **kept}
    return {}


def _only_placeholders(facts: Facts, attempt: InstallAttempt, error: ErrorText | None) -> Judgement:
    """Of torch only the sources of 2016 are on offer: what a Python sees that no wheel is for."""
    if not attempt.offered or max(numbers(v) for v in attempt.offered) >= numbers(FIRST_WHEELS):
        return None
    if not any(OF_TORCH.match(requirement) for requirement in attempt.requirements):
        return None  # what is on offer is of another package
    if _before_the_tables(facts) and python_minor(facts) in (None, *_first_pythons()):
        return None  # whole systems had no wheel there in those days, whatever the Python
    if python_minor(facts) and _well_served(facts, str(python_minor(facts))):
        return None  # the Python is not the reason
    wanted = wanted_release(attempt)
    return _found(
        facts,
        f"Of torch only {', '.join(attempt.offered)} are on offer, sources from before there were wheels: "
        "no release has a wheel for this Python.",
        _range_of(facts, wanted),
        error,
        confidence="likely",
        attempt=attempt,
    )


def _before_the_tables(facts: Facts) -> bool:
    """Whether the ticket is older than the first release that the tables know."""
    return facts.as_of is not None and not any(lookup.torch_versions(p, None, facts.as_of) for p in PLATFORMS)


def _first_pythons() -> tuple[str, ...]:
    """The Pythons that torch served before the first release of the tables: all of that one's but the newest."""
    first = lookup.torch_versions(PLATFORMS[0])[0]
    return tuple(sorted(lookup.pythons_of(first, PLATFORMS[0]) or (), key=numbers)[:-1])


def _well_served(facts: Facts, python: str) -> bool:
    """Whether several releases have wheels for it: those of the first one were at times uploaded later."""
    return any(len(lookup.torch_versions(p, python, facts.as_of)) > 1 for p in _platforms(facts))


def _from_the_offer(facts: Facts, failed: list[InstallAttempt], error: ErrorText | None) -> Judgement:
    """The Python is not told, but what pip has on offer tells it: it begins or ends as only one Python's does."""
    for attempt in failed:
        if said := _only_placeholders(facts, attempt, error):
            return said
        wanted, public = (
            wanted_release(attempt),
            sorted((v for v in attempt.offered or () if "+" not in v), key=numbers),
        )
        if wanted is None or not public or wanted in public:
            continue
        for platform in (p for p in _platforms(facts) if wanted in lookup.torch_versions(p, None, facts.as_of)):
            python = _python_of_offer(platform, wanted, public, facts.as_of)
            if python:
                return _found(
                    facts,
                    f"The versions on offer are {public[0]} to {public[-1]}, as they are for "
                    f"Python {python}; torch {wanted} has no wheel "
                    "for it.",
                    _range_of(facts, wanted),
                    error,
                    confidence="likely",
                    attempt=attempt,
                    install=_instead(facts, python, attempt),
                    python=python,
                )
    if (ignored := heard(facts, "versions-need-other-python")) and error and not offered_for_intel_macs(facts):
        return _found(
            facts,
            "pip passed versions over that are for another Python.",
            _range_of(facts),
            ignored,
            confidence="likely",
        )
    return Unknown("the Python version is not known") if error else None


def _python_of_offer(platform: str, wanted: str, public: list[str], as_of: str | None) -> str | None:
    """A Python whose releases begin (wanted is older) or end (wanted is newer) where the offer does."""
    pythons = {
        p for r in lookup.torch_versions(platform) for p in lookup.pythons_of(r, platform) or () if not p.endswith("t")
    }
    for python in sorted(pythons, key=numbers, reverse=True):
        releases = lookup.torch_versions(platform, python, as_of)
        if not releases or wanted in releases:
            continue
        begins = older(wanted, public[0]) and releases[0] == public[0]
        ends = older(public[-1], wanted) and releases[-1] == public[-1]
        if begins or ends:
            return python
    return None


def _other_implementation(facts: Facts, error: ErrorText | None) -> Judgement:
    name = facts.interpreter.implementation or ""
    shown = {"pypy": "PyPy", "graalpy": "GraalPy"}.get(name.lower(), name)
    return _found(facts, f"This Python is {shown}; torch has wheels for CPython only.", _range_of(facts), error)


def _too_old_to_ask(facts: Facts, failure: StartFailure) -> Judgement:
    version = failure.version or facts.interpreter.version or "older than 3.6"
    return _found(facts, f"This is Python {version}; no current torch supports it.", _range_of(facts), None)


def _refused(facts: Facts, error: ErrorText) -> Judgement:
    """pip or uv says itself that the Python is the reason."""
    told = (
        error.groups[0]
        if error.groups
        and error.pattern in ("torch-requires-different-python", "poetry-python-too-narrow", "uv-python-without-wheel")
        else "this version"
    )
    version = facts.interpreter.version or told
    attempt = next((a for a in facts.attempts if wanted_release(a)), None)
    pythons = _range_of(facts, wanted_release(attempt) if attempt else None)
    return _found(facts, f"torch has no wheel for Python {version}: {error.text}", pythons, error, attempt=attempt)


def _compiler_of_torch(facts: Facts, error: ErrorText) -> Judgement:
    """torch works on this Python, torch.compile not yet."""
    torch, first = installed(facts), re.search(r"Python 3\.(\d+)", error.text)
    older_python = {"python": f"<3.{first[1]}"} if first else {}
    return check.found(
        facts,
        f"torch.compile of torch {torch.version if torch else '(this release)'} does "
        f"not support this Python yet: {error.text}",
        evidence=(quote(error), "interpreter.version", "torch.version"),
        remedies=(Remedy(action="upgrade-torch"), Remedy(action="replace-interpreter", details=older_python)),
    )


def _found(
    facts: Facts,
    detail: str,
    pythons: _Range | None,
    error: ErrorText | None,
    confidence: str = "certain",
    attempt: InstallAttempt | None = None,
    install: dict[str, str] | None = None,
    python: str | None = None,
) -> Judgement:
    """`attempt`: the installation that failed, whose torch the other Python is for; `install`: which torch this Python
    can have instead."""
    wanted = wanted_torch(attempt) if attempt else {}
    replace = Remedy(action="replace-interpreter", details={**({"python": pythons.spec} if pythons else {}), **wanted})
    other = (Remedy(action="install-torch", details=install),) if install is not None else ()
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "interpreter.version",
            "interpreter.implementation",
            Evidence(
                fact=f"Pythons of torch {pythons.release}",
                value=", ".join(pythons.pythons),
                source="wheels on the package index",
            )
            if pythons
            else None,
        ),
        remedies=(replace, *other),
        confidence=confidence,
        python=facts.interpreter.version or python,
    )

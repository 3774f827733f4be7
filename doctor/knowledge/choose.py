"""Which torch build serves a machine: facts in, ranked builds out, with the reasons. Pure.

The rules, in the order in which they rank what works:

  1. Every GPU that counts is served by one build, if there is one; else the build that serves most of them, then the
     one that serves the strongest, and it names what it leaves out. Only GPUs of one vendor can share a build: NVIDIA
     is tried before AMD, AMD before Intel. CUDA_VISIBLE_DEVICES and its kin limit which GPUs count.
  2. Builds with code for the GPUs themselves come before builds that need a crutch: PTX that the driver must compile,
     or HSA_OVERRIDE_GFX_VERSION.
  3. A publication that is verified comes before one that follows from the rules of earlier releases.
  4. The newest torch; but a neighbour comes first that lacks a grave erratum which the newest has on this machine's
     device, and has no other (choosing/avoiding.py).
  5. Among backends of one torch: one whose companions are published too; the build of the package index itself (no
     extra index to name); a CUDA version that the driver knows natively (else minor-version compatibility has to carry
     it); the highest CUDA version.

A build works on a GPU if a wheel exists for the platform, the Python and the C library (or macOS), the driver can run
its CUDA version and knows the GPU, and its list of architectures has code that runs there. A GPU newer or older than
the driver's branches is not served, whatever the build. What is not known is assumed to be good enough, and said.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from doctor.knowledge import lookup
from doctor.knowledge.choosing.followers import followed
from doctor.knowledge.choosing.lazy import Lazy
from doctor.knowledge.choosing.machines import (
    COMPANIONS,
    FOLLOWERS,
    Machine,
    Wanted,
    assumed_of_cards,
    kind_of,
    machine_of,
    pins_of,
    specifier,
)
from doctor.knowledge.choosing.nearest import nearest_to, on_conda_forge, pythons_on
from doctor.knowledge.choosing.ranking import Candidate, Choice, Nearest, rank
from doctor.knowledge.lookup import cuda_of_backend
from doctor.knowledge.vendors import conda_forge
from doctor.knowledge.versions import numbers
from doctor.model.facts import ABSENT, Facts

PLATFORMS = ("linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64", "win_amd64")

__all__ = [
    "COMPANIONS",
    "Candidate",
    "Choice",
    "Nearest",
    "choose",
    "conda_forge_cuda",
    "no_such_build",
    "platform_of",
    "pythons",
    "specifier",
    "suits_the_others",
]


def choose(
    facts: Facts, *, torch: str | None = None, backend: str | None = None, companions: Iterable[str] = ()
) -> Choice:
    """Rank the builds for the machine of `facts`. `torch` is a PEP 440 specifier that the build must meet ("==2.4.*"),
    `backend` a wanted backend ("cpu", "cu126"; None: the machine's best), `companions` packages to bring along.
    Unknown facts (no driver version in a ticket) are assumed to be good enough, and said so in `assumes`.
    Raises packaging.specifiers.InvalidSpecifier for a specifier that is none."""
    machine, assumes = machine_of(facts)
    if backend and kind_of(backend) == "cuda" and _is_for_another(facts):
        machine = replace(machine, driver=None)
        assumes += ("there is no NVIDIA GPU here: the build is for another machine, such as one that runs this image",)
    pins, _ = pins_of(facts)
    wanted = Wanted(spec=specifier(torch), pins=specifier(pins), backend=backend, companions=tuple(companions))
    choice, left = _with_pins(machine, wanted, facts)
    assumes += left
    if machine.among is not None:
        held = ", ".join(f"{release} ({backend})" for release, backend in sorted(machine.among)) or "none"
        assumes += (f"only wheels that are there can be installed; of torch for this Python: {held}",)
    if not choice.builds or choice.wanting:
        choice = replace(choice, nearest=Lazy(nearest_to(machine, wanted, choice)))
    return replace(choice, assumes=assumes + tuple(assumed_of_cards(machine)))


def _with_pins(machine: Machine, wanted: Wanted, facts: Facts) -> tuple[Choice, tuple[str, ...]]:
    """The builds that suit what other installed packages ask of torch; where there is none, those packages that can
    follow torch are moved along, and in the end the wishes are left aside, and said."""
    choice = rank(machine, wanted)
    if choice.builds or wanted.pins is None:
        return choice, ()
    firm, pinned_by = pins_of(facts, without=FOLLOWERS)
    choice = rank(machine, replace(wanted, pins=specifier(firm)))
    if choice.builds:
        return followed(choice, machine, facts)
    choice, left = followed(rank(machine, replace(wanted, pins=None)), machine, facts)
    if choice.builds:
        text = f"no build for this machine meets what {pinned_by} asks of torch ({firm}); that was left aside"
        left = (*left, *((text,) if firm else ()))
    return choice, left


def suits_the_others(facts: Facts, version: str) -> bool:
    """Whether that torch is what the other installed packages ask for, as far as they say."""
    pins, _ = pins_of(facts)
    wish = specifier(pins)
    return wish is None or wish.contains(lookup.release_of(version), prereleases=True)


def _is_for_another(facts: Facts) -> bool:
    """Whether a CUDA build that is asked for can't be meant for this machine."""
    return facts.gpus == () and facts.nvidia.driver is ABSENT


def conda_forge_cuda(facts: Facts, backend: str) -> str | None:
    """The newest CUDA version of conda-forge's builds that serves all NVIDIA GPUs of the machine, or where it has none
    the newest like the backend's; None where there is none."""
    machine, _ = machine_of(facts)
    if _is_for_another(facts):
        offer = conda_forge()["platforms"].get(machine.platform, {}).get("cuda", ())
        wanted = (cuda_of_backend(backend) or "").split(".")[0]
        return next((cuda for cuda in reversed(offer) if cuda.split(".")[0] == wanted), None)
    near = next(on_conda_forge(machine), None)
    return dict(near.details).get("cuda") if near else None


def platform_of(facts: Facts) -> str:
    """The platform ("linux_x86_64") for which the target's Python takes wheels, by the same assumptions as choose()."""
    return machine_of(facts)[0].platform


def no_such_build(torch: str | None, backend: str | None) -> str | None:
    """Why no machine at all can have that release (a specifier) of that backend, with the nearest that there is; None
    where some can. Releases that are newer than the tables are not known.

    >>> no_such_build("==9.9", None), no_such_build("==2.6.0", "cu124")
    ('the tables know no torch 9.9: the nearest is 2.15.0', None)
    >>> no_such_build(None, "cu999")
    'there is no backend cu999: the nearest is cu132'
    >>> no_such_build("==2.6.0", "cu130")
    'torch 2.6.0 was not made for cu130: the nearest is cu126'
    """
    wanted = specifier(torch)
    known = lookup.torch_versions()
    releases = tuple(r for r in known if wanted is None or wanted.contains(r, prereleases=True))
    named = (torch or "").removeprefix("==")
    if not releases:
        return f"the tables know no torch {named}: the nearest is {_next_to(named.lstrip('<>=!~ '), known)}"
    if backend is None or backend in (kind_of(backend), "cuda", "rocm"):
        return None
    everywhere = _backends(known)
    if backend not in everywhere:
        return f"there is no backend {backend}: the nearest is {_nearest_backend(backend, everywhere)}"
    there = _backends(releases)
    if backend in there:
        return None
    which = f"torch {named}" if torch else "it"
    return f"{which} was not made for {backend}: the nearest is {_nearest_backend(backend, there)}"


def _backends(releases: Iterable[str]) -> set[str]:
    return {b for release in releases for platform in PLATFORMS for b in lookup.backends_of(release, platform)}


def _nearest_backend(backend: str, known: Iterable[str]) -> str:
    """Of the same kind where there is one."""
    versions = {_version(b): b for b in sorted(known, reverse=True) if kind_of(b) == kind_of(backend)}
    return versions[_next_to(_version(backend), versions)] if versions else "cpu"


def _version(backend: str) -> str:
    return lookup.cuda_of_backend(backend) or backend.strip("abcdefghijklmnopqrstuvwxyz") or "0"


def _next_to(version: str, known: Iterable[str]) -> str:
    """The newest that is not newer, else the oldest."""
    listed = sorted(known, key=numbers)
    return next((v for v in reversed(listed) if numbers(v) <= numbers(version)), listed[0])


def pythons() -> tuple[str, ...]:
    """Ordinary Pythons ("3.12") for which any torch has a wheel anywhere, oldest first."""
    return tuple(sorted({p for platform in PLATFORMS for p in pythons_on(platform)}, key=numbers))

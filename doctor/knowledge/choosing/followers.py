"""Packages that are made for one release of torch, but have no index of their own for its builds (xformers): they
move along with torch where the package index has a wheel of them for the build that is chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.knowledge import lookup
from doctor.knowledge.choosing.lazy import Lazy
from doctor.knowledge.choosing.machines import FOLLOWERS, Machine, pins_of, specifier
from doctor.knowledge.choosing.ranking import Candidate, Choice
from doctor.model.facts import Facts


def followed(choice: Choice, machine: Machine, facts: Facts) -> tuple[Choice, tuple[str, ...]]:
    """The choice with each build's followers among its companions, and what is to be said of those that stay behind
    the first build. Only those that the build's release does not suit move."""
    left = tuple(_left_behind(choice.builds[0], machine, facts)) if choice.builds else ()
    builds = (replace(b, companions=(*b.companions, *_moving(b, machine, facts))) for b in choice.builds)
    return replace(choice, builds=Lazy(builds)), left


def _moving(build: Candidate, machine: Machine, facts: Facts) -> Iterator[tuple[str, str]]:
    for name, _ in _unsuited(build, facts):
        version = lookup.companion(build.release, name, machine.platform, machine.python)
        if version and build.index is None:
            yield name, version


def _left_behind(build: Candidate, machine: Machine, facts: Facts) -> Iterator[str]:
    moving = {name for name, _ in _moving(build, machine, facts)}
    for name, wish in _unsuited(build, facts):
        if name in moving:
            continue
        version = lookup.companion(build.release, name, machine.platform, machine.python)
        what = f"install {name} {version} after it" if version else f"no {name} for torch {build.release} is known"
        yield f"the installed {name} wants torch{wish}: {what}"


def _unsuited(build: Candidate, facts: Facts) -> Iterator[tuple[str, str]]:
    """(name, what it wants of torch) of the installed followers that do not work with that release."""
    for name in FOLLOWERS:
        wish, _ = pins_of(facts, only=(name,))
        parsed = specifier(wish)
        if build.release and parsed and not parsed.contains(build.release, prereleases=True):
            yield name, wish

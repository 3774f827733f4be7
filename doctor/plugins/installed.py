"""Which plugins lie beside the doctor: entry points of the group "torchdoctor.checks" in its own environment."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import metadata

from doctor.model.shapes import KEBAB

GROUP = "torchdoctor.checks"


@dataclass(frozen=True)
class Installed:
    """A plugin by its entry point. `problem`: why it cannot be used."""

    name: str
    value: str  # "acme_torchdoctor:plugin"
    distribution: str
    version: str
    problem: str = ""


def installed() -> tuple[Installed, ...]:
    """All plugins, by name. Nothing of them is imported. Of two of a name neither is used: it is not known whose
    findings would be whose."""
    found: list[Installed] = []
    for point in metadata.entry_points(group=GROUP):
        about = point.dist.metadata if point.dist else None
        name, version = (about["Name"] or "", about["Version"] or "") if about else ("", "")
        problem = "" if KEBAB.fullmatch(point.name) else "its name is not in kebab-case"
        found.append(Installed(point.name, point.value, name, version, problem))
    found = list(dict.fromkeys(found))
    counts = {one.name: sum(other.name == one.name for other in found) for one in found}
    return tuple(
        Installed(one.name, one.value, one.distribution, one.version, "another plugin has the same name")
        if counts[one.name] > 1
        else one
        for one in sorted(found, key=lambda one: (one.name, one.distribution))
    )

"""Which plugins lie beside the doctor: entry points of the group "torchdoctor.checks" in its own environment."""

from __future__ import annotations

import os
import sys
from functools import lru_cache

from doctor.model.shapes import KEBAB
from doctor.model.values import dataclass

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
    if not _declared_by_any(tuple(sys.path)):
        return ()
    from importlib import metadata  # takes longer than to read a short ticket

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


@lru_cache(maxsize=1)  # a folder of tickets is judged in one process
def _declared_by_any(folders: tuple[str, ...]) -> bool:
    """Whether a distribution on sys.path declares the group, by the files that importlib.metadata would read. What is
    no folder (a zip, an egg), or comes from a finder of its own, may hold one."""
    if sum(hasattr(finder, "find_distributions") for finder in sys.meta_path) > 1:  # PathFinder is one
        return True
    for path in dict.fromkeys(folders):
        try:
            with os.scandir(path or ".") as entries:
                names = [entry.name for entry in entries]
        except NotADirectoryError:
            return True
        except OSError:
            continue
        for name in names:
            if name.endswith(".egg") or name == "EGG-INFO":
                return True
            if name.endswith((".dist-info", ".egg-info")) and _declares(os.path.join(path, name, "entry_points.txt")):
                return True
    return False


def _declares(file: str) -> bool:
    try:
        with open(file, "rb") as opened:
            return GROUP.encode() in opened.read()
    except OSError:
        return False

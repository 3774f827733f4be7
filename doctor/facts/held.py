"""What an environment whose Python does not start was made of: pyvenv.cfg and the names of its *.dist-info folders tell
it, so that it can be made again as it was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.decode import fits
from doctor.facts.target import configuration, environment_of, site_packages
from doctor.knowledge.choose import COMPANIONS
from doctor.model.facts import Gap, Held

if TYPE_CHECKING:
    from doctor.facts.system import System

_VERSION = ("version", "version_info")  # in pyvenv.cfg: venv's word, and that of uv and virtualenv
_LEVEL = re.compile(r"\d+(?:\.\d+){1,2}")  # virtualenv says "3.11.9.final.0"
_METADATA = re.compile(r"([A-Za-z0-9_.]+)-([^-]+)\.dist-info")


def held(system: System, python: str) -> Held | None:
    """None where files tell nothing of it."""
    folder = environment_of(python)
    places = tuple(site_packages(system, folder))
    found = tuple(_distributions(system, places))
    torches = {version for name, version in found if name == "torch"}
    return Held(
        python=_python(system, folder, places),
        torch=torches.pop() if len(torches) == 1 else None,  # of two nobody knows which one it was
        companions=tuple(sorted({name for name, _ in found if name in COMPANIONS})),
    ) if places else None  # fmt: skip


def _python(system: System, folder: str, places: tuple[str, ...]) -> str | None:
    said = configuration(system, folder)
    level = next((match[0] for key in _VERSION if (match := _LEVEL.match(said.get(key, "")))), None)
    named = {match[1] for place in places if (match := re.search(r"[/\\]python(3\.\d+)t?[/\\]", place))}
    level = level or (named.pop() if len(named) == 1 else None)
    return level if fits("StartFailure", "version", level) else None


def _distributions(system: System, places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for place in places:
        names = system.listdir(place)
        for name in () if isinstance(names, Gap) else names:
            match = _METADATA.fullmatch(name)
            if match and fits("Package", "version", match[2]):
                yield match[1].lower().replace("_", "-"), match[2]

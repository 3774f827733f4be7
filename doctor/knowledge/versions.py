"""Version numbers as the tables need them: tuples of whole numbers. What needs PEP 440 itself uses `packaging`."""

from __future__ import annotations

import re
from functools import cache

from doctor.regex import Regex

_RELEASE = Regex(
    r"\s*v?(?P<number>\d+(?:\.\d+)*)"
    r"(?P<early>[-_.]?(?:alpha|beta|a|b|c|rc|pre|preview|dev)[-_.]?\d*(?:\.dev\d+)?)?"
    r"(?:[-_.]?post\d*)?"
    r"(?:\+(?P<local>[A-Za-z0-9._-]+))?\s*",
    re.IGNORECASE,
)


@cache
def numbers(version: str) -> tuple[int, ...]:
    """ "550.54.14" -> (550, 54, 14); what follows the numbers is left out. () where there are none."""
    match = re.match(r"\s*v?(\d+(?:\.\d+)*)", version)
    return tuple(map(int, match[1].split("."))) if match else ()


@cache
def compared(version: str) -> tuple[int, ...]:
    """numbers() without trailing zeros, so that "580" and "580.0" are the same."""
    parts = numbers(version)
    while parts and parts[-1] == 0:
        parts = parts[:-1]
    return parts


def at_least(version: str, minimum: str) -> bool:
    """Whether a version is not older than another."""
    return compared(version) >= compared(minimum)


@cache
def taken_apart(version: str) -> tuple[str, str, str] | None:
    """A torch version as (numbers, pre-release part, local part): "2.1.0a0+gitabc" -> ("2.1.0", "a0", "gitabc").

    Post-releases (conda-forge's "2.5.1.post302") are the release that they repackage."""
    match = _RELEASE.fullmatch(version)
    return (match["number"], match["early"] or "", (match["local"] or "").lower()) if match else None


def release_of(version: str) -> str:
    """The stable release whose rules hold for a version: "2.9.0.dev20250801+cu128" -> "2.9.0"; "2.6" -> "2.6.0"."""
    parts = taken_apart(version)
    number = parts[0] if parts else version
    return number + ".0" if number.count(".") == 1 else number


def minor_of(version: str) -> str:
    """ "2.6.0+cu124" -> "2.6"."""
    return ".".join(release_of(version).split(".")[:2])


def is_early(version: str) -> bool:
    """Whether it is a nightly, an alpha or a release candidate."""
    parts = taken_apart(version)
    return bool(parts and parts[1])


def python_of(version: str) -> str:
    """ "3.12.4" -> "3.12", "3.13t" -> "3.13t", "3.13.0t" -> "3.13t", "3.15.0rc1" -> "3.15"."""
    match = re.match(r"(\d+)\.(\d+)(?:\.\d+)?(?:(?:a|b|rc)\d+)?(t?)", version)
    return f"{match[1]}.{match[2]}{match[3]}" if match else version


def last_day(as_of: str) -> str:
    """The end of a period, for comparing ISO dates as text: "2022" -> "2022-12-31", "2022-05" -> "2022-05-31"."""
    return as_of + {4: "-12-31", 7: "-31"}.get(len(as_of), "")

"""/etc/os-release (os-release(5)). Pure."""

from __future__ import annotations

import re

from doctor.model.values import dataclass
from doctor.regex import Regex

# A line of it in a text. Other words of this form are variables of a shell.
LINE = Regex(r"^[ \t]*(PRETTY_NAME|ID|ID_LIKE|VERSION_ID)=[\"']?([^\"'\n]{1,100})[\"']?[ \t]{0,9}$", re.M)


@dataclass(frozen=True, kw_only=True)
class OsRelease:
    """PRETTY_NAME, ID, ID_LIKE and VERSION_ID; None where it isn't said."""

    name: str | None = None
    id: str | None = None
    like: tuple[str, ...] = ()
    version: str | None = None


def parse(text: str) -> OsRelease:
    """The fields; lines that are no assignment are ignored."""
    said = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith("#"):
            said[key] = value.strip().strip("\"'")
    return OsRelease(
        name=said.get("PRETTY_NAME") or said.get("NAME"), id=said.get("ID"),
        like=tuple(said.get("ID_LIKE", "").split()), version=said.get("VERSION_ID"),
    )

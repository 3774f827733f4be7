"""Edits of a project's file that no tool has a command for. Comments, order and layout of the rest stay as they are."""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

from doctor.apply import ApplyError
from doctor.fixes.tools import normalised

if TYPE_CHECKING:
    from doctor.model.fix import TomlEdit


def carry_out(edit: TomlEdit, file: str) -> None:
    """Write the edit into a file, which may be a copy of the one that the edit names. ApplyError where it cannot be
    edited: then it is as it was."""
    try:
        with open(file, encoding="utf-8", newline="") as read:
            text = read.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ApplyError(f"{edit.file} cannot be read: {error}") from error
    said = merged(text.replace("\r\n", "\n"), edit.toml)
    if said is None:
        raise ApplyError(f"{edit.file} cannot be edited. Write into it by hand, and run this again:\n{edit.toml}")
    # In place, as the tools do it: a link or a mode stays. The snapshot holds the content of before.
    with open(file, "w", encoding="utf-8", newline="") as write:
        write.write(said.replace("\n", "\r\n") if "\r\n" in text else said)


def merged(text: str, addition: str) -> str | None:
    """TOML with more TOML merged into it; None where either is none, or it did not come out as meant."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document, added = (tomlkit.parse(part.rstrip() + "\n\n") for part in (text, addition))  # a gap between tables
        wanted = copy.deepcopy(document.unwrap())
        _merge(wanted, added.unwrap())
        _merge(document, added)
        said = tomlkit.dumps(document).rstrip("\n") + "\n"
        return said if tomlkit.parse(said).unwrap() == wanted else None
    except (TOMLKitError, TypeError, ValueError):
        return None


def _merge(into: Any, added: Any) -> None:
    """Merge mappings: tomlkit's, or plain ones, which say what the result must be. TypeError where a table would take
    the place of a value."""
    from tomlkit.items import AoT, Table

    for key, value in added.items():
        here = into.get(key)
        if isinstance(value, list) and isinstance(here, list):
            _extend(here, value)
        elif isinstance(value, dict) and isinstance(here, dict):
            _merge(here, value)
        elif here is not None and isinstance(value, (AoT, Table)):
            raise TypeError(f"{key} is no table")
        else:
            into[key] = value


def _extend(here: list[Any], added: list[Any]) -> None:
    """Add what is not there yet; a table goes into the one of the same name, and a requirement with a version takes the
    place of the one for the same package."""
    for entry in added:
        name = entry.get("name") if isinstance(entry, dict) else None
        same = next((e for e in here if name and isinstance(e, dict) and e.get("name") == name), None)
        place = next((n for n, e in enumerate(here) if _package(entry) and _package(e) == _package(entry)), None)
        if same is not None:
            _merge(same, entry)
        elif place is not None:
            here[place] = entry
        elif entry not in here:
            here.append(entry)


def _package(entry: Any) -> str:
    """The package that a requirement with a version is for; "" where it is none."""
    text = entry if isinstance(entry, str) else ""
    match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*) *(?:\[[^\]]*\])? *[<>=!~]=", text)
    return normalised(match[1]) if match else ""

"""Which lines of the project's own files bring torch into the environment: those of the folder that we stand in, of
the folders above it up to the repository's root, and of the few folders below in which such files are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.fixes.tools import all_tools
from doctor.formats import manifests
from doctor.model.facts import Declaration

if TYPE_CHECKING:
    from doctor.facts.notes import Notes
    from doctor.facts.system import System
    from doctor.model.facts import Gap

FACT = "declared"
FILES_AT_MOST = 40
LINES_AT_MOST = 100
LEVELS_AT_MOST = 8  # above the folder that we stand in
_BELOW = ("", "requirements", "docker", ".devcontainer")
# The likeliest first: where several files name torch, a report points at the first.
_ORDER = tuple(dict.fromkeys(name.lower() for tool in all_tools() for name in tool.manifests))


def collect(system: System, notes: Notes) -> None:
    """Note all such lines, nearest file first. Where there are none, and a file could not be read, nobody knows."""
    unread: list[Gap] = []
    lines = tuple(_declared(system, unread))[:LINES_AT_MOST]
    notes.set(FACT, lines if lines or not unread else unread[0], source="the project's files")


def _declared(system: System, unread: list[Gap]) -> Iterator[Declaration]:
    folders, root = _folders(system)
    read = 0
    for folder in folders:
        for below in _BELOW:
            for name in _manifests(system, os.path.join(folder, below)):
                if read == FILES_AT_MOST:
                    return
                path = os.path.normpath(os.path.join(folder, below, name))
                text = system.read(path)
                if not isinstance(text, str):
                    unread.append(text)
                    continue
                read += 1
                shown = os.path.relpath(path, root).replace("\\", "/")
                yield from (Declaration(file=shown, line=one.number, what=one.what)
                            for one in manifests.parse(name, text))  # fmt: skip


def _folders(system: System) -> tuple[list[str], str]:
    """The folders to look in, the nearest first, and the one that the files' names are told from: the repository's
    root, or where there is none the folder that we stand in, alone."""
    folder, folders = system.cwd, [system.cwd]
    for _ in range(LEVELS_AT_MOST):
        if system.exists(os.path.join(folder, ".git")):
            return folders, folder
        if (parent := os.path.dirname(folder)) == folder:
            break
        folder = parent
        folders.append(folder)
    return folders[:1], system.cwd


def _manifests(system: System, folder: str) -> list[str]:
    names = system.listdir(folder)
    if not isinstance(names, tuple):
        return []
    known = [name for name in names if manifests.is_manifest(name)]
    return sorted(known, key=lambda n: (_ORDER.index(n.lower()) if n.lower() in _ORDER else len(_ORDER), n))

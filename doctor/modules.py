"""Modules that are found by being there: a check, or a tool, is one file in its folder."""

from __future__ import annotations

import os
from collections.abc import Iterable


def names_in(folders: Iterable[str]) -> list[str]:
    """The public modules in a package's folders, in order. pkgutil, which takes long to import, is only asked where
    these hold no source."""
    folders = list(folders)
    try:
        files = [os.path.splitext(file) for folder in folders for file in os.listdir(folder)]
    except OSError:
        files = []
    found = {name for name, end in files if end == ".py"}
    if not found:
        import pkgutil

        found = {module.name for module in pkgutil.iter_modules(folders)}
    return sorted(name for name in found if not name.startswith("_"))

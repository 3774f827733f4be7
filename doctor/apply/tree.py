"""Whole folders: walked and removed without recursion, for a package may nest them deeper than Python's calls go."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator


def walk(folder: str) -> Iterator[os.DirEntry[str]]:
    """Everything below a folder, a folder before what is in it. Links are not followed; what cannot be read is left
    out."""
    folders = [folder]
    while folders:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)


def erase(path: str) -> None:
    """Remove a folder with all that is in it, as far as that is allowed; a link is removed, and nothing behind it."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(path, ignore_errors=True)  # guards against a link that replaces the file meanwhile
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(OSError):
            os.unlink(path)
        return
    folders = [path]
    for entry in walk(path):
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.path)
        else:
            with contextlib.suppress(OSError):
                os.unlink(entry.path)
    for folder in sorted(folders, key=len, reverse=True):
        with contextlib.suppress(OSError):
            os.rmdir(folder)

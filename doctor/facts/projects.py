"""The project of an environment that lies elsewhere. poetry and PDM name an environment in their own folder after the
project's path, so the project that we stand in can be told to be its, or not; where it lies else, nothing says.

Sources: poetry's EnvManager.generate_env_name, pdm.cli.commands.venv.utils.get_venv_prefix.
"""

from __future__ import annotations

import base64
import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.facts.system import System

_FILE = "pyproject.toml"


def project_of(system: System, prefix: str, manager: str) -> str | None:
    """The project's file, in the working folder or above, of an environment that poetry or PDM made outside of it; None
    where that is another project's."""
    named = _of_poetry if manager == "poetry" else _of_pdm
    folder, name = system.cwd, os.path.basename(os.path.normpath(prefix))
    while True:
        path = os.path.join(folder, _FILE)
        if named(folder, name) and system.exists(path):
            return path
        if (parent := os.path.dirname(folder)) == folder:
            return None
        folder = parent


def _of_poetry(folder: str, name: str) -> bool:
    """demo-AbC_12-x-py3.12"""
    digest = hashlib.sha256(os.path.normcase(os.path.realpath(folder)).encode()).digest()
    return f"-{_short(digest)}-py" in name


def _of_pdm(folder: str, name: str) -> bool:
    """demo-AbC_12-x-3.12, or with a name that the user gave in place of the version"""
    slashed = folder.replace("\\", "/")
    digest = hashlib.md5(slashed.encode(), usedforsecurity=False).digest()
    return name.startswith(f"{os.path.basename(folder)}-{_short(digest)}-")


def _short(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).decode()[:8]

"""The project of an environment that lies elsewhere. Some tools name an environment in their own folder after the
project's path, so the project that we stand in can be told to be its, or not; where it lies else, nothing says.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.facts.system import System
    from doctor.fixes.tools import Tool


def project_of(system: System, prefix: str, tool: Tool) -> str | None:
    """The project's file, in the working folder or above, of an environment that a tool made outside of it; None where
    that is another project's."""
    folder, prefix = system.cwd, os.path.normpath(prefix)
    while True:
        if tool.names_environment(folder, os.path.realpath(folder), prefix):
            for file in tool.manifests:
                if system.exists(path := os.path.join(folder, file)):
                    return path
        if (parent := os.path.dirname(folder)) == folder:
            return None
        folder = parent

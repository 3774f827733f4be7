"""Compilers and build tools, as maintainers ask for them: the first line of `gcc --version` and the like."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts.notes import Notes
from doctor.facts.system import System

TOOLS = ("gcc", "clang", "cmake")
LIMIT_S = 5.0
# macOS has stand-ins for all of them that open a dialog where no developer tools are installed.
_MAC_TOOLS = ("/Library/Developer/CommandLineTools/usr/bin", "/Applications/Xcode.app/Contents/Developer/usr/bin")


def start(system: System, notes: Notes) -> Callable[[Notes], None]:
    """Start those that are on PATH; the returned function writes down what they answered."""
    if system.uname().system == "darwin" and not any(system.exists(folder) for folder in _MAC_TOOLS):
        return lambda notes: notes.set("host.tools", {}, "xcode-select")
    found = {name: path for name in TOOLS if (path := system.which(name))}
    children = {name: system.start([path, "--version"], limit_s=LIMIT_S) for name, path in found.items()}

    def finish(notes: Notes) -> None:
        results = {name: child.result() for name, child in children.items()}
        said = {name: result.stdout.strip().partition("\n")[0][:200] for name, result in results.items() if result.ok}
        for name, result in results.items():
            if not result.ok:
                notes.unanswered(f"host.tools.{name}", result, name)
        notes.set("host.tools", said, "--version")

    return finish

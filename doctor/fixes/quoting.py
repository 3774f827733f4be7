"""Commands as lines for the user's shell. What cannot be written safely is not written as a command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

_POWERSHELL_PLAIN = re.compile(r"[A-Za-z0-9_./:\\=-]+\Z")
_QUOTES = "'\u2018\u2019\u201a\u201b"  # PowerShell takes all of these for a single quote
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def posix(argv: Sequence[str]) -> str:
    """For sh, bash and zsh."""
    return shlex.join(argv)


def powershell(argv: Sequence[str]) -> str:
    """For PowerShell: the call operator is needed where the program itself is quoted."""
    words = [_powershell_word(w) for w in argv]
    return ("& " if words[0].startswith("'") else "") + " ".join(words)


def _powershell_word(word: str) -> str:
    # PowerShell splits a bare -f=1.2 or takes a leading @, and a comma makes a list: quote all but the plainest.
    if _POWERSHELL_PLAIN.match(word):
        return word
    return "'" + "".join(c * 2 if c in _QUOTES else c for c in word) + "'"


def line(argv: Sequence[str], *, windows: bool) -> str:
    """The command for the system's usual shell."""
    return powershell(argv) if windows else posix(argv)


def is_printable(text: str) -> bool:
    """No control characters, line separators or direction marks: nothing that would make a script do or show
    another thing."""
    return text.isprintable()


def set_variable(name: str, value: str, *, windows: bool) -> str | None:
    """A line that sets an environment variable; None where the name is none or the value cannot be written."""
    if not NAME.match(name) or not is_printable(value):
        return None
    return (
        f"$env:{name} = {powershell((value,)).removeprefix('& ')}" if windows else f"export {name}={shlex.quote(value)}"
    )


def unset_variable(name: str, *, windows: bool) -> str | None:
    """A line that removes an environment variable."""
    if not NAME.match(name):
        return None
    return f"Remove-Item Env:{name}" if windows else f"unset {name}"


def comment(text: str) -> list[str]:
    """The text as comment lines, whatever is in it."""
    lines = []
    for part in text.splitlines():
        clean = "".join(c if c.isprintable() else " " for c in part)
        lines.append(f"# {clean}".rstrip())
    return lines

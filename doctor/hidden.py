"""What a text can hold that its reader does not see: commands to a CI's runner, and characters that show nothing."""

from __future__ import annotations

import re

from doctor.regex import Regex

# What the runner of a CI takes from a program's output for a command to itself. Sources: GitHub's actions/runner
# (ActionCommand: «::» first in a line, in any letter case; «##[» anywhere), Azure's logging commands («##vso[»),
# TeamCity's service messages («##teamcity[»), GitLab's and Travis' marks of sections. A wrapped line can begin at any
# word.
_COMMAND = Regex(
    r"(?<!\S)(?P<colons>:{2,})|(?P<hashes>#{2,})"
    r"(?=[A-Za-z]{0,40}\[)|(?P<section>section_(?:start|end)|travis_(?:fold|time)):",
    re.IGNORECASE,
)
# Letters and marks that show nothing: Unicode's Default_Ignorable_Code_Point beyond Cf, and the blank of Braille.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2065\u2800\u3164\uffa0")


def shows_nothing(character: str) -> bool:
    """Whether it is such a letter or mark."""
    return character in _INVISIBLE or "\ufff0" <= character < "\ufff9" or "\U000e0000" <= character < "\U000e1000"


def is_visible(text: str) -> bool:
    """Whether every character of it shows."""
    return text.isascii() or not any(shows_nothing(c) or "\ufe00" <= c <= "\ufe0f" for c in text)


def has_command(text: str) -> bool:
    """Whether a CI's runner would find a command in it."""
    return _COMMAND.search(text) is not None


def without_commands(text: str) -> str:
    """The text with a space in everything that a CI's runner would take for a command.

    >>> without_commands("::Set-Output x, ##vso[task] and at::native")
    ': :Set-Output x, # #vso[task] and at::native'
    """
    return _COMMAND.sub(_broken, text)


def _broken(match: re.Match[str]) -> str:
    return f"{match['section']} :" if match["section"] else " ".join(match[0])

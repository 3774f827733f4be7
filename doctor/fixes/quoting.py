"""Commands as lines for the user's shell. What cannot be written safely is not written as a command.

`sh` stands for sh, bash, zsh, ksh and, but for variables, fish. A line for PowerShell is spelled so that cmd.exe reads
the same from it wherever one spelling can do both; where none can, `cmd` has its own. Sources: POSIX.1-2017 XCU 2.2;
the fish and zsh manuals on quoting; PowerShell's about_Quoting_Rules and about_Parsing; `cmd /?` and Microsoft's
«Parsing C command-line arguments».
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Literal

from doctor.fixes import tools
from doctor.hidden import has_command, is_visible, without_commands
from doctor.regex import Regex

Shell = Literal["sh", "fish", "powershell", "cmd"]
SHELLS: tuple[Shell, ...] = ("sh", "fish", "powershell", "cmd")

NAME = Regex(r"[A-Za-z_][A-Za-z0-9_]*\Z")
# Bare on Windows. PowerShell splits an option at a dot or colon, and takes @, commas and # for its own.
_WINDOWS_PLAIN = Regex(r"([A-Za-z0-9_.\\/][A-Za-z0-9_./:\\=+-]*|--?[A-Za-z0-9][A-Za-z0-9_-]*)\Z")
_WINDOWS_PROGRAM = Regex(r"[A-Za-z_.\\][A-Za-z0-9_.:\\-]*\Z")  # cmd would take a slash for an option's
_BATCH = Regex(r"\.(bat|cmd)\Z", re.IGNORECASE)
_IN_A_MARK = Regex(r"(?<=#)(?=#)|(?<=:)(?=:)|(?<=_)(?=(?i:start|end|fold|time))")  # of hidden.py
_QUOTES = "'\u2018\u2019\u201a\u201b"  # PowerShell takes all of these for a single quote,
_DOUBLE_QUOTES = '"\u201c\u201d\u201e'  # and these for a double one
_ACTIVE = frozenset("'\"`$\\;&|<>()!")


def shell_of(*, windows: bool) -> Shell:
    """The usual shell of a system."""
    return "powershell" if windows else "sh"


def command(argv: Sequence[str], shell: Shell) -> str | None:
    """The line that runs a command; None where the shell has no spelling of it that is right in all its versions."""
    if not argv[0] or not all(is_printable(word) for word in argv):
        return None
    if shell in ("sh", "fish"):
        first = _posix_word(argv[0], bare="=" not in argv[0])  # a=b would be an assignment
        return " ".join((first, *map(_posix_word, argv[1:])))
    if shell == "powershell":
        return _powershell(argv)
    words = [_cmd_word(word) for word in argv]
    if _WINDOWS_PROGRAM.match(argv[0]) is None and words[0] is not None and not words[0].startswith('"'):
        words[0] = f'"{argv[0]}"'
    return _called(words) if _is_batch(argv[0]) else _joined(words)


def _is_batch(program: str) -> bool:
    tool = tools.find(program.lower())
    return bool(_BATCH.search(program)) or (tool is not None and program.lower() in tool.batches)


def _called(words: Sequence[str | None]) -> str | None:
    """A batch file that is run by another, which would end there without «call». It doubles carets inside quotes."""
    line = _joined(words)
    return None if line is None or "^" in line else f"call {line}"


def line(argv: Sequence[str], *, windows: bool) -> str:
    """The command for the system's usual shell, to be shown: what cannot be written for it is shown as for sh."""
    return command(argv, shell_of(windows=windows)) or shlex.join(argv)


def _joined(words: Sequence[str | None]) -> str | None:
    """None, too, where a CI's runner would take the line for a command to itself: Windows has no spelling against
    it."""
    written = [word for word in words if word is not None]
    line = " ".join(written)
    return line if len(written) == len(words) and not has_command(line) else None


def _posix_word(word: str, *, bare: bool = True) -> str:
    """As shlex has it, but: fish takes a backslash inside single quotes for an escape at times; zsh and fish expand
    words that begin with = or %, which shlex leaves bare."""
    if has_command(word):  # two quoted pieces side by side are one word, in which no runner finds its mark
        return "".join(map(_posix_quoted, _IN_A_MARK.split(word)))
    if bare and "\\" not in word and word[:1] not in ("=", "%"):
        return shlex.quote(word)
    return _posix_quoted(word)


def _posix_quoted(word: str) -> str:
    quoted = ("'" + part.replace("'", "'\"'\"'") + "'" if part else "" for part in word.split("\\"))
    return '"\\\\"'.join(quoted)


def _powershell(argv: Sequence[str]) -> str | None:
    """PowerShell needs the call operator where the program itself is quoted."""
    if _WINDOWS_PROGRAM.match(argv[0]):
        return _joined([argv[0], *map(_powershell_word, argv[1:])])
    program = _powershell_quoted(argv[0])
    return _joined([f"& {program}", *map(_powershell_word, argv[1:])])


def _powershell_word(word: str) -> str | None:
    if _WINDOWS_PLAIN.match(word):
        return word
    # 5.1 drops an empty word, and hands on quotes, and a backslash before the quotes that it adds, as they are; 7.3
    # and newer escape them: no spelling is right in both.
    if not word or '"' in word or (word.endswith("\\") and any(c.isspace() for c in word)):
        return None
    return _powershell_quoted(word)


def _powershell_quoted(word: str) -> str:
    """Double quotes where cmd reads them the same way."""
    if not any(c in word for c in (*_DOUBLE_QUOTES, "$", "`", "%")) and not word.endswith("\\"):
        return f'"{word}"'
    return "'" + "".join(c * 2 if c in _QUOTES else c for c in word) + "'"


def _cmd_word(word: str) -> str | None:
    """Inside double quotes cmd only expands %NAME%, for which there is no escape that holds both typed and in a file;
    the C runtime wants backslashes before a quote doubled."""
    if _WINDOWS_PLAIN.match(word):
        return word
    if '"' in word or "%" in word:
        return None
    return f'"{word}{chr(92) * (len(word) - len(word.rstrip(chr(92))))}"'


def is_printable(text: str) -> bool:
    """No control characters, line separators, direction marks or blanks that are letters: nothing that would make a
    script do or show another thing."""
    return text.isprintable() and is_visible(text)


def set_variable(name: str, value: str, *, shell: Shell) -> str | None:
    """A line that sets an environment variable; None where the name is none or the value cannot be written."""
    if not NAME.match(name) or not is_printable(value):
        return None
    if shell == "sh":
        return f"export {name}={_posix_word(value)}"
    if shell == "fish":
        return f"set -gx {name} {_posix_word(value)}"
    if not value:  # Windows has no empty variables
        return None
    if shell == "powershell":
        return f"$env:{name} = '" + "".join(c * 2 if c in _QUOTES else c for c in value) + "'"
    return None if '"' in value or "%" in value else f'set "{name}={value}"'


def unset_variable(name: str, *, shell: Shell) -> str | None:
    """A line that removes an environment variable."""
    if not NAME.match(name):
        return None
    lines = {"sh": f"unset {name}", "fish": f"set -e {name}", "powershell": f"Remove-Item Env:{name}"}
    return lines.get(shell, f'set "{name}="')


def activation(folder: str, shell: Shell) -> str | None:
    """The line that activates a virtual environment. `folder` with the separators of its system."""
    if shell == "powershell":
        return command((f"{folder}\\Scripts\\Activate.ps1",), shell)
    if shell == "cmd":
        return command((f"{folder}\\Scripts\\activate.bat",), shell)
    return command((".", f"{folder}/bin/activate" + (".fish" if shell == "fish" else "")), shell)


def comment(text: str, shell: Shell = "sh") -> list[str]:
    """The text as comment lines, whatever is in it.

    A zsh that is typed into knows no comments (INTERACTIVE_COMMENTS is off): it would wait for the end of an
    apostrophe, or run what is behind a semicolon. There the whole comment is one quoted word.
    """
    lines = []
    for part in text.splitlines():
        clean = without_commands("".join(c if c.isprintable() else " " for c in part)).strip()
        if shell == "cmd":  # REM's first word is read, operators and all; what follows is left alone; %% is no variable
            lines.append(f"REM - {clean}".replace("%", "%%").rstrip())
        elif shell == "sh" and not _ACTIVE.isdisjoint(clean):
            lines.append("# '" + clean.replace("'", "\u2019") + "'")
        else:
            lines.append(f"# {clean}".rstrip())
    return lines
